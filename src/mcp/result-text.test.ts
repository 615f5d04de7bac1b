import { describe, expect, it } from 'vitest'
import { resultText } from './result-text.ts'

describe('the text of a result', () => {
  it('is made once for a list, and all who ask for it are sent the same bytes', () => {
    let made = 0
    const text = resultText((_, result) => {
      made += 1
      return result
    })
    const list = { tools: [{ name: 'küche' }] }
    const [first, second] = [text({ id: 1, method: 'tools/list' }, list), text({ id: 'b', method: 'tools/list' }, list)]
    if (typeof first === 'string' || typeof second === 'string') throw new Error('a list is kept as bytes')
    expect(made).toBe(1)
    expect(second[1]).toBe(first[1])
    expect(Buffer.concat(first).toString()).toBe('{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"küche"}]}}')
    expect(Buffer.concat(second).toString()).toBe('{"jsonrpc":"2.0","id":"b","result":{"tools":[{"name":"küche"}]}}')
  })

  it('is one text for everything else', () => {
    const text = resultText((method, result) => ({ ...result, method }))
    expect(text({ id: 2, method: 'tools/call' }, { content: [] })).toBe(
      '{"jsonrpc":"2.0","id":2,"result":{"content":[],"method":"tools/call"}}',
    )
  })
})
