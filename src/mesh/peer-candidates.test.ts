import { describe, expect, it } from 'vitest'
import { PeerCandidates } from './peer-candidates.ts'

const ROOM = 1_024

/** As many as there is room for, each of them asked so many times in vain. */
function full(knocks: number, source: string): PeerCandidates {
  const candidates = new PeerCandidates()
  for (let port = 1; port <= ROOM; port++) {
    const candidate = candidates.add({ host: '192.0.2.1', port, source })
    if (candidate === undefined) throw new Error('there was room for this one')
    for (let knock = 0; knock < knocks; knock++) candidates.probeLater(candidate, 0)
  }
  return candidates
}

const somebody = { host: '192.0.2.2', port: 1, source: 'mdns' }

describe('candidates', () => {
  it('give up an address where nobody answered for minutes before they miss a new one', () => {
    const candidates = full(9, 'mdns')
    expect(candidates.add(somebody)).toMatchObject(somebody)
    expect(candidates.due(Number.POSITIVE_INFINITY)).toHaveLength(ROOM)
    expect(candidates.add({ host: '192.0.2.1', port: 1, source: 'mdns' })).toBeDefined()
  })

  it('give up none that was only just heard of', () => {
    expect(full(8, 'mdns').add(somebody)).toBeUndefined()
  })

  it('give up none that the owner named', () => {
    expect(full(50, 'static').add(somebody)).toBeUndefined()
  })
})
