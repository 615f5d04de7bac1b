import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { seeded } from '../../../test/seeded-random.ts'
import { vectorRows } from '../../../test/shared-data.ts'
import type { RecordedTelegram } from '../../../test/shared-data.ts'
import { fromHex, toHex } from '../../core/bytes.ts'
import { INITIATOR_ADDRESSES, classifyAddress } from './address.ts'
import { computeCrc } from './crc.ts'
import { decodeExchange, encodeExchange } from '../../../test/telegram-exchange.ts'
import { newBusLineDecoder, stepBusLineDecoder } from './bus-line-decoder.ts'
import { SYN } from './symbol.ts'
import type { Telegram } from './telegram.ts'
import { encodeCommandWithoutCrc, encodeTelegramCommand, classifyTelegramForm } from './telegram.ts'

/** Half of all bytes are the two that need escaping. */
const awkwardByte = fc.oneof(fc.constantFrom(0xa9, 0xaa), fc.integer({ min: 0, max: 255 }))
const awkwardData = fc.array(awkwardByte, { maxLength: 24 }).map((bytes) => Uint8Array.from(bytes))
const telegram: fc.Arbitrary<Telegram> = fc.record({
  source: fc.constantFrom(...INITIATOR_ADDRESSES),
  target: fc.integer({ min: 0, max: 255 }).filter((address) => classifyAddress(address) !== 'reserved'),
  primary: awkwardByte,
  secondary: awkwardByte,
  data: awkwardData,
})

describe('telegram', () => {
  it('is decoded as it was encoded, without SYN inside, whatever its bytes', () => {
    fc.assert(
      fc.property(telegram, awkwardData, (sent, answer) => {
        const response = classifyTelegramForm(sent.target) === 'initiator-target' ? answer : undefined
        const wire = encodeExchange(sent, response)
        expect(wire.includes(SYN)).toBe(false)
        const decoded = decodeExchange(wire)
        expect(decoded).toEqual({
          ok: true,
          value: { telegram: sent, response, commandRepeats: 0, responseRepeats: 0 },
        })
      }),
      { numRuns: 2_000 },
    )
  })

  it.each([0xa9, 0xaa])('is decoded with an escaped CRC of %i', (wanted) => {
    // One free byte reaches every CRC value there is.
    const found = Array.from({ length: 256 }, (_, byte) => byte)
      .map((byte): Telegram => ({
        source: 0x31,
        target: 0xfe,
        primary: 0xb5,
        secondary: 0x16,
        data: Uint8Array.of(byte),
      }))
      .filter((candidate) => computeCrc(encodeCommandWithoutCrc(candidate)) === wanted)
    expect(found.length).toBeGreaterThan(0)
    for (const sent of found) {
      expect(toHex(encodeTelegramCommand(sent)).endsWith(wanted === 0xa9 ? 'a900' : 'a901')).toBe(true)
      expect(decodeExchange(encodeExchange(sent, undefined))).toMatchObject({ ok: true, value: { telegram: sent } })
    }
  })

  it('is rejected when any one symbol of it was changed', () => {
    const sent: Telegram = { source: 0x10, target: 0x08, primary: 0xb5, secondary: 0x09, data: fromHex('0d aa 00') }
    const wire = encodeExchange(sent, fromHex('a9 01'))
    for (const at of wire.keys()) {
      for (let flip = 1; flip < 256; flip++) {
        const garbled = wire.with(at, (wire[at] ?? 0) ^ flip)
        expect({ wire: toHex(garbled), believed: decodeExchange(garbled).ok }).toEqual({
          wire: toHex(garbled),
          believed: false,
        })
      }
    }
  })

  it('is refused with a RangeError for invalid addresses, services and lengths', () => {
    const good: Telegram = { source: 0x31, target: 0x08, primary: 7, secondary: 4, data: new Uint8Array() }
    for (const wrong of [{ source: 0x15 }, { target: 0xaa }, { target: 300 }, { primary: -1 }, { secondary: 1.5 }])
      expect(() => encodeTelegramCommand({ ...good, ...wrong })).toThrow(RangeError)
    expect(() => encodeTelegramCommand({ ...good, data: new Uint8Array(256) })).toThrow(RangeError)
  })
})

describe('bus line decoder under noise', () => {
  it('never throws, stays bounded, and decodes the next telegram after a million random symbols', () => {
    const line = newBusLineDecoder()
    const good = encodeExchange(
      { source: 0x31, target: 0x15, primary: 0xb5, secondary: 0x24, data: fromHex('02 00 00 00 aa 00') },
      fromHex('01 a9 73 00 00 00 ac 41'),
    )
    const size = (): number => line.command.length + line.response.length
    const before = size()
    const chance = seeded(20_260_101)
    for (let fed = 0; fed < 1_000_000;) {
      const mutate = chance() < 0.5
      const burst = mutate ? good : Uint8Array.from({ length: 40 }, () => Math.floor(chance() * 256))
      for (const symbol of burst) {
        stepBusLineDecoder(line, mutate && chance() < 0.1 ? Math.floor(chance() * 256) : symbol)
        fed++
      }
      if (chance() < 0.3) stepBusLineDecoder(line, SYN)
    }
    expect(size()).toBe(before)
    stepBusLineDecoder(line, SYN)
    const found = [...good].map((symbol) => stepBusLineDecoder(line, symbol)).find((event) => event !== undefined)
    expect(found).toMatchObject({ kind: 'exchange', exchange: { telegram: { source: 0x31, target: 0x15 } } })
  })
})

describe('captured telegrams', () => {
  const rows = vectorRows('ebus-telegrams') as readonly RecordedTelegram[]

  /** What the recorder missed, or what never came: the capture stops early, and ebusd refuses it too. */
  const incomplete = new Map([
    ['0306b5090228023e', 'no-ack'],
    ['1006b5090228029c', 'no-ack'],
    ['ff08b509030d2f001d', 'no-ack'],
    ['3076502305d4660000000c000000', 'no-final-ack'],
  ])
  const forms = new Map([
    ['BC', 'broadcast'],
    ['MM', 'initiator-initiator'],
    ['MS', 'initiator-target'],
  ])

  it('decode as in ebusd, and encode to the same bytes', () => {
    const complete = rows.filter(([wire]) => !incomplete.has(wire))
    expect(complete).toHaveLength(157)
    for (const [wire, , form, logical] of complete) {
      const decoded = decodeExchange(fromHex(wire))
      if (!decoded.ok) throw new Error(`${wire}: ${JSON.stringify(decoded.fault)}`)
      const { telegram, response } = decoded.value
      const answer = response === undefined ? '' : `/${toHex(Uint8Array.of(response.length, ...response))}`
      expect(`${toHex(encodeCommandWithoutCrc(telegram))}${answer}`).toBe(logical)
      expect(classifyTelegramForm(telegram.target)).toBe(forms.get(form))
      expect(toHex(encodeExchange(telegram, response))).toBe(wire)
    }
  })

  it('that are incomplete are refused with the reason', () => {
    expect(rows.filter(([wire]) => incomplete.has(wire ?? ''))).toHaveLength(4)
    for (const [wire, reason] of incomplete)
      expect(decodeExchange(fromHex(wire))).toEqual({ ok: false, fault: { kind: 'broken', reason } })
  })
})
