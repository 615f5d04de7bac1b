import { describe, expect, it } from 'vitest'

import { fromHex } from '../../core/bytes.ts'
import type { Telegram } from '../wire/telegram.ts'
import type { InitiatorTransaction, BusInitiatorState, InitiatorEffect } from './bus-initiator.ts'
import {
  cancelTransaction,
  beginTransaction,
  createLateTransactionFault,
  newBusInitiator,
  handleBusAccessEvent,
  readTransactionPhase,
} from './bus-initiator.ts'

const telegram: Telegram = { source: 0x31, target: 0x08, primary: 7, secondary: 4, data: new Uint8Array() }

function begun(options: Partial<InitiatorTransaction> = {}): BusInitiatorState {
  const initiator = newBusInitiator()
  beginTransaction(initiator, { telegram, repeatable: false, ...options })
  return initiator
}

const started = (initiator: BusInitiatorState): InitiatorEffect[] =>
  handleBusAccessEvent(initiator, { kind: 'started', address: 0x31 })
const failed = (initiator: BusInitiatorState): InitiatorEffect[] =>
  handleBusAccessEvent(initiator, { kind: 'failed', winner: 0x10 })

/** Wins the bus and hears these symbols, our own echoes among them. The effects of the last one. */
function talk(initiator: BusInitiatorState, symbols: string): InitiatorEffect[] {
  let effects = started(initiator)
  for (const symbol of fromHex(symbols)) effects = handleBusAccessEvent(initiator, { kind: 'symbol', symbol })
  return effects
}

const EXCHANGE = '08 07 04 00 d1'
const WANT = { kind: 'want', address: 0x31 }

describe('bus initiator', () => {
  it('requests the bus, sends its telegram and returns the answer', () => {
    const initiator = newBusInitiator()
    expect(beginTransaction(initiator, { telegram, repeatable: false })).toEqual([WANT])
    expect(readTransactionPhase(initiator)).toBe('arbitrating')
    expect(started(initiator)).toEqual([{ kind: 'say', symbol: 0x08 }])
    expect(readTransactionPhase(initiator)).toBe('talking')
    const effects = talk(begun(), `${EXCHANGE} 00 01 55 ce 00 aa`)
    expect(effects).toEqual([{ kind: 'reply', reply: { telegram, response: fromHex('55') } }])
  })

  it('tries again after every lost arbitration, and reports attempts and the last winner', () => {
    const initiator = begun()
    for (let round = 0; round < 30; round++) expect(failed(initiator)).toEqual([WANT])
    expect(createLateTransactionFault(initiator, 500)).toEqual({ kind: 'arbitration-lost', winner: 0x10, attempts: 30 })
  })

  it('repeats a command after a collision, with at most three attempts', () => {
    const initiator = begun()
    expect(talk(initiator, '08 05')).toEqual([WANT])
    expect(talk(initiator, '08 05')).toEqual([WANT])
    expect(talk(initiator, '08 05')).toEqual([{ kind: 'fault', fault: { kind: 'collision', attempts: 3 } }])
    expect(readTransactionPhase(initiator)).toBe('queued')
  })

  it.each([
    ['an absent target', `${EXCHANGE} aa`, 'no-answer'],
    ['a lost answer', `${EXCHANGE} 00 02 aa`, 'answer-lost'],
    ['an answer garbled twice', `${EXCHANGE} 00 01 55 00 ff 01 55 00 ff aa`, 'answer-garbled'],
  ])('repeats a telegram after %s only if it is repeatable', (_, symbols, kind) => {
    expect(talk(begun(), symbols)).toEqual([{ kind: 'fault', fault: { kind } }])
    const repeatable = begun({ repeatable: true })
    expect(talk(repeatable, symbols)).toEqual([WANT])
    expect(talk(repeatable, symbols)).toEqual([WANT])
    expect(talk(repeatable, symbols)).toEqual([{ kind: 'fault', fault: { kind } }])
  })

  it('ends with the fault refused after two NAKs, even if it is repeatable', () => {
    const twice = `${EXCHANGE} ff 31 ${EXCHANGE} ff aa`
    expect(talk(begun({ repeatable: true }), twice)).toEqual([{ kind: 'fault', fault: { kind: 'refused' } }])
  })

  it('reports its phase when the deadline passes', () => {
    expect(createLateTransactionFault(begun(), 500)).toEqual({ kind: 'timed-out', afterMs: 500, phase: 'arbitrating' })
    const talking = begun()
    started(talking)
    expect(createLateTransactionFault(talking, 500)).toEqual({ kind: 'timed-out', afterMs: 500, phase: 'talking' })
  })

  it('abandons its telegram when the caller cancels', () => {
    const initiator = begun()
    started(initiator)
    expect(cancelTransaction(initiator)).toEqual([{ kind: 'cancel' }])
    expect(cancelTransaction(initiator)).toEqual([])
    expect(handleBusAccessEvent(initiator, { kind: 'symbol', symbol: 0x08 })).toEqual([])
    expect(beginTransaction(initiator, { telegram, repeatable: false })).toEqual([WANT])
  })

  it('carries one telegram at a time', () => {
    expect(() => beginTransaction(begun(), { telegram, repeatable: false })).toThrow('busy')
  })
})
