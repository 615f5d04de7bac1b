import { describe, expect, it } from 'vitest'
import { createResultSerializer } from './mcp-results.ts'

describe('result text', () => {
  it('is formatted once for a list, and every request gets the same bytes', () => {
    let made = 0
    const text = createResultSerializer((_, result) => {
      made += 1
      return result
    })
    const list = { tools: [{ name: 'küche' }] }
    const [first, second] = [text({ id: 1, method: 'tools/list' }, list), text({ id: 'b', method: 'tools/list' }, list)]
    if (typeof first === 'string' || typeof second === 'string') throw new Error('a list is kept as bytes')
    expect(made).toBe(1)
    expect(second.slice(1)).toEqual(first.slice(1))
    expect(second[3]).toBe(first[3])
    expect(Buffer.concat(first).toString()).toBe('{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"küche"}]}}')
    expect(Buffer.concat(second).toString()).toBe('{"jsonrpc":"2.0","id":"b","result":{"tools":[{"name":"küche"}]}}')
  })

  it('shares the bytes of list items between protocol revisions', () => {
    const [plain, marked] = [
      createResultSerializer((_, result) => result),
      createResultSerializer((_, result) => ({ ...result, ttlMs: 1 })),
    ]
    const list = { tools: [{ name: 'a' }, { name: 'b' }] }
    const [old, modern] = [plain({ id: 1, method: 'tools/list' }, list), marked({ id: 2, method: 'tools/list' }, list)]
    if (typeof old === 'string' || typeof modern === 'string') throw new Error('a list is kept as bytes')
    expect(old[3]).toBe(modern[3])
    expect(Buffer.concat(modern).toString()).toBe(
      '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a"},{"name":"b"}],"ttlMs":1}}',
    )
  })

  it('formats only the new item when one item of a list has changed', () => {
    const text = createResultSerializer((_, result) => result)
    let written = 0
    const item = (name: string): { readonly name: string } => ({
      get name() {
        written += 1
        return name
      },
    })
    const [hall, attic] = [item('hall'), item('attic')]
    text({ id: 1, method: 'tools/list' }, { tools: [hall, attic] })
    const after = text({ id: 2, method: 'tools/list' }, { tools: [hall, item('cellar'), attic] })
    expect(written).toBe(3)
    expect(Buffer.concat(after as Uint8Array[]).toString()).toBe(
      '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"hall"},{"name":"cellar"},{"name":"attic"}]}}',
    )
  })

  it('equals the output of JSON.stringify for any list', () => {
    const text = createResultSerializer((_, result) => result)
    for (const list of [{}, { tools: [] }, { a: 1, tools: [null, 'x', [1], {}], b: { c: 'ü' } }])
      expect(Buffer.concat(text({ id: 1, method: 'x/list' }, list) as Uint8Array[]).toString()).toBe(
        JSON.stringify({ jsonrpc: '2.0', id: 1, result: list }),
      )
  })

  it('is a single string for any other result', () => {
    const text = createResultSerializer((method, result) => ({ ...result, method }))
    expect(text({ id: 2, method: 'tools/call' }, { content: [] })).toBe(
      '{"jsonrpc":"2.0","id":2,"result":{"content":[],"method":"tools/call"}}',
    )
  })
})
