import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeDeviceFrame } from './device-frame.ts'
import { recoverUnescapedRpc } from './unescaped-rpc.ts'

const error = (id: number, body: string) =>
  `{"session_id":"S1","type":"mcp","payload":{"jsonrpc":"2.0","id":${id},"error":{${body}}}}`

describe('unescaped RPC', () => {
  it('recovers id and message of an error with a quote in its message', () => {
    expect(decodeDeviceFrame(error(7, '"message":"Unknown tool: a"b"'))).toEqual({
      ok: true,
      value: {
        kind: 'mcp',
        salvaged: true,
        message: { kind: 'error', id: 7, error: { code: undefined, message: 'Unknown tool: a"b' } },
      },
    })
  })

  it('recovers the code that newer firmware adds to an error', () => {
    expect(recoverUnescapedRpc(error(8, '"code":-32603,"message":"bad \\x "y""'))).toEqual({
      kind: 'error',
      id: 8,
      error: { code: -32_603, message: 'bad \\x "y"' },
    })
  })

  it('recovers a message with line breaks', () => {
    expect(recoverUnescapedRpc(error(9, '"message":"line\none"'))).toMatchObject({ error: { message: 'line\none' } })
  })

  it('recovers a page whose cursor contains a quote', () => {
    const page = '{"tools":[{"name":"x","description":"has \\"nextCursor\\"","inputSchema":{}}],"nextCursor":"say"hi"'
    expect(
      recoverUnescapedRpc(`{"session_id":"S1","type":"mcp","payload":{"jsonrpc":"2.0","id":4,"result":${page}}}}`),
    ).toEqual({
      kind: 'result',
      id: 4,
      result: {
        tools: [{ name: 'x', description: 'has "nextCursor"', inputSchema: {} }],
        nextCursor: 'say"hi',
      },
    })
  })

  it('recovers nothing from other broken text', () => {
    expect(recoverUnescapedRpc('{"type":"mcp","payload":{"jsonrpc":"2.0","id":7,"result":{"content":[')).toBeUndefined()
    expect(recoverUnescapedRpc('{"type":"listen","id":7,"error":{"message":"a"b"}}')).toBeUndefined()
    expect(recoverUnescapedRpc(error(9_999_999_999, '"message":"a"b"'))).toBeUndefined()
  })

  it('recovers any message that a device inserted without escaping', () => {
    // Text that itself ends like a frame is cut there; the id, which frees the caller, is right in any case.
    const texts = fc.string({ maxLength: 200 }).filter((text) => !/"\s*\}*\s*$/.test(text))
    fc.assert(
      fc.property(texts, (text) => {
        expect(recoverUnescapedRpc(error(5, `"message":"${text}"`))).toMatchObject({
          kind: 'error',
          id: 5,
          error: { message: text },
        })
      }),
    )
    expect(recoverUnescapedRpc(error(5, '"message":"it said "no"}"'))).toMatchObject({ kind: 'error', id: 5 })
  })
})
