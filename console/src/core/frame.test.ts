import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { frameParser } from './frame.ts'
import type { EventFrame } from './frame.ts'

const TEXT =
  'id: r-1\nevent: calls\ndata: {"a":"x: y"}\n\n: still here\n\nid: r-2\nevent: ledger\ndata: {}\n\nid: r-3\n'

function parse(chunks: readonly string[]): readonly EventFrame[] {
  const frames: EventFrame[] = []
  const feed = frameParser((frame) => frames.push(frame))
  for (const chunk of chunks) feed(chunk)
  return frames
}

describe('event stream frames', () => {
  it('are parsed one by one, without comments and without an incomplete last frame', () => {
    expect(parse([TEXT])).toEqual([
      { id: 'r-1', event: 'calls', data: '{"a":"x: y"}' },
      { id: 'r-2', event: 'ledger', data: '{}' },
    ])
  })

  it('are the same however the network splits the stream', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(TEXT.length), { maxLength: 12 }), (cuts) => {
        const edges = [0, ...cuts.toSorted((left, right) => left - right), TEXT.length]
        const chunks = edges.slice(1).map((edge, index) => TEXT.slice(edges[index], edge))
        expect(parse(chunks)).toEqual(parse([TEXT]))
      }),
    )
  })
})
