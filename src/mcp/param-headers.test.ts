import { describe, expect, it } from 'vitest'
import { decodeHeaderValue, findParamHeaderMismatch, listParamMirrorHeaders } from './mcp-request.ts'

const schema = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    where: { type: 'object', properties: { zone: { type: 'integer', 'x-mcp-header': 'Zone' } } },
    list: { type: 'array', items: { type: 'string', 'x-mcp-header': 'Item' } },
    bad: { type: 'string', 'x-mcp-header': 'not a token' },
    object: { type: 'object', 'x-mcp-header': 'Object' },
  },
}

describe('parameter headers', () => {
  const declared = listParamMirrorHeaders(schema)

  it('are declared on primitive properties at any depth', () => {
    expect(declared).toEqual([
      { path: ['region'], name: 'Region', type: 'string' },
      { path: ['where', 'zone'], name: 'Zone', type: 'integer' },
    ])
    expect([listParamMirrorHeaders(undefined), listParamMirrorHeaders(true)]).toEqual([[], []])
  })

  it('match the arguments, or the mismatch is described', () => {
    const args = { region: 'eu', where: { zone: 2 } }
    expect(findParamHeaderMismatch(declared, args, { 'mcp-param-region': 'eu', 'mcp-param-zone': '2' })).toBeUndefined()
    expect(findParamHeaderMismatch(declared, args, { 'mcp-param-region': 'eu', 'mcp-param-zone': '3' })).toEqual({
      header: 'Mcp-Param-Zone',
      body: 'the Mcp-Param-Zone header decodes to "3" but the body carries where.zone=2',
    })
    expect(findParamHeaderMismatch(declared, { region: null }, {})).toBeUndefined()
    expect(findParamHeaderMismatch(declared, { region: ['eu'] }, {})).toBeUndefined()
  })

  it('decode Base64 values', () => {
    expect(decodeHeaderValue('=?base64?w6Q=?=')).toBe('ä')
    expect(decodeHeaderValue('=?base64?w6Q?=')).toBeUndefined()
    expect(decodeHeaderValue('=?base64?/w==?=')).toBeUndefined()
    expect(decodeHeaderValue('=?base64?w6Q=')).toBe('=?base64?w6Q=')
  })
})
