import { describe, expect, it } from 'vitest'

import { fromHex } from '../../core/bytes.ts'
import type { BusAccessState, BusAccessEffect } from './bus-access.ts'
import {
  cancelBusRequest,
  resetBusAccess,
  removeBusClient,
  newBusAccessState,
  handleArbitrationLost,
  handleArbitrationWon,
  handleReceivedSymbol,
  noteInitiator,
  handleClientSymbol,
  addBusClient,
  requestBus,
} from './bus-access.ts'

function withClients(...clients: number[]): BusAccessState {
  const access = newBusAccessState()
  for (const client of clients) addBusClient(access, client)
  return access
}

/** What goes to the adapter. */
const upwards = (effects: readonly BusAccessEffect[]): string[] =>
  effects.flatMap((effect) => {
    if (effect.kind === 'start') return [`start ${effect.address.toString(16)}`]
    if (effect.kind === 'send') return [`send ${effect.symbol.toString(16)}`]
    return effect.kind === 'cancel-start' ? ['cancel'] : []
  })

/** What one client hears. */
const toClient = (client: number, effects: readonly BusAccessEffect[]): string[] =>
  effects.flatMap((effect) => {
    if (effect.kind !== 'tell' || effect.client !== client) return []
    const { event } = effect
    if (event.kind === 'symbol') return [event.symbol.toString(16)]
    return [event.kind === 'started' ? `started ${event.address.toString(16)}` : `failed ${event.winner.toString(16)}`]
  })

const receive = (access: BusAccessState, symbols: string): BusAccessEffect[] =>
  [...fromHex(symbols)].flatMap((symbol) => handleReceivedSymbol(access, symbol))

