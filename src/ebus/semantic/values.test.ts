/** Single values: how they are read, kept and named. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromHex, toHex } from '../../core/bytes.ts'
import { ebusVectors as vectors } from '../../../test/ebus-vectors.ts'
import { vectorRows } from '../../../test/shared-data.ts'
import type { RecordedTelegram } from '../../../test/shared-data.ts'
import { decodeExchange } from '../../../test/telegram-exchange.ts'
import type { TelegramExchange } from '../wire/telegram.ts'
import {
  BOILER_CONFIG_REGISTERS,
  BOILER_DIAGNOSTIC_REGISTERS,
  BOILER_STATE_REGISTERS,
  decodeBoilerValue,
} from './boiler-register-map.ts'
import {
  ENERGY_PERIOD_CODES,
  encodeDaySelector,
  formatEnergyDate,
  listEnergySelectors,
  encodeYearSelector,
} from './energy-selector.ts'
import { decodeErrorHistoryEntry } from './error-code-decoder.ts'
import { HEAT_PUMP_REGISTERS } from './heat-pump-register-map.ts'
import { stepPresence } from './instance-presence.ts'
import {
  CLOCK_READ_KEY,
  decodeReadKeyBusAddress,
  toBoilerReadKey,
  decodeReadKeyBytes,
  toEnergyReadKey,
  toErrorsReadKey,
  toHeatPumpReadKey,
  decodeReadKeyKind,
  toRegisterReadKey,
  encodeReadRequest,
  toB555TimerReadKey,
} from './read-key.ts'
import { extractAnswerValue, interpretTelegram } from './telegram-meaning.ts'
import type { RegisterReadKey } from './read-key.ts'
import type { RegisterType } from './register.ts'
import { decodeRegisterValue } from './register.ts'
import {
  HOT_WATER_REGISTERS,
  SYSTEM_REGISTERS,
  ZONE_REGISTERS,
  findRegulatorRegister,
} from './regulator-register-map.ts'
import { SHADOW_LIMITS, RegisterShadow } from './register-shadow.ts'

const AT = Date.UTC(2026, 0, 5)

function exchange(text: string, answer?: string): TelegramExchange {
  const [source = 0, target = 0, primary = 0, secondary = 0, ...data] = fromHex(text)
  const telegram = { source, target, primary, secondary, data: Uint8Array.from(data) }
  const response = answer === undefined ? undefined : fromHex(answer)
  return { telegram, response, commandRepeats: 0, responseRepeats: 0 }
}

describe('decoding register values', () => {
  it.each([
    ['f32', '00507b41', 15.70703],
    ['f32', 'ffffff7f', undefined],
    ['f32', '0000c07f', undefined],
    ['u8', '02', 2],
    ['u8', 'ff', undefined],
    ['u16', '0100', 1],
    ['u16', 'ffff', undefined],
    ['u32', 'd6010000', 470],
    ['u32', 'ffffff7f', undefined],
    ['flag', '01', true],
    ['flag', '0000', false],
    ['flag', 'ff', undefined],
    ['date', '0f021b', '2027-02-15'],
    ['date', '01010f', undefined],
    ['time', '071e00', '07:30'],
    ['text', '4c6976696e67', 'Living'],
    ['text', '42e46400ffff', 'Bäd'],
    ['text', '000000', undefined],
    ['version', '050700', '5.7.0'],
    ['version', 'ffffff', undefined],
  ] as const)('%s %s yields %s', (type, bytes, value) => {
    expect(decodeRegisterValue(type, fromHex(bytes))).toBe(value)
  })

  it('never throws, whatever bytes a register has', () => {
    const type = fc.constantFrom<RegisterType>('f32', 'u8', 'u16', 'u32', 'flag', 'date', 'time', 'text', 'version')
    fc.assert(
      fc.property(type, fc.uint8Array({ maxLength: 12 }), (each, bytes) => {
        const value = decodeRegisterValue(each, bytes)
        expect(typeof value === 'number' ? Number.isFinite(value) : true).toBe(true)
      }),
    )
  })
})

describe('boiler values', () => {
  it.each([
    ['flow_temperature_c', 'c80200', 44.5],
    // A sensor that is cut off has no temperature.
    ['flow_temperature_c', 'c802aa', undefined],
    ['water_pressure_bar', '400600', 1.6],
    ['central_heating_pump_active', '00', false],
    ['central_heating_pump_active', '01', true],
    ['flame_active', '0f', true],
    ['flame_active', 'f0', false],
    ['flame_active', '77', undefined],
    ['modulation_pct', 'f401', 50],
    ['dhw_water_flow_lpm', '4c04', 11],
    // With the number, or the whole request, in front.
    ['flow_temperature_c', '1800c80200', 44.5],
    ['flow_temperature_c', '0d1800c80200', 44.5],
    ['flow_temperature_c', '00', undefined],
  ] as const)('%s %s yields %s', (field, bytes, value) => {
    expect(decodeBoilerValue(BOILER_STATE_REGISTERS[field], fromHex(bytes))).toBe(value)
  })

  it.each(vectors.boiler_registers)(
    '$register $answer yields $ebusd, as $file defines it',
    ({ field, answer, ebusd }) => {
      const map = { ...BOILER_STATE_REGISTERS, ...BOILER_CONFIG_REGISTERS, ...BOILER_DIAGNOSTIC_REGISTERS }
      const value = decodeBoilerValue(map[field as keyof typeof map], fromHex(answer))
      expect(value).toEqual(asEbusd(ebusd))
    },
  )

  it('reads operating hours as they are, and starts in hundreds', () => {
    expect(decodeBoilerValue(BOILER_DIAGNOSTIC_REGISTERS.central_heating_hours, fromHex('0a2d'))).toBe(11_530)
    expect(decodeBoilerValue(BOILER_DIAGNOSTIC_REGISTERS.central_heating_starts, fromHex('e201'))).toBe(48_200)
  })
})

describe('heat pump values', () => {
  it.each(vectors.heat_pump_registers)('$message of 08.hmu.csv decodes to $ebusd', ({ telegram, ebusd }) => {
    const [command = '', answer = ''] = telegram.split('/')
    const [, target = 0, , secondary = 0, , ...question] = fromHex(command)
    const register = Object.values(HEAT_PUMP_REGISTERS).find(
      (each) => each.secondary === secondary && each.question.join() === question.join(),
    )
    // Without the count in front.
    const payload = fromHex(answer).subarray(1)
    expect(register?.read(payload)).toEqual(expect.closeTo(Number(ebusd), 1))
    // The telegram that asks for it is that of the definition, and is recognised when somebody else says it.
    const key = toHeatPumpReadKey(target, { secondary, question })
    expect(encodeReadRequest(key, undefined)).toMatchObject({
      target,
      primary: 0xb5,
      secondary,
      data: Uint8Array.from(question),
    })
    expect(
      interpretTelegram(exchange(`f1 ${command.slice(2, 8)} ${command.slice(10)}`, answer.slice(2))),
    ).toMatchObject({
      key,
    })
  })
})

describe('error history entry', () => {
  it.each(vectors.error_entries)('is decoded from $bytes of $from', ({ bytes, code, status, at }) => {
    expect(decodeErrorHistoryEntry(fromHex(bytes))).toEqual(code === undefined ? 'empty' : { code, status, at })
  })

  it('is not read from an empty answer', () => {
    expect(decodeErrorHistoryEntry(new Uint8Array())).toBeUndefined()
  })
})

/** What ebusd printed, as we say it: a value whose sensor is not all right is none, words for off and on are flags. */
function asEbusd(printed: string): unknown {
  const [first = '', ...rest] = printed.split(';')
  const sensor = rest.at(-1)
  if (sensor !== undefined && sensor !== 'ok') return undefined
  if (['on', 'yes', 'off', 'no'].includes(first)) return first === 'on' || first === 'yes'
  // ebusd prints two decimals of sixteenths.
  return expect.closeTo(Number(first), 1)
}

