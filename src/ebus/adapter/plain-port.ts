/**
 * Plain port: bare symbols both ways, so that the host has to arbitrate by itself.
 *
 * The address has to start within 289 µs after the SYN. Over a network this succeeds only by chance, so a plain adapter
 * loses arbitrations that an enhanced one wins.
 *
 * Pure, but for the port it is given.
 */
import { SYN } from '../wire/symbol.ts'
import {
  abandonArbitrationContest,
  recordAddressSent,
  stepArbitrationContest,
  newArbitrationContest,
} from '../wire/arbitration-contest.ts'
import type { AdapterPortEvent, AdapterPortProtocol } from './adapter-port.ts'
import { EMPTY_BYTES } from './adapter-port.ts'

export function createPlainPortProtocol(): AdapterPortProtocol {
  const contest = newArbitrationContest()

  /** Only a SYN nothing has followed yet is worth answering: the last one of what has come. */
  function receiveSymbol(symbol: number, fresh: boolean, events: AdapterPortEvent[]): Uint8Array {
    const { wanted } = contest
    const { mayCompete, mustCompete, outcome, winner, hidden } = stepArbitrationContest(contest, symbol)
    if (outcome === 'lost') events.push({ kind: 'failed', winner })
    if (!hidden) events.push({ kind: 'symbol', symbol })
    if (outcome === 'won' && wanted !== undefined) events.push({ kind: 'started', address: wanted })
    if (wanted === undefined || !(mayCompete || mustCompete) || !fresh || symbol !== SYN) return EMPTY_BYTES
    recordAddressSent(contest)
    return Uint8Array.of(wanted)
  }

  return {
    opened: () => ({ events: [{ kind: 'ready', features: 0 }], bytes: EMPTY_BYTES }),
    read(bytes) {
      const events: AdapterPortEvent[] = []
      let written = EMPTY_BYTES
      for (const [index, symbol] of bytes.entries()) written = receiveSymbol(symbol, index === bytes.length - 1, events)
      return { events, bytes: written }
    },
    tick: () => ({ events: [], bytes: EMPTY_BYTES }),
    start(address) {
      contest.wanted = address
      return EMPTY_BYTES
    },
    cancelStart() {
      abandonArbitrationContest(contest)
      return EMPTY_BYTES
    },
    send: (symbol) => Uint8Array.of(symbol),
    requestInfo: () => undefined,
  }
}