describe('bus access', () => {
  it('sends one START at a time to the adapter', () => {
    const access = withClients(0, 1)
    expect(upwards(requestBus(access, 0, 0x31))).toEqual(['start 31'])
    expect(upwards(requestBus(access, 1, 0x37))).toEqual([])
  })

  it('reports a won arbitration to the winner, and a plain symbol to the other clients', () => {
    const access = withClients(0, 1)
    requestBus(access, 0, 0x31)
    const effects = handleArbitrationWon(access, 0x31)
    expect(toClient(0, effects)).toEqual(['started 31'])
    expect(toClient(1, effects)).toEqual(['31'])
  })

  it('reports a lost arbitration to the client that asked, and a plain symbol to the others', () => {
    const access = withClients(0, 1)
    requestBus(access, 0, 0x31)
    const effects = handleArbitrationLost(access, 0x10)
    expect(toClient(0, effects)).toEqual(['failed 10'])
    expect(toClient(1, effects)).toEqual(['10'])
  })

  it('forwards symbols of the bus owner only, and echoes them to every client', () => {
    const access = withClients(0, 1)
    requestBus(access, 0, 0x31)
    handleArbitrationWon(access, 0x31)
    expect(upwards(handleClientSymbol(access, 0, { symbol: 0x15, expected: undefined }))).toEqual(['send 15'])
    expect(upwards(handleClientSymbol(access, 1, { symbol: 0x55, expected: undefined }))).toEqual([])
    const echo = receive(access, '15')
    expect([toClient(0, echo), toClient(1, echo)]).toEqual([['15'], ['15']])
  })

  it('forwards the answer of a client that is the target of a foreign telegram, but no symbol on an idle bus', () => {
    const access = withClients(0, 1)
    receive(access, 'aa')
    expect(upwards(handleClientSymbol(access, 1, { symbol: 0x00, expected: undefined }))).toEqual([])
    receive(access, '10 36 07 04 00 40')
    expect(upwards(handleClientSymbol(access, 1, { symbol: 0x00, expected: 'acknowledge' }))).toEqual(['send 0'])
    expect(upwards(handleClientSymbol(access, 1, { symbol: 0x0a, expected: 'answer' }))).toEqual(['send a'])
    // Nobody else answers in its place.
    expect(upwards(handleClientSymbol(access, 0, { symbol: 0x0a, expected: 'answer' }))).toEqual([])
  })

  it('drops the rest of a client’s telegram after a SYN cut it off, also during a foreign telegram', () => {
    // As a loaded machine does it: the client is late, the SYN generator cuts it off, a regulator speaks.
    const access = withClients(0, 1)
    requestBus(access, 1, 0x31)
    handleArbitrationWon(access, 0x31)
    expect(upwards(handleClientSymbol(access, 1, { symbol: 0x08, expected: undefined }))).toEqual(['send 8'])
    receive(access, '08 aa 10 fe b5')
    expect(upwards(handleClientSymbol(access, 1, { symbol: 0xb5, expected: undefined }))).toEqual([])
    receive(access, 'aa 10 36 07 04 00 40')
    expect(upwards(handleClientSymbol(access, 1, { symbol: 0xb5, expected: 'acknowledge' }))).toEqual([])
  })

  it('grants the bus to the next client after the SYN', () => {
    const access = withClients(0, 1)
    requestBus(access, 0, 0x31)
    requestBus(access, 1, 0x37)
    handleArbitrationWon(access, 0x31)
    expect(upwards(receive(access, '15 07'))).toEqual([])
    requestBus(access, 0, 0x31)
    expect(upwards(receive(access, 'aa'))).toEqual([])
    expect(access.pendingStart?.client).toBe(1)
  })

  it('sends the START of the next client while the first one still sends', () => {
    const access = withClients(0, 1)
    requestBus(access, 0, 0x31)
    handleArbitrationWon(access, 0x31)
    expect(upwards(requestBus(access, 1, 0x37))).toEqual(['start 37'])
  })

  it('waits one SYN after a client’s own telegram, and more after it lost arbitration', () => {
    const access = withClients(0)
    requestBus(access, 0, 0x31)
    handleArbitrationWon(access, 0x31)
    requestBus(access, 0, 0x31)
    // Out at the closing SYN, so that it acts on the one after.
    expect(upwards(receive(access, '15 07 aa'))).toEqual(['start 31'])
    handleArbitrationLost(access, 0x10)
    requestBus(access, 0, 0x31)
    expect(upwards(receive(access, '08 b5 aa'))).toEqual([])
    expect(upwards(receive(access, 'aa'))).toEqual(['start 31'])
  })

  it('waits three SYN after a lost arbitration, and more if more initiators were seen', () => {
    // ebusd: after losing to another class, as many SYN as initiators were seen, three at least; one for noise.
    const lockAfter = (access: BusAccessState, winner: number): number | undefined => {
      // Whatever it had to wait for is over.
      receive(access, 'aaaaaaaaaaaa')
      requestBus(access, 0, 0x31)
      handleArbitrationLost(access, winner)
      return access.clients.get(0)?.lock
    }
    const access = withClients(0)
    for (let noise = 0; noise < 256; noise++) if (noise !== 0xaa) lockAfter(access, noise)
    expect(lockAfter(access, 0x10)).toBe(3)
    expect(lockAfter(access, 0xb5)).toBe(1)
    for (const source of [0x10, 0x03, 0xf1, 0x70, 0xb5, 0x26]) noteInitiator(access, source)
    expect(lockAfter(access, 0x10)).toBe(4)
    for (let syn = 0; syn < 30_001; syn++) handleReceivedSymbol(access, 0xaa)
    expect(lockAfter(access, 0x10)).toBe(3)
    for (const source of [0x10, 0x03, 0xf1, 0x70]) noteInitiator(access, source)
    resetBusAccess(access)
    expect(lockAfter(access, 0x10)).toBe(3)
  })

  it('does not count a SYN that follows a single address symbol', () => {
    const access = withClients(0)
    requestBus(access, 0, 0x31)
    handleArbitrationLost(access, 0x10)
    requestBus(access, 0, 0x31)
    expect(upwards(receive(access, 'aa'))).toEqual([])
    expect(access.clients.get(0)?.lock).toBe(3)
  })

  it('sends START again when the adapter let three SYN pass without using it', () => {
    const access = withClients(0)
    requestBus(access, 0, 0x31)
    expect(upwards(receive(access, 'aa aa aa'))).toEqual([])
    expect(upwards(receive(access, 'aa'))).toEqual(['start 31'])
  })

  it('cancels a START, and releases the bus if it was won nevertheless', () => {
    const access = withClients(0, 1)
    requestBus(access, 0, 0x31)
    expect(upwards(cancelBusRequest(access, 0))).toEqual(['cancel'])
    const effects = handleArbitrationWon(access, 0x31)
    expect(upwards(effects)).toEqual(['send aa'])
    expect(toClient(0, effects)).toEqual(['31'])
    expect(upwards(handleClientSymbol(access, 1, { symbol: 0x55, expected: undefined }))).toEqual([])
  })

  it('frees the bus at the next SYN when its owner disconnects in the middle of a telegram', () => {
    const access = withClients(0, 1)
    requestBus(access, 1, 0x37)
    handleArbitrationWon(access, 0x37)
    requestBus(access, 0, 0x31)
    expect(upwards(removeBusClient(access, 1))).toEqual([])
    expect(access.owner).toBe('nobody')
    receive(access, 'aa')
    expect(access.owner).toBeUndefined()
    expect(toClient(0, handleArbitrationWon(access, 0x31))).toEqual(['started 31'])
  })

  it('alternates between a client that always requests the bus and another one', () => {
    const access = withClients(0, 1)
    const turns: number[] = []
    requestBus(access, 0, 0x31)
    for (let round = 0; round < 20; round++) {
      const { pendingStart } = access
      if (pendingStart !== undefined) {
        turns.push(pendingStart.client)
        handleArbitrationWon(access, pendingStart.address)
      }
      requestBus(access, 0, 0x31)
      requestBus(access, 1, 0x37)
      receive(access, '15 aa')
    }
    expect(turns.filter((client) => client === 1).length).toBeGreaterThanOrEqual(9)
  })
})
