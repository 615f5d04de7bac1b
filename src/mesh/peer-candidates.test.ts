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

describe('peer candidates', () => {
  it('replace an address that failed nine probes by a new one when the table is full', () => {
    const candidates = full(9, 'mdns')
    expect(candidates.add(somebody)).toMatchObject(somebody)
    expect(candidates.due(Number.POSITIVE_INFINITY)).toHaveLength(ROOM)
    expect(candidates.add({ host: '192.0.2.1', port: 1, source: 'mdns' })).toBeDefined()
  })

  it('keep an address with fewer than nine failed probes when the table is full', () => {
    expect(full(8, 'mdns').add(somebody)).toBeUndefined()
  })

  it('keep an address from the configuration, however often its probes failed', () => {
    expect(full(50, 'static').add(somebody)).toBeUndefined()
  })
})
