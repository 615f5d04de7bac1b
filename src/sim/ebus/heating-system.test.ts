import { describe, expect, it } from 'vitest'

import { fromHex, toHex } from '../../core/bytes.ts'
import { ebusVectors as vectors } from '../../../test/ebus-vectors.ts'
import type { DatatypeValue } from '../../ebus/wire/datatype.ts'
import { parseDatatype } from '../../ebus/wire/datatype-parser.ts'
import type { BusLineEvent } from '../../ebus/wire/bus-line-decoder.ts'
import { newBusLineDecoder, stepBusLineDecoder } from '../../ebus/wire/bus-line-decoder.ts'
import type { Telegram } from '../../ebus/wire/telegram.ts'
import { createInitialHouseState } from '../initial-house-state.ts'
import { advanceSimulatedHouse } from '../house-physics.ts'
import { answerBoiler } from './boiler.ts'
import { createSeededRandomSource } from './seeded-random.ts'
import { answerInternetGateway } from './internet-gateway.ts'
import { answerMixer } from './mixer.ts'
import { answerRegulator } from './regulator.ts'
import type { HeatingSystemOptions } from './heating-system.ts'
import { HeatingSystem } from './heating-system.ts'
import { BusStation } from './bus-station.ts'

const OPTIONS: HeatingSystemOptions = {
  seed: 11,
  startMs: Date.UTC(2026, 0, 14, 7, 30),
  regulator: '720',
  houseSpeed: 1,
  chatter: false,
  outsidePatienceMs: 0,
}

class Visitor {
  readonly system: HeatingSystem
  readonly heard: BusLineEvent[] = []
  readonly #station = new BusStation({ initiator: 0x31, targets: [], answer: () => undefined })
  #nowMs = 0

  constructor(options: Partial<HeatingSystemOptions> = {}) {
    this.system = new HeatingSystem({ ...OPTIONS, ...options })
    this.system.bus.join(this.#station)
    const line = newBusLineDecoder()
    this.system.bus.join({
      heard: (symbol) => {
        const event = stepBusLineDecoder(line, symbol)
        if (event !== undefined) this.heard.push(event)
        return undefined
      },
    })
  }

  wait(ms: number): void {
    this.#nowMs += ms
    this.system.advance(this.#nowMs)
  }

  /** Target, service and data as hex; the answer as hex, or why there was none. */
  ask(text: string): string {
    const [target = 0, primary = 0, secondary = 0, ...data] = fromHex(text)
    const answers: string[] = []
    this.#station.say({ target, primary, secondary, data: Uint8Array.from(data) }, (outcome) => {
      answers.push(outcome.kind === 'fault' ? outcome.fault : toHex(outcome.exchange.response ?? new Uint8Array()))
    })
    while (answers.length === 0) this.wait(50)
    return answers.join()
  }

  /** A B524 register's value behind its four header bytes. */
  register(request: string, spec: string): DatatypeValue | undefined {
    const decoded = parseDatatype(spec)?.decode(fromHex(this.ask(`15 b524 ${request}`)).subarray(4))
    if (decoded?.ok !== true) throw new Error(request)
    return decoded.value
  }
}

const ascii = (text: string): string => Buffer.from(text, 'hex').toString('latin1')

