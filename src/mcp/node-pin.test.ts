import { describe, expect, it } from 'vitest'
import { readPinnedNode, extractNodePinArgument, addNodePinToSchema } from './mcp-request.ts'

const open = { type: 'object', properties: { x: {} } } as const
const own = { type: 'object', properties: { _node: { type: 'integer' } } } as const

describe('node pin', () => {
  it('is removed from the arguments and takes precedence over the node of the connection', () => {
    expect(extractNodePinArgument({ x: 1, _node: 'attic' }, open, 'shed')).toEqual({ node: 'attic', body: { x: 1 } })
    expect(extractNodePinArgument({ x: 1 }, open, 'shed')).toEqual({ node: 'shed', body: { x: 1 } })
    expect(readPinnedNode({ 'io.hearthbus/node': 'attic' }, 'shed')).toBe('attic')
    expect(readPinnedNode({}, 'shed')).toBe('shed')
  })

  it("leaves a tool's own argument of that name alone", () => {
    expect(extractNodePinArgument({ _node: 7 }, own, 'shed')).toEqual({ node: 'shed', body: { _node: 7 } })
    expect(addNodePinToSchema(own, ['here', 'attic'])).toBe(own)
  })

  it('is converted to text rather than dropped when it is not a valid name', () => {
    expect(extractNodePinArgument({ _node: null }, open, undefined)).toEqual({ node: 'null', body: {} })
    expect(extractNodePinArgument({ _node: { a: 1 } }, open, 'shed').node).toBe('{"a":1}')
    expect(readPinnedNode({ 'io.hearthbus/node': 7 }, 'shed')).toBe('7')
    expect(readPinnedNode({ 'io.hearthbus/node': 'x'.repeat(1_000) }, undefined)).toHaveLength(128)
  })

  it('is added to the schema only if several nodes offer the tool', () => {
    expect(addNodePinToSchema(open, ['here'])).toBe(open)
    expect(addNodePinToSchema(open, ['here', 'attic'])).toEqual({
      type: 'object',
      properties: {
        x: {},
        _node: {
          type: 'string',
          description: 'Which node this is for: here, attic. Without it the usual one is chosen.',
        },
      },
    })
    expect(addNodePinToSchema({ type: 'object' }, ['here', 'attic'])).toHaveProperty('properties._node.type', 'string')
  })
})
