import { describe, expect, it } from 'vitest'
import { readPinnedNode, takeNodePin, describeNodePin } from './request.ts'

const open = { type: 'object', properties: { x: {} } } as const
const own = { type: 'object', properties: { _node: { type: 'integer' } } } as const

describe('node pin', () => {
  it('is taken out of the arguments, and goes before what the connection says', () => {
    expect(takeNodePin({ x: 1, _node: 'attic' }, open, 'shed')).toEqual({ node: 'attic', body: { x: 1 } })
    expect(takeNodePin({ x: 1 }, open, 'shed')).toEqual({ node: 'shed', body: { x: 1 } })
    expect(readPinnedNode({ 'io.hearthbus/node': 'attic' }, 'shed')).toBe('attic')
    expect(readPinnedNode({}, 'shed')).toBe('shed')
  })

  it('leaves a tool’s own argument of that name alone', () => {
    expect(takeNodePin({ _node: 7 }, own, 'shed')).toEqual({ node: 'shed', body: { _node: 7 } })
    expect(describeNodePin(own, ['here', 'attic'])).toBe(own)
  })

  it('is never dropped because it makes no sense', () => {
    expect(takeNodePin({ _node: null }, open, undefined)).toEqual({ node: 'null', body: {} })
    expect(takeNodePin({ _node: { a: 1 } }, open, 'shed').node).toBe('{"a":1}')
    expect(readPinnedNode({ 'io.hearthbus/node': 7 }, 'shed')).toBe('7')
    expect(readPinnedNode({ 'io.hearthbus/node': 'x'.repeat(1_000) }, undefined)).toHaveLength(128)
  })

  it('is listed where there is something to choose', () => {
    expect(describeNodePin(open, ['here'])).toBe(open)
    expect(describeNodePin(open, ['here', 'attic'])).toEqual({
      type: 'object',
      properties: {
        x: {},
        _node: {
          type: 'string',
          description: 'Which node this is for: here, attic. Without it the usual one is chosen.',
        },
      },
    })
    expect(describeNodePin({ type: 'object' }, ['here', 'attic'])).toHaveProperty('properties._node.type', 'string')
  })
})