describe('simulated heating system', () => {
  it('answers identification and serial numbers as a scan expects', () => {
    const visitor = new Visitor()
    const ids = ['15', '08', '26', 'f6'].map((address) => ascii(visitor.ask(`${address} 0704`).slice(2, 12)))
    expect(ids).toEqual(['BASV2', 'BAI00', 'VR_71', 'NETX3'])
    const pieces = ['24', '25', '26', '27'].map((chunk) => visitor.ask(`08 b509 ${chunk}`))
    // As long as those of a real device, and a status only in front of the first.
    const [real] = vectors.serial_numbers
    expect(pieces.map(({ length }) => length)).toEqual(real?.pieces.map(({ length }) => length))
    expect(ascii(pieces.join('').slice(2))).toBe('21160900100219610001005167N4')
    expect(visitor.ask('76 0704')).toBe('no-answer')
  })

  it('shows the state of the house in the regulator’s registers', () => {
    const visitor = new Visitor()
    const outside = visitor.register('02 00 00 00 73 00', 'EXP')
    const room = visitor.register('02 00 03 00 0f 00', 'EXP')
    const { weather, zones } = visitor.system.house
    expect(outside).toBeCloseTo(weather.outsideCelsius, 1)
    expect(room).toBeCloseTo(zones[0]?.roomCelsius ?? 0, 1)
    expect(visitor.register('02 00 03 00 16 00', 'NTS:6')).toBe('Living')
    expect(visitor.register('02 00 03 00 1c 00', 'U1L')).toBe(0)
    expect(visitor.register('02 00 03 05 1c 00', 'U1L')).toBe(0xff)
    expect(visitor.register('06 00 0a 00 02 00', 'U1L')).toBe(0x35)
  })

  it('answers unknown registers without data, and refuses unsupported writes', () => {
    const visitor = new Visitor()
    expect(visitor.ask('15 b524 02 00 07 00 01 00')).toBe('')
    expect(visitor.ask('15 b524 02 01 03 00 0f 00 0000a041')).toBe('refused')
    expect(visitor.ask('08 b509 0d ff ff')).toBe('00')
  })

  it('encodes the boiler’s flow temperature with a sensor byte, and its pressure in thousandths', () => {
    const visitor = new Visitor()
    const flow = parseDatatype('D2C')?.decode(fromHex(visitor.ask('08 b509 0d 18 00')))
    expect(flow?.ok === true ? flow.value : undefined).toBeCloseTo(visitor.system.house.boiler.flowCelsius, 0)
    expect(visitor.ask('08 b509 0d 02 00')).toMatch(/^....00$/)
  })

  it('stores the day setpoint under both of its register numbers', () => {
    // ebusd's vaillant/15.basv.csv: w Z1DayTemp b524 020103000700 EXP; 21.5 in binary32, least significant byte first.
    const visitor = new Visitor()
    expect(visitor.ask('15 b524 02 01 03 00 07 00 0000ac41')).toBe('')
    expect(visitor.ask('15 b524 02 00 03 00 07 00')).toBe('030307000000ac41')
    expect(visitor.ask('15 b524 02 00 03 00 22 00')).toBe('030322000000ac41')
  })

  it('keeps a written setpoint, and refuses one out of range', () => {
    const visitor = new Visitor()
    expect(visitor.ask('15 b524 02 01 01 00 04 00 00005c42')).toBe('')
    expect(visitor.register('02 00 01 00 04 00', 'EXP')).toBe(55)
    expect(visitor.system.house.dhw.targetCelsius).toBe(55)
    expect(visitor.ask('15 b524 02 01 01 00 04 00 0000c842')).toBe('refused')
  })

  it('starts a quick veto when its duration is written', () => {
    const visitor = new Visitor()
    visitor.ask('15 b524 02 01 03 00 08 00 0000b841')
    visitor.ask('15 b524 02 01 03 00 26 00 00004040')
    visitor.wait(2_000)
    expect(visitor.system.house.zones[0]?.targetCelsius).toBe(23)
    // Z1SFMode of ebusd's definitions: 3 is veto.
    expect(visitor.register('02 00 03 00 0e 00', 'U1L')).toBe(3)
  })

  it('answers B555 limits, counts and slots as captured from a real regulator', () => {
    const visitor = new Visitor()
    expect(visitor.ask('15 b555 a3 00 00')).toBe('000c0a05010c051e00')
    expect(visitor.ask('15 b555 a4 00 00')).toBe('000202020202010100')
    expect(visitor.ask('15 b555 a5 00 00 00 01')).toBe('0010001600d700')
    expect(visitor.ask('15 b555 a5 00 01 00 00')).toMatch(/^03/)
    expect(visitor.ask('15 b555 a3 ff 02')).toBe('00030a050101234100')
  })

  it('heats according to a day that was written over B555', () => {
    const visitor = new Visitor()
    expect(visitor.ask('15 b555 a6 00 00 02 00 02 06 00 0c 00 e600')).toBe('00')
    expect(visitor.ask('15 b555 a6 00 00 02 01 02 0d 00 18 00 d200')).toBe('00')
    expect(visitor.ask('15 b555 a4 00 00')).toBe('000202020202010100')
    expect(visitor.ask('15 b555 a5 00 00 02 00')).toBe('0006000c00e600')
    visitor.wait(2_000)
    expect(visitor.system.house.zones[0]?.targetCelsius).toBe(23)
    expect(advanceSimulatedHouse(visitor.system.house, 4 * 3_600).zones[0]?.roomCelsius).toBeGreaterThan(22)
  })

  it.each([
    ['a minute that is none', 'a6 00 00 02 00 01 06 3c 0c 00 e600', '01'],
    ['an hour that is none', 'a6 00 00 02 00 01 06 00 19 00 e600', '01'],
    ['a zone that is none', 'a6 02 00 02 00 01 06 00 0c 00 e600', '03'],
    ['more slots than there are', 'a6 00 00 02 00 0d 06 00 0c 00 e600', '06'],
    ['heating without a temperature', 'a6 00 00 02 00 01 06 00 0c 00 ffff', '01'],
    ['heating to 40 degrees', 'a6 00 00 02 00 01 06 00 0c 00 9001', '01'],
    ['all day hot water at zone FF with a temperature', 'a6 ff 02 02 00 01 00 00 18 00 f401', '06'],
  ])('refuses to program %s', (_, request, code) => {
    expect(new Visitor().ask(`15 b555 ${request}`)).toBe(code)
  })

  it('as a 700 controller keeps the week in B524 03 and 04', () => {
    const visitor = new Visitor({ regulator: '700' })
    expect(visitor.ask('15 b555 a3 00 00')).toBe('refused')
    expect(visitor.ask('15 b524 03 03 00 02 02')).toBe('01243360849090')
    expect(visitor.ask('15 b524 04 03 00 02 02 2a 90 90 90 90 90')).toBe('')
    expect(visitor.ask('15 b524 03 03 00 02 02')).toBe('012a9090909090')
    visitor.wait(2_000)
    expect(visitor.system.house.zones[0]?.targetCelsius).toBe(21)
  })

  it('answers with the lengths of a real boiler and a real module', () => {
    const visitor = new Visitor()
    // Value, its complement and the sensor's state: 5 bytes in the official definitions of 18 of 20 boiler types.
    const back = fromHex(visitor.ask('08 b509 0d 98 00'))
    expect(back).toHaveLength(5)
    expect([back[2], back[3], back[4]]).toEqual([~(back[0] ?? 0) & 0xff, ~(back[1] ?? 0) & 0xff, 0])
    // 1026b5230106/107901ac01b2010080008000800080403d and 1026b5230107/0f00800080008000800000800080 5705 were recorded.
    expect(visitor.ask('26 b523 06')).toMatch(/^.{16}(0080){3}403d$/)
    expect(visitor.ask('26 b523 07')).toMatch(/^.{4}(0080){3}00008000805705$/)
  })

  it('counts energy in B516 for today, this year and in total', () => {
    const visitor = new Visitor()
    const wattHours = (selector: string): number | undefined => {
      const answer = fromHex(visitor.ask(`15 b516 ${selector}`))
      const wh = answer.length === 11 ? parseDatatype('EXP')?.decode(answer.subarray(7)) : undefined
      return wh?.ok === true && typeof wh.value === 'number' ? wh.value : undefined
    }
    const { gasHeating } = visitor.system.house.energy
    // The house starts in January 2026; dates are yyyyyyy mmmm ddddd, as test/vectors/ebus.json has them from real buses.
    expect(wattHours('10 03 ff ff 04 03 00 34')).toBeCloseTo(gasHeating.yearWh, -3)
    expect(wattHours('10 03 ff ff 04 03 00 32')).toBeCloseTo(gasHeating.lastYearWh, -3)
    expect(wattHours('10 03 ff ff 04 03 00 2e')).toBeUndefined()
    expect(toHex(fromHex(visitor.ask('15 b516 10 03 ff ff 04 03 00 34')).subarray(0, 7))).toBe('03000304030034')
  })

  it('exchanges telegrams between its devices as a real one does, without an error', () => {
    const visitor = new Visitor({ chatter: true })
    visitor.wait(180_000)
    const services = new Set<string>()
    const broken = visitor.heard.filter((event) => event.kind === 'broken' && event.reason !== 'arbitration')
    for (const event of visitor.heard) {
      if (event.kind !== 'exchange') continue
      const { source, target, primary, secondary } = event.exchange.telegram
      services.add(toHex(Uint8Array.of(source, target, primary, secondary)))
    }
    expect(broken).toEqual([])
    expect([...services].toSorted()).toEqual(
      ['1008b504', '1008b510', '1008b511', '1026b523', '10fe0700', '10feb516', 'f108b503', 'f115b524'].toSorted(),
    )
  })

  it('never throws on any request', () => {
    const plant = { house: createInitialHouseState(1, OPTIONS.startMs) }
    const chance = createSeededRandomSource(5)
    const anything = (): number => Math.floor(chance() * 256)
    const ask = (secondary: number, data: Uint8Array): void => {
      for (const target of [0x15, 0x08, 0x26, 0xf6]) {
        const telegram: Telegram = { source: 0x31, target, primary: 0xb5, secondary, data }
        answerRegulator(plant, '720', telegram)
        answerRegulator(plant, '700', telegram)
        answerBoiler(plant, telegram)
        answerMixer(plant, telegram)
        answerInternetGateway(telegram)
      }
    }
    for (const opcode of [0x02, 0x06])
      for (let group = 0; group <= 0x0c; group++)
        for (let instance = 0; instance <= 0x0b; instance++)
          for (let register = 0; register <= 0xa0; register++)
            ask(0x24, Uint8Array.of(opcode, 0x00, group, instance, register, 0x00))
    for (let index = 0; index < 20_000; index++)
      ask(
        [0x03, 0x04, 0x09, 0x11, 0x16, 0x23, 0x24, 0x55][index % 8] ?? 0,
        Uint8Array.from({ length: index % 14 }, anything),
      )
    expect(advanceSimulatedHouse(plant.house, 60).timeMs).toBe(OPTIONS.startMs + 60_000)
  })

  it('produces the same symbols in every run', () => {
    const record = (): string => {
      const visitor = new Visitor({ chatter: true })
      visitor.wait(60_000)
      return JSON.stringify(visitor.heard)
    }
    expect(record()).toBe(record())
  })
})