describe('read keys', () => {
  const key = fc.oneof(
    fc
      .tuple(fc.constantFrom(0x02 as const, 0x06 as const), fc.nat(0xfd), fc.nat(15), fc.nat(10), fc.nat(0xffff))
      .map(([opcode, address, group, instance, number]) =>
        toRegisterReadKey(address, { opcode, group, number }, instance),
      ),
    fc.tuple(fc.nat(0xfd), fc.nat(0xffff)).map(([address, number]) => toBoilerReadKey(address, number)),
    fc
      .tuple(fc.nat(0xfd), fc.nat(255), fc.nat(4), fc.nat(6), fc.nat(11))
      .map(([address, ...rest]) => toB555TimerReadKey(address, [0xa5, ...rest])),
    fc.array(fc.nat(255), { minLength: 5, maxLength: 5 }).map(toEnergyReadKey),
    fc.tuple(fc.nat(0xfd), fc.constantFrom(1, 2)).map(([address, kind]) => toErrorsReadKey(address, [0, kind])),
    fc
      .tuple(fc.nat(0xfd), fc.constantFrom(1, 2), fc.nat(255))
      .map(([address, kind, index]) => toErrorsReadKey(address, [1, kind, index])),
  )

  it('encode to a read telegram that decodes to the same key', () => {
    fc.assert(
      fc.property(key, (each) => {
        const request = encodeReadRequest(each, 0x15)
        expect(Number.isSafeInteger(each)).toBe(true)
        const answered = {
          telegram: { ...request, source: 0x10 },
          response: new Uint8Array(11),
          commandRepeats: 0,
          responseRepeats: 0,
        }
        answered.response.set([
          0,
          decodeReadKeyBytes(each)[1],
          decodeReadKeyBytes(each)[4],
          decodeReadKeyBytes(each)[3],
        ])
        expect(interpretTelegram(answered)).toMatchObject({ kind: 'value', key: each })
      }),
    )
  })

  it('are independent of the source address', () => {
    const target = toRegisterReadKey(0x15, ZONE_REGISTERS.roomTemperature, 1)
    expect(interpretTelegram(exchange('f1 15 b524 020003010f00', '01030f0000009841'))).toEqual({
      kind: 'value',
      key: target,
      payload: fromHex('01030f0000009841'),
    })
    expect(toHex(encodeReadRequest(target).data)).toBe('020003010f00')
    expect(decodeReadKeyBusAddress(target)).toBe(0x15)
  })

  it('reject an answer that names another register', () => {
    expect(interpretTelegram(exchange('f1 15 b524 020003010f00', '0103220000009841'))).toBeUndefined()
  })

  it('list the values that a write invalidates', () => {
    expect(interpretTelegram(exchange('f1 15 b524 02010300220000 00a841', ''))).toEqual({
      kind: 'write',
      keys: expect.arrayContaining([
        toRegisterReadKey(0x15, ZONE_REGISTERS.daySetpoint),
        toRegisterReadKey(0x15, ZONE_REGISTERS.currentSetpoint),
      ]),
    })
    expect(interpretTelegram(exchange('f1 15 b524 020100000700 01', ''))).toEqual({
      kind: 'write',
      keys: [toRegisterReadKey(0x15, SYSTEM_REGISTERS.systemOff)],
    })
    expect(interpretTelegram(exchange('f1 08 b509 0e0e04b004', ''))).toEqual({
      kind: 'write',
      keys: [toBoilerReadKey(0x08, 0x0e04)],
    })
    const slot = interpretTelegram(exchange('f1 15 b555 a60000000001060008000ed200', '00'))
    expect(slot).toMatchObject({ kind: 'write' })
    expect(slot?.kind === 'write' && slot.keys.length).toBe(13)
  })

  it('list a quick veto’s mode, duration and end in its own zone as invalidated', () => {
    const started = interpretTelegram(exchange('f1 15 b524 020103012600 00000040', ''))
    const keys = started?.kind === 'write' ? started.keys : []
    const { specialFunction, quickVetoEndTime, quickVetoEndDate, quickVetoHours, roomTemperature } = ZONE_REGISTERS
    for (const register of [specialFunction, quickVetoEndTime, quickVetoEndDate, quickVetoHours]) {
      expect(keys.filter((key) => key === toRegisterReadKey(0x15, register, 1))).toHaveLength(1)
      expect(keys).not.toContain(toRegisterReadKey(0x15, register, 0))
    }
    expect(keys).not.toContain(toRegisterReadKey(0x15, roomTemperature, 1))
  })

  it('list all hot water slots and the setpoint as invalidated by a slot with a temperature', () => {
    const untrue = (text: string): readonly RegisterReadKey[] => {
      const meaning = interpretTelegram(exchange(text, '00'))
      return meaning?.kind === 'write' ? meaning.keys : []
    }
    const setpoint = toRegisterReadKey(0x15, HOT_WATER_REGISTERS.target)
    const slots = (days: readonly number[]): readonly RegisterReadKey[] =>
      [0xff, 0x00].flatMap((zone) => days.map((day) => toB555TimerReadKey(0x15, [0xa5, zone, 2, day, 0])))
    const counts = [0xff, 0x00].map((zone) => toB555TimerReadKey(0x15, [0xa4, zone, 2]))
    const week = slots([0, 1, 2, 3, 4, 5, 6])
    expect(untrue('f1 15 b555 a600020400010000180026 02')).toEqual(
      expect.arrayContaining([setpoint, ...counts, ...week]),
    )
    // Times alone: one day, whichever of its two names the program was given.
    const times = untrue('f1 15 b555 a6ff0204000105000800ffff')
    expect(times).toEqual(expect.arrayContaining([...counts, ...slots([4])]))
    expect(times).not.toContain(setpoint)
    expect(times).not.toContain(toB555TimerReadKey(0x15, [0xa5, 0xff, 2, 5, 0]))
    expect(untrue('f1 15 b524 020101000400 00005c42')).toEqual(expect.arrayContaining([setpoint, ...week]))
  })

  it('identify energy meters of any device, whether requested or broadcast', () => {
    const broadcast = interpretTelegram(exchange('10 fe b516 1003ffff04030032 00e0ce4a'))
    const polled = interpretTelegram(exchange('f1 15 b516 1003ffff04030032', '03000004030032 00e0ce4a'))
    expect(broadcast).toEqual(polled)
    expect(broadcast).toMatchObject({ key: toEnergyReadKey([3, 4, 3, 0x00, 0x32]), payload: fromHex('00e0ce4a') })
    expect(extractAnswerValue(toEnergyReadKey([3, 4, 3, 0x00, 0x32]), new Uint8Array())).toEqual(new Uint8Array())
    expect(interpretTelegram(exchange('10 fe 0700 f00d 54091806100321'))).toMatchObject({ key: CLOCK_READ_KEY })
  })

  it('do not exist for commands that clear the error memory or take over the display', () => {
    expect(interpretTelegram(exchange('f1 08 b503 0201', '00'))).toBeUndefined()
    expect(interpretTelegram(exchange('f1 08 b503 0003', '6400ffffffffffffffff'))).toBeUndefined()
  })

  it('do not exist for any other telegram, and parsing never throws', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 4, maxLength: 20 }),
        fc.option(fc.uint8Array({ maxLength: 12 })),
        (bytes, answer) => {
          const [source = 0, target = 0, primary = 0, secondary = 0, ...data] = bytes
          const telegram = { source, target, primary, secondary, data: Uint8Array.from(data) }
          const meaning = interpretTelegram({
            telegram,
            response: answer ?? undefined,
            commandRepeats: 0,
            responseRepeats: 0,
          })
          expect(meaning === undefined || meaning.kind === 'write' || decodeReadKeyKind(meaning.key) > 0).toBe(true)
        },
      ),
    )
  })
})

