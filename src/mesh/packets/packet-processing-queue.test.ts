import { beforeEach, describe, expect, it } from 'vitest'
import { PacketProcessingQueue } from './packet-processing-queue.ts'

let seen: string[]
let inTurn: PacketProcessingQueue<string>

beforeEach(() => {
  seen = []
  inTurn = new PacketProcessingQueue((name) => {
    seen.push(name)
    void promises(name)
  })
})

describe('packets that arrive in one read', () => {
  it('are processed in order, each after all promises of the one before have settled', async () => {
    for (const name of ['a', 'b', 'c']) inTurn.add(name)
    expect(seen).toEqual(['a'])
    await turn()
    expect(seen).toEqual(['a', 'a 1', 'a 2', 'a 3', 'b', 'b 1', 'b 2', 'b 3', 'c', 'c 1', 'c 2', 'c 3'])
  })

  it('are all processed before the next turn of the event loop', async () => {
    const turned = turn().then(() => seen.push('turn'))
    for (const name of ['a', 'b']) inTurn.add(name)
    await turned
    expect(seen.at(-1)).toBe('turn')
    expect(seen).toContain('b 3')
  })

  it('are processed at once when the queue is empty again', async () => {
    inTurn.add('a')
    inTurn.add('b')
    await turn()
    seen = []
    inTurn.add('c')
    expect(seen).toEqual(['c'])
  })

  it('wait for earlier ones, also when they are added while one is processed', async () => {
    const nested: PacketProcessingQueue<string> = new PacketProcessingQueue((name) => {
      seen.push(name)
      if (name === 'a') nested.add('c')
    })
    nested.add('a')
    nested.add('b')
    expect(seen).toEqual(['a'])
    await turn()
    expect(seen).toEqual(['a', 'c', 'b'])
  })
})

async function promises(name: string): Promise<void> {
  for (const step of [1, 2, 3]) {
    await Promise.resolve()
    seen.push(`${name} ${step}`)
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