describe('simulated bus fault', () => {
  it('corrupt-crc: the answer is refused, repeated and accepted', () => {
    const visitor = new Visitor()
    visitor.system.faults.corruptCrc()
    expect(ascii(visitor.ask('15 0704').slice(2, 12))).toBe('BASV2')
    expect(visitor.heard.at(-1)).toMatchObject({ kind: 'exchange', exchange: { responseRepeats: 1 } })
  })

  it('drop-byte: the telegram fails and the next attempt succeeds', () => {
    const visitor = new Visitor()
    visitor.system.faults.dropByte()
    expect(ascii(visitor.ask('15 0704').slice(2, 12))).toBe('BASV2')
  })

  it('stick-bus: no symbol is heard until it ends', () => {
    const visitor = new Visitor()
    visitor.wait(1_000)
    const before = visitor.system.bus.symbols
    visitor.system.faults.stickBus(2_000)
    visitor.wait(1_900)
    expect(visitor.system.bus.symbols).toBe(before)
    visitor.wait(1_000)
    expect(visitor.system.bus.symbols).toBeGreaterThan(before)
  })

  it('slow-response: the answer comes after the AUTO-SYN, too late', () => {
    const visitor = new Visitor()
    visitor.system.faults.slowResponse(60, 64)
    expect(visitor.ask('15 0704')).not.toMatch(/^b5/)
  })

  it('arbitration-storm: the rival initiator wins first, then our telegram is sent', () => {
    const visitor = new Visitor()
    visitor.system.faults.arbitrationStorm(20)
    expect(ascii(visitor.ask('15 0704').slice(2, 12))).toBe('BASV2')
    expect(visitor.heard.filter(({ kind }) => kind === 'exchange').length).toBeGreaterThan(1)
  })
})