describe('energy selectors', () => {
  it.each(vectors.energy_dates)('encode $date as in $from', ({ date, period, bytes }) => {
    const [year = 0, month = 0, day = 0] = date.split('-').map(Number)
    const [low = 0, high = 0] = fromHex(bytes)
    expect(formatEnergyDate(ENERGY_PERIOD_CODES[period as 'day'], low, high)).toBe(date)
    // Months are only ever read, never asked for.
    const selectors = new Map<string, readonly number[]>([
      ['day', encodeDaySelector(3, 0, { year, month, day })],
      ['year', encodeYearSelector(4, 3, year)],
    ])
    expect((selectors.get(period) ?? [0, 0, 0, low, high]).slice(3)).toEqual([low, high])
  })

  it('for today and this year contain the current year', () => {
    expect(listEnergySelectors({ year: 2026, month: 9, day: 19 })).toEqual(
      expect.arrayContaining([
        [1, 3, 3, 0x33, 0x35],
        [3, 3, 3, 0x00, 0x34],
      ]),
    )
  })
})

describe('presence detection', () => {
  const play = (...found: readonly boolean[]): boolean | undefined =>
    found.reduce<ReturnType<typeof stepPresence> | undefined>((before, each) => stepPresence(before, each), undefined)
      ?.present

  it('takes the first read as it is, then needs two to appear and three to disappear', () => {
    expect(play(true)).toBe(true)
    expect(play(false, true)).toBe(false)
    expect(play(false, true, true)).toBe(true)
    expect(play(true, false, false)).toBe(true)
    expect(play(true, false, false, false)).toBe(false)
    expect(play(true, false, false, true, false, false)).toBe(true)
  })
})

