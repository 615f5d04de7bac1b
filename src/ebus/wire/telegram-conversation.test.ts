import { describe, expect, it } from 'vitest'

import { fromHex, toHex } from '../../core/bytes.ts'
import type { ConversationEffect } from './telegram-conversation.ts'
import { beginTelegramConversation, continueTelegramConversation } from './telegram-conversation.ts'
import type { Telegram } from './telegram.ts'

const identify: Telegram = { source: 0x31, target: 0x08, primary: 7, secondary: 4, data: new Uint8Array() }

/** Echoes what is said; `others` is what the bus carries whenever we only listen. Returns everything on the bus. */
function talk(
  telegram: Telegram,
  others: string,
  distort: (symbol: number, at: number) => number = (symbol) => symbol,
) {
  const wire: number[] = []
  const rest = [...fromHex(others)]
  const begun = beginTelegramConversation(telegram)
  let turn: ConversationEffect = begun.turn
  while (turn.kind !== 'over') {
    const symbol = turn.kind === 'say' ? distort(turn.symbol, wire.length) : rest.shift()
    if (symbol === undefined) throw new Error('waits for ever')
    wire.push(symbol)
    turn = continueTelegramConversation(begun.conversation, symbol)
  }
  return { wire: toHex(Uint8Array.from(wire)), outcome: turn.outcome }
}

const flat = (spaced: string): string => toHex(fromHex(spaced))

describe('telegram conversation', () => {
  it('sends the command after its address, acknowledges the answer and ends with SYN', () => {
    const { wire, outcome } = talk(identify, '00 01 01 9a')
    expect(wire).toBe(flat('08070400d1 00 01019a 00 aa'))
    expect(outcome).toMatchObject({ kind: 'exchange', exchange: { response: Uint8Array.of(1) } })
  })

  it('ends a broadcast at its CRC, and a telegram to another initiator at the ACK', () => {
    expect(talk({ ...identify, target: 0xfe, secondary: 0xfe }, '').wire).toBe('fe07fe0035aa')
    expect(talk({ ...identify, target: 0x10 }, '00').outcome).toMatchObject({
      kind: 'exchange',
      exchange: { response: undefined },
    })
  })

  it('repeats a refused command including its source address', () => {
    const { wire, outcome } = talk(identify, 'ff 00 00 00')
    expect(wire).toBe(flat('08070400d1 ff 3108070400d1 00 0000 00 aa'))
    expect(outcome.kind).toBe('exchange')
  })

  it('fails as refused after the second NAK, and ends with SYN', () => {
    const { wire, outcome } = talk(identify, 'ff ff')
    expect(outcome).toEqual({ kind: 'fault', fault: 'refused' })
    expect(wire.endsWith('ffaa')).toBe(true)
  })

  it('refuses a garbled answer once, and accepts the repeat', () => {
    const { wire, outcome } = talk(identify, '00 01 01 9b 01 01 9a')
    expect(wire).toBe(flat('08070400d1 00 01019b ff 01019a 00 aa'))
    expect(outcome).toMatchObject({ kind: 'exchange', exchange: { responseRepeats: 1 } })
  })

  it('fails as answer-garbled when the answer is garbled twice', () => {
    expect(talk(identify, '00 01 01 9b 01 01 9b').outcome).toEqual({ kind: 'fault', fault: 'answer-garbled' })
  })

  it.each([
    ['nobody is there', 'aa', 'no-answer'],
    ['the acknowledge is neither', '55', 'answer-lost'],
    ['no answer follows', '00 aa', 'answer-lost'],
    ['the answer is cut', '00 02 01 aa', 'answer-lost'],
  ])('reports as a fault: %s', (_, others, fault) => {
    expect(talk(identify, others).outcome).toEqual({ kind: 'fault', fault })
  })

  it('stops with collision at the first symbol that is echoed changed', () => {
    const { wire, outcome } = talk(identify, '', (symbol, at) => (at === 2 ? symbol & 0x03 : symbol))
    expect(outcome).toEqual({ kind: 'fault', fault: 'collision' })
    expect(wire).toBe('080700')
  })

  it.each([
    ['the checksum', 4],
    ['the acknowledge of the answer', 9],
  ])('fails as answer-lost, not as collision, when %s is echoed changed', (_, changed) => {
    const { outcome } = talk(identify, '00 01 01 9a', (symbol, at) => (at === changed ? symbol ^ 0x10 : symbol))
    expect(outcome).toEqual({ kind: 'fault', fault: 'answer-lost' })
  })

  it('escapes the symbols it sends, and unescapes the answer', () => {
    const { wire, outcome } = talk({ ...identify, data: fromHex('aa a9') }, '00 01 a9 01 fa')
    expect(wire).toContain('02a901a900')
    expect(outcome).toMatchObject({ kind: 'exchange', exchange: { response: Uint8Array.of(0xaa) } })
  })
})
