import { describe, expect, it } from 'vitest'

import { fromHex, toHex } from '../../core/bytes.ts'
import type { ConversationOutcome } from '../../ebus/wire/telegram-conversation.ts'
import type { BusLineEvent } from '../../ebus/wire/bus-line-decoder.ts'
import { newBusLineDecoder, stepBusLineDecoder } from '../../ebus/wire/bus-line-decoder.ts'
import { createSeededRandomSource } from './seeded-random.ts'
import { BusStation } from './bus-station.ts'
import { VirtualBus } from './virtual-bus.ts'

const nobody = () => undefined

/** Everything on the wire, as hex. */
function recorder(bus: VirtualBus): { readonly symbols: number[]; readonly heard: BusLineEvent[] } {
  const symbols: number[] = []
  const heard: BusLineEvent[] = []
  const line = newBusLineDecoder()
  bus.join({
    heard(symbol) {
      symbols.push(symbol)
      const event = stepBusLineDecoder(line, symbol)
      if (event !== undefined) heard.push(event)
      return undefined
    },
  })
  return { symbols, heard }
}

describe('virtual bus', () => {
  it('carries a SYN every 44 ms while idle: 40 ms of silence and its own length', () => {
    const bus = new VirtualBus()
    const { symbols } = recorder(bus)
    bus.advance(1_000)
    expect(symbols).toEqual(Array.from({ length: 22 }, () => 0xaa))
  })

  it('carries a whole request and answer between two stations', () => {
    const bus = new VirtualBus()
    const { symbols } = recorder(bus)
    const asker = new BusStation({ initiator: 0x31, targets: [], answer: nobody })
    bus.join(asker)
    bus.join(new BusStation({ targets: [0x08], answer: () => fromHex('01') }))
    let outcome: ConversationOutcome | undefined
    asker.say({ target: 0x08, primary: 7, secondary: 4, data: new Uint8Array() }, (result) => (outcome = result))
    bus.advance(300)
    expect(toHex(Uint8Array.from(symbols))).toContain('aa3108070400d10001019a00aa')
    expect(outcome).toMatchObject({ kind: 'exchange', exchange: { response: Uint8Array.of(1) } })
  })

  it('lets the initiator of higher priority send first, and the other one after it', () => {
    const bus = new VirtualBus()
    const { heard } = recorder(bus)
    for (const initiator of [0x31, 0x10]) {
      const station = new BusStation({ initiator, targets: [], answer: nobody })
      bus.join(station)
      station.say({ target: 0xfe, primary: 7, secondary: 0xfe, data: new Uint8Array() })
    }
    bus.advance(1_000)
    const sources = heard.map((event) => (event.kind === 'exchange' ? event.exchange.telegram.source : -1))
    expect(sources).toEqual([0x10, 0x31])
  })

  it('holds a second arbitration round when 03 and 10 together read as 00', () => {
    const bus = new VirtualBus()
    const { symbols } = recorder(bus)
    for (const initiator of [0x03, 0x10]) {
      const station = new BusStation({ initiator, targets: [], answer: nobody })
      bus.join(station)
      station.say({ target: 0xfe, primary: 7, secondary: 0xfe, data: new Uint8Array() })
    }
    bus.advance(1_000)
    const wire = toHex(Uint8Array.from(symbols))
    expect(wire).toContain('aa00aa10fe07fe00')
    expect(wire.indexOf('aa03fe07fe00')).toBeGreaterThan(wire.indexOf('aa10fe07fe00'))
  })

  it('repeats an answer that was garbled in transit', () => {
    let flips = 1
    const bus = new VirtualBus({
      disturbance: {
        distort: (symbol) => (symbol === 0x9a && flips-- > 0 ? 0x9b : symbol),
        isStuck: () => false,
      },
    })
    const asker = new BusStation({ initiator: 0x31, targets: [], answer: nobody })
    bus.join(asker)
    bus.join(new BusStation({ targets: [0x08], answer: () => fromHex('01') }))
    let outcome: ConversationOutcome | undefined
    asker.say({ target: 0x08, primary: 7, secondary: 4, data: new Uint8Array() }, (result) => (outcome = result))
    bus.advance(500)
    expect(outcome).toMatchObject({ kind: 'exchange' })
  })
})

describe('two initiators that send continuously for a million symbols', () => {
  it('both have every telegram answered unaltered, and get a fair share of the bus', () => {
    const bus = new VirtualBus()
    const { heard } = recorder(bus)
    const chance = createSeededRandomSource(7)
    /** Answers with what it was asked, so that a mixed-up telegram cannot go unnoticed. */
    bus.join(new BusStation({ targets: [0x15], answer: ({ data }) => Uint8Array.from(data, (byte) => byte ^ 0xff) }))
    const tally = [0x31, 0x37].map((initiator) => {
      const station = new BusStation({ initiator, targets: [], answer: nobody })
      bus.join(station)
      return { station, asked: 0, right: 0, faults: [] as string[] }
    })
    const ask = (entry: (typeof tally)[number]): void => {
      const data = Uint8Array.from({ length: Math.floor(chance() * 12) }, () => Math.floor(chance() * 256))
      entry.asked++
      entry.station.say({ target: 0x15, primary: 0xb5, secondary: 0x24, data }, (outcome) => {
        if (outcome.kind === 'fault') entry.faults.push(outcome.fault)
        else if (toHex(outcome.exchange.response ?? data) === toHex(Uint8Array.from(data, (byte) => byte ^ 0xff)))
          entry.right++
        if (bus.symbols < 1_000_000) ask(entry)
      })
    }
    for (const entry of tally) ask(entry)
    for (let nowMs = 0; bus.symbols < 1_000_000 || tally.some(({ station }) => station.waiting > 0); nowMs += 60_000)
      bus.advance(nowMs)
    for (const { asked, right, faults } of tally) {
      expect(faults).toEqual([])
      expect(right).toBe(asked)
      expect(asked).toBeGreaterThan(5_000)
    }
    const broken = heard.filter((event) => event.kind === 'broken' && event.reason !== 'arbitration')
    expect(broken).toEqual([])
  })
})