describe('register shadow', () => {
  const KEY = toRegisterReadKey(0x15, SYSTEM_REGISTERS.outdoorTemperature)
  const VALUE = fromHex('01007300 00507b41')

  it('distinguishes a changed value from a repeated one', () => {
    const shadow = new RegisterShadow()
    expect(shadow.apply(KEY, VALUE, { atMs: AT, source: 'poll' })).toBe('changed')
    expect(shadow.apply(KEY, VALUE, { atMs: AT + 1, source: 'passive' })).toBe('same')
    expect(shadow.get(KEY)).toMatchObject({ atMs: AT + 1, source: 'passive', state: 'present' })
  })

  it('rejects an older answer, and prefers its own poll to an overheard answer of the same moment', () => {
    const shadow = new RegisterShadow()
    shadow.apply(KEY, VALUE, { atMs: AT, source: 'poll' })
    expect(shadow.apply(KEY, new Uint8Array(8), { atMs: AT - 1, source: 'poll' })).toBe('stale_timestamp')
    expect(shadow.apply(KEY, new Uint8Array(8), { atMs: AT, source: 'passive' })).toBe('stale_timestamp')
  })

  it('accepts a much older answer as a clock that was set back', () => {
    const shadow = new RegisterShadow()
    shadow.apply(KEY, VALUE, { atMs: AT, source: 'poll' })
    expect(shadow.apply(KEY, VALUE, { atMs: AT - 3_600_000, source: 'passive' })).toBe('same')
    expect(shadow.get(KEY)?.atMs).toBe(AT - 3_600_000)
  })

  it('rejects the answer to a request sent before an invalidation', () => {
    const shadow = new RegisterShadow()
    shadow.apply(KEY, VALUE, { atMs: AT, source: 'poll' })
    const requestedAt = shadow.generation(KEY)
    shadow.invalidate(KEY)
    expect(shadow.get(KEY)?.state).toBe('invalidated')
    expect(shadow.apply(KEY, VALUE, { atMs: AT + 1, source: 'poll', requestedAt })).toBe('generation_advanced')
    expect(shadow.apply(KEY, VALUE, { atMs: AT + 1, source: 'poll', requestedAt: shadow.generation(KEY) })).toBe(
      'changed',
    )
  })

  it('keeps a tombstone for a missing register for a limited time', () => {
    const shadow = new RegisterShadow()
    shadow.apply(KEY, new Uint8Array(), { atMs: AT, source: 'poll' })
    expect(shadow.get(KEY)?.state).toBe('tombstone')
    shadow.compact(AT + SHADOW_LIMITS.tombstoneMs)
    expect(shadow.get(KEY)).toBeDefined()
    shadow.compact(AT + SHADOW_LIMITS.tombstoneMs + 1)
    expect(shadow.get(KEY)).toBeUndefined()
  })

  it('holds a limited number of values, and evicts no pinned one', () => {
    const shadow = new RegisterShadow()
    const keys = Array.from({ length: SHADOW_LIMITS.capacity + 100 }, (_, index) => toBoilerReadKey(0x08, index))
    shadow.pin(keys.slice(0, 50))
    for (const key of keys) shadow.apply(key, VALUE, { atMs: AT, source: 'passive' })
    expect(shadow.size).toBe(SHADOW_LIMITS.capacity)
    expect(keys.slice(0, 50).every((key) => shadow.get(key) !== undefined)).toBe(true)
    expect(shadow.get(keys[50] ?? 0)).toBeUndefined()
  })

  it('reports when more values are pinned than fit, and when it cannot keep up', () => {
    const shadow = new RegisterShadow()
    const keys = Array.from({ length: SHADOW_LIMITS.staticPins + 1 }, (_, index) => toBoilerReadKey(0x08, index))
    shadow.pin(keys)
    expect(shadow.pinnedBudgetDegraded).toBe(true)
    shadow.pin(keys.slice(0, 10))
    expect(shadow.pinnedBudgetDegraded).toBe(false)
    for (const key of keys) shadow.apply(key, VALUE, { atMs: AT, source: 'passive' })
    shadow.compact(AT + SHADOW_LIMITS.lifeMs + 1)
    expect(shadow.compactorDegraded).toBe(true)
    for (let turn = 0; turn < 4; turn++) shadow.compact(AT + SHADOW_LIMITS.lifeMs + 1)
    expect(shadow.compactorDegraded).toBe(false)
    expect(shadow.size).toBe(10)
  })

  it('pins a value that a write has to be compared with for a limited time', () => {
    const shadow = new RegisterShadow()
    shadow.confirm(KEY, AT)
    shadow.apply(KEY, VALUE, { atMs: AT, source: 'write_confirm' })
    expect(shadow.counts()).toMatchObject({ confirmPins: 1, evictable: 0 })
    shadow.compact(AT + SHADOW_LIMITS.confirmMs)
    expect(shadow.counts()).toMatchObject({ confirmPins: 0, evictable: 1 })
  })
})

describe('telegrams recorded on real buses', () => {
  const rows = vectorRows('ebus-telegrams') as readonly RecordedTelegram[]

  it('decode to the same register values as in ebusd', () => {
    let compared = 0
    for (const [wire, meaning] of rows) {
      const decoded = decodeExchange(fromHex(wire))
      const printed = /read basv \S+ QQ=\w+: (-?[\d.]+)\]/.exec(meaning)?.[1]
      if (!decoded.ok || printed === undefined || /\d\d\.\d\d\.\d{4}/.test(printed)) continue
      const { data } = decoded.value.telegram
      const register = findRegulatorRegister(data[0] ?? 0, data[2] ?? 0, (data[4] ?? 0) + 256 * (data[5] ?? 0))
      if (register === undefined) continue
      const value = decodeRegisterValue(register.type, (decoded.value.response ?? new Uint8Array()).subarray(4))
      expect({ wire, value: Number(value) }).toEqual({ wire, value: expect.closeTo(Number(printed), 2) })
      compared++
    }
    expect(compared).toBeGreaterThan(25)
  })
})
