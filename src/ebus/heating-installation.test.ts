/** One bus as it is heard: from telegrams to planes, without a clock or a socket. */
import { describe, expect, it } from 'vitest'
import { fromHex } from '../core/bytes.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { ALL_ALLOWED, listeningInstallation } from '../../test/listening-installation.ts'
import { vectorRows } from '../../test/shared-data.ts'
import type { RecordedTelegram } from '../../test/shared-data.ts'
import type { EbusEvent } from './adapter/ebus-connection.ts'
import type { HeatingInstallation } from './heating-installation.ts'
import { ENERGY_METER_CODES, ENERGY_USE_CODES, encodeDaySelector } from './semantic/energy-selector.ts'
import { isReadingStale } from './semantic/plane-reader.ts'
import type { HeatingPlaneName } from './semantic/planes.ts'
import {
  CLOCK_READ_KEY,
  toBoilerReadKey,
  toEnergyReadKey,
  toErrorsReadKey,
  toRegisterReadKey,
  toB555TimerReadKey,
} from './semantic/read-key.ts'
import { planReads } from './semantic/read-plan.ts'
import {
  CIRCUIT_REGISTERS,
  HOT_WATER_REGISTERS,
  SYSTEM_REGISTERS,
  ZONE_REGISTERS,
  requireRemoteDeviceRegisters,
} from './semantic/regulator-register-map.ts'
import type { RegulatorRegister } from './semantic/register.ts'
import { toShadowSummaryJson } from './semantic/shadow-summary.ts'
import { decodeExchange } from '../../test/telegram-exchange.ts'
import { newBusLineDecoder, stepBusLineDecoder } from './wire/bus-line-decoder.ts'
import { SYN } from './wire/symbol.ts'

const AT = Date.UTC(2026, 0, 5, 12)
const installation = listeningInstallation

/** Somebody else asks the regulator, and it answers. */
function observeAnswer(
  heating: HeatingInstallation,
  register: RegulatorRegister,
  value: string,
  instance = 0,
  atMs = AT,
): void {
  const { opcode, group, number } = register
  const place = [number & 0xff, number >> 8]
  const data = Uint8Array.from([opcode, 0x00, group, instance, ...place])
  const response = value === '' ? new Uint8Array() : Uint8Array.from([0x01, group, ...place, ...fromHex(value)])
  receive(heating, { telegram: { source: 0xf1, target: 0x15, primary: 0xb5, secondary: 0x24, data }, response }, atMs)
}

function receive(
  heating: HeatingInstallation,
  exchange: Omit<Extract<EbusEvent, { kind: 'exchange' }>['exchange'], 'commandRepeats' | 'responseRepeats'>,
  atMs = AT,
): void {
  const event: EbusEvent = {
    kind: 'exchange',
    own: false,
    atMs,
    exchange: { ...exchange, commandRepeats: 0, responseRepeats: 0 },
  }
  heating.handleEvent(event, { nowMs: atMs - AT, symbols: 0, address: 0x31, passive: 'symbols' })
}

function broadcast(heating: HeatingInstallation, secondary: number, data: string, primary = 0xb5): void {
  receive(heating, {
    telegram: { source: 0x10, target: 0xfe, primary, secondary, data: fromHex(data) },
    response: undefined,
  })
}

const identify = (heating: HeatingInstallation, target: number, id: string): void =>
  receive(heating, {
    telegram: { source: 0x10, target, primary: 0x07, secondary: 0x04, data: new Uint8Array() },
    response: Uint8Array.from([0xb5, ...Buffer.from(id), 0x05, 0x07, 0x17, 0x04]),
  })

const data = (heating: HeatingInstallation, name: HeatingPlaneName, nowMs = AT): Json => heating.plane(name, nowMs).data

/** A house with one zone and one circuit, and whatever else is said. */
function oneZoneInstallation(...more: readonly (readonly [RegulatorRegister, string, number?])[]): HeatingInstallation {
  const heating = installation()
  const base: readonly (readonly [RegulatorRegister, string, number?])[] = [
    [SYSTEM_REGISTERS.outdoorTemperature, '00002040'],
    [ZONE_REGISTERS.index, '00', 0],
    [ZONE_REGISTERS.index, 'ff', 1],
    [ZONE_REGISTERS.index, 'ff', 2],
    [CIRCUIT_REGISTERS.type, '0100', 0],
    [CIRCUIT_REGISTERS.type, '0000', 1],
  ]
  for (const [register, value, instance] of [...base, ...more]) observeAnswer(heating, register, value, instance)
  return heating
}

describe('boiler', () => {
  const complaints = (heating: HeatingInstallation): unknown =>
    (data(heating, 'boiler_status') as { diagnostics: JsonObject } | null)?.diagnostics
  const observeBoilerAnswer = (heating: HeatingInstallation, question: string, answer: string): void =>
    receive(heating, {
      telegram: { source: 0xf1, target: 0x08, primary: 0xb5, secondary: 0x03, data: fromHex(question) },
      response: fromHex(answer),
    })

  it('lists its current errors, and omits lists that were not read', () => {
    const heating = oneZoneInstallation()
    identify(heating, 0x08, 'BAI00')
    expect(complaints(heating)).not.toHaveProperty('current_errors')
    observeBoilerAnswer(heating, '0001', '1901ffffffffffffffff')
    observeBoilerAnswer(heating, '0002', 'ffffffffffffffffffff')
    expect(complaints(heating)).toMatchObject({ current_errors: [281], current_service_messages: [] })
    observeBoilerAnswer(heating, '0001', 'ffffffffffffffffffff')
    expect(complaints(heating)).toMatchObject({ current_errors: [] })
  })

  it('has its errors and service messages in the read plan', () => {
    const heating = oneZoneInstallation()
    identify(heating, 0x08, 'BAI00')
    const keys = planReads(heating.topology, heating.shadow, AT).map(({ key }) => key)
    expect(keys).toEqual(expect.arrayContaining([toErrorsReadKey(0x08, [0, 1]), toErrorsReadKey(0x08, [0, 2])]))
  })

  it.each([
    ['nothing was said yet', undefined, false],
    ['there is a value', 'b004', false],
    ['the register is not there', '', true],
    ['no value can be read', 'ff', true],
  ])('has the substitute register read only if the first has no value: %s', (_, answer, isRead) => {
    const heating = oneZoneInstallation()
    identify(heating, 0x08, 'BAI00')
    const respond = (question: string, response: string): void =>
      receive(heating, {
        telegram: { source: 0xf1, target: 0x08, primary: 0xb5, secondary: 0x09, data: fromHex(question) },
        response: fromHex(response),
      })
    if (answer !== undefined) respond('0d0e04', answer)
    const keys = new Set(planReads(heating.topology, heating.shadow, AT).map(({ key }) => key))
    expect([keys.has(toBoilerReadKey(0x08, 0x0e04)), keys.has(toBoilerReadKey(0x08, 0xa500))]).toEqual([true, isRead])
    respond('0da500', 'b004')
    const { config } = data(heating, 'boiler_status') as { config: JsonObject }
    expect(config).toMatchObject({ flowset_hc_max_c: 75 })
  })
})

const zone = (
  heating: HeatingInstallation,
): { readonly state: JsonObject; readonly config: JsonObject; readonly name: string } =>
  (data(heating, 'zones') as never as readonly { state: JsonObject; config: JsonObject; name: string }[])[0] ?? {
    state: {},
    config: {},
    name: '',
  }

describe('zones', () => {
  it('are null before they are read, and empty if there are none', () => {
    expect(data(installation(), 'zones')).toBeNull()
    const none = installation()
    observeAnswer(none, SYSTEM_REGISTERS.outdoorTemperature, '00002040')
    for (const instance of [0, 1, 2]) observeAnswer(none, ZONE_REGISTERS.index, 'ff', instance)
    expect(data(none, 'zones')).toEqual([])
  })

  it.each([
    ['0000', '00', { operating_mode: 'off', preset: 'manual' }],
    ['0100', '00', { operating_mode: 'auto', preset: 'schedule' }],
    ['0200', '00', { operating_mode: 'heat', preset: 'manual' }],
    ['0100', '02', { operating_mode: 'auto', preset: 'quickveto', quick_veto: true }],
    // Z1SFMode of ebusd's 15.ctlv2.csv and 15.700.csv: 3 is veto, 4 one day away.
    ['0100', '03', { operating_mode: 'auto', preset: 'quickveto', quick_veto: true }],
    ['0300', '00', { operating_mode: 'heat', preset: 'manual' }],
    ['0200', '04', { operating_mode: 'heat', preset: 'away' }],
  ])('mode %s and special function %s mean %j', (mode, special, config) => {
    const heating = oneZoneInstallation([ZONE_REGISTERS.operatingMode, mode], [ZONE_REGISTERS.specialFunction, special])
    expect(zone(heating).config).toMatchObject(config)
  })

  it('have the target temperature that the regulator applies, and name its cause', () => {
    const settings = [
      [ZONE_REGISTERS.operatingMode, '0100'],
      [ZONE_REGISTERS.specialFunction, '00'],
      [ZONE_REGISTERS.daySetpoint, '0000a841'],
      [ZONE_REGISTERS.nightSetpoint, '00008041'],
      [ZONE_REGISTERS.currentSetpoint, '00008041'],
    ] as const
    const heating = oneZoneInstallation(...settings)
    identify(heating, 0x15, 'CTLV2')
    expect(zone(heating).state).toMatchObject({ wanted_now_c: 16, wanted_because: 'program' })
    // Monday, 5 January 2026, noon; a program with one slot, 06:00 to 10:00.
    broadcast(heating, 0x00, '0000 00 00 12 05 01 01 26', 0x07)
    const timer = (question: string, answer: string): void =>
      receive(heating, {
        telegram: { source: 0xf1, target: 0x15, primary: 0xb5, secondary: 0x55, data: fromHex(question) },
        response: fromHex(answer),
      })
    timer('a30000', '000c0a05010c051e00')
    timer('a40000', '000101010101010100')
    timer('a500000000', '0006000a00d200')
    expect(zone(heating).state).toMatchObject({ wanted_now_c: 16, wanted_because: 'outside_program' })
    timer('a500000000', '0006001600d200')
    expect(zone(heating).state).toMatchObject({ wanted_because: 'program_slot', wanted_slot: '06:00-22:00' })
    expect(zone(heating).config).toMatchObject({ target_temp_c: 21, day_setpoint_c: 21, night_setpoint_c: 16 })
    for (const [register, value] of [
      [ZONE_REGISTERS.holidayStart, '05011a'],
      [ZONE_REGISTERS.holidayEnd, '06011a'],
    ] as const)
      observeAnswer(heating, register, value)
    expect(zone(heating)).toMatchObject({ state: { wanted_because: 'holiday' }, config: { preset: 'away' } })
  })

  it('offer cooling if the circuit allows it, but not on a fixed-value circuit', () => {
    expect(zone(oneZoneInstallation([CIRCUIT_REGISTERS.type, '0200'])).config).toMatchObject({
      circuit_type: 'fixed_value',
      allowed_modes: ['off', 'auto', 'heat'],
    })
    const cooling = oneZoneInstallation(
      [CIRCUIT_REGISTERS.coolingEnabled, '01'],
      [CIRCUIT_REGISTERS.state, '02'],
      [ZONE_REGISTERS.valve, '01'],
      [ZONE_REGISTERS.operatingMode, '0200'],
    )
    expect(zone(cooling)).toMatchObject({
      state: { hvac_action: 'cooling' },
      config: { operating_mode: 'cool', allowed_modes: ['off', 'auto', 'heat', 'cool'] },
    })
  })

  it('have the longer of their two names, or a number if they have none', () => {
    expect(zone(oneZoneInstallation()).name).toBe('Zone 1')
    expect(zone(oneZoneInstallation([ZONE_REGISTERS.name, '426174680000'])).name).toBe('Bath')
    const long = oneZoneInstallation(
      [ZONE_REGISTERS.name, '4c6976696e67'],
      [ZONE_REGISTERS.namePart1, '4c6976696e67'],
      [ZONE_REGISTERS.namePart2, '20726f6f6d00'],
    )
    expect(zone(long).name).toBe('Living room')
  })

  it('without a sensor show the temperature of the thermostat that they are mapped to', () => {
    const heating = oneZoneInstallation(
      [ZONE_REGISTERS.roomTemperature, 'ffffff7f'],
      [ZONE_REGISTERS.sensorMapping, '0100'],
      [requireRemoteDeviceRegisters(0x09).roomTemperature, '0000a441'],
    )
    expect(zone(heating).state).toMatchObject({ current_temp_c: 20.5 })
    const { fields } = heating.plane('zones', AT)
    expect(fields.get('zone-1.state.current_temp_c')).toMatchObject({ source: 'passive', atMs: AT })
  })

  it('are heated by the mapped circuit, unless the mapping can only mean a thermostat', () => {
    const pairing = (...more: readonly (readonly [RegulatorRegister, string, number?])[]): unknown =>
      (data(oneZoneInstallation(...more), 'zones') as unknown as { config: JsonObject }[]).map(({ config }) => [
        config['associated_circuit'],
        config['circuit_type'],
        config['allowed_modes'],
      ])
    const heated = (circuit: number): unknown => [circuit, 'heating', ['off', 'auto', 'heat']]
    // One zone, one circuit, and a VR92 on the wall: there is no second circuit that it could mean.
    expect(pairing([ZONE_REGISTERS.sensorMapping, '0200'])).toEqual([heated(0)])
    // It takes two looks to find a zone that was not there.
    const second = [
      [ZONE_REGISTERS.index, '01', 1],
      [ZONE_REGISTERS.index, '01', 1],
      [CIRCUIT_REGISTERS.type, '0100', 1],
    ] as const
    expect(
      pairing(...second, [ZONE_REGISTERS.sensorMapping, '0100', 0], [ZONE_REGISTERS.sensorMapping, '0200', 1]),
    ).toEqual([heated(0), heated(1)])
    expect(
      pairing(...second, [ZONE_REGISTERS.sensorMapping, '0200', 0], [ZONE_REGISTERS.sensorMapping, '0100', 1]),
    ).toEqual([heated(1), heated(0)])
    // The third thermostat, in a zone that says which circuit is its own.
    expect(
      pairing(
        [ZONE_REGISTERS.index, '01', 0],
        [CIRCUIT_REGISTERS.type, '0100', 1],
        [ZONE_REGISTERS.sensorMapping, '0400', 0],
      ),
    ).toEqual([heated(1)])
  })

  it('have the day setpoint as target, or the current setpoint while that is unknown', () => {
    expect(zone(oneZoneInstallation([ZONE_REGISTERS.currentSetpoint, '00008841'])).config).toMatchObject({
      target_temp_c: 17,
    })
    expect(
      zone(oneZoneInstallation([ZONE_REGISTERS.currentSetpoint, '00008841'], [ZONE_REGISTERS.daySetpoint, '0000a841']))
        .config,
    ).toMatchObject({
      target_temp_c: 21,
    })
  })

  it('remain for two reads that do not find them', () => {
    const heating = oneZoneInstallation()
    for (const round of [1, 2]) observeAnswer(heating, ZONE_REGISTERS.index, 'ff', 0, AT + round)
    expect(data(heating, 'zones')).toHaveLength(1)
    observeAnswer(heating, ZONE_REGISTERS.index, 'ff', 0, AT + 3)
    expect(data(heating, 'zones')).toEqual([])
  })
})

describe('hot water', () => {
  it('is null 15 minutes after it was last read', () => {
    const heating = oneZoneInstallation(
      [HOT_WATER_REGISTERS.current, '00004842'],
      [HOT_WATER_REGISTERS.target, '00005c42'],
      [HOT_WATER_REGISTERS.specialFunction, '06'],
    )
    expect(data(heating, 'dhw')).toEqual({
      state: { current_temp_c: 50, special_function: '6' },
      config: { operating_mode: 'auto', preset: 'boost', target_temp_c: 55 },
    })
    expect(data(heating, 'dhw', AT + 900_001)).toBeNull()
  })
})

describe('circuits', () => {
  const owner = (heating: HeatingInstallation): unknown =>
    (data(heating, 'circuits') as never as readonly { managing_device: unknown }[])[0]?.managing_device
  const module_ = requireRemoteDeviceRegisters(0x0c)

  it('are managed by the function module only where no other device is possible', () => {
    const withModule = [
      [SYSTEM_REGISTERS.systemScheme, '0100'],
      [module_.connected, '01'],
      [module_.classAddress, '26'],
    ] as const
    expect(owner(oneZoneInstallation(...withModule, [SYSTEM_REGISTERS.moduleConfiguration, '0200']))).toEqual({
      role: 'FUNCTION_MODULE',
      device_id: 'VR_71',
      address: 0x26,
    })
    expect(owner(oneZoneInstallation(...withModule, [SYSTEM_REGISTERS.moduleConfiguration, '0300']))).toEqual({
      role: 'UNKNOWN',
    })
  })

  it('are managed by the regulator without a function module', () => {
    const heating = oneZoneInstallation([module_.connected, '00'])
    identify(heating, 0x15, 'BASV2')
    expect(owner(heating)).toEqual({ role: 'REGULATOR', device_id: 'BASV2', address: 0x15 })
  })

  it('have an unknown manager until the devices are identified', () => {
    expect(owner(oneZoneInstallation())).toEqual({ role: 'UNKNOWN' })
  })

  it('count number 9 as hot water only if its flow temperature is plausible', () => {
    const types = (heating: HeatingInstallation): unknown =>
      (data(heating, 'circuits') as never as readonly { index: number; circuit_type: string }[]).map(
        ({ index, circuit_type }) => [index, circuit_type],
      )
    expect(types(oneZoneInstallation([CIRCUIT_REGISTERS.type, '0000', 9]))).toEqual([[0, 'heating']])
    expect(
      types(
        oneZoneInstallation([CIRCUIT_REGISTERS.type, '0000', 9], [CIRCUIT_REGISTERS.flowTemperature, '00002842', 9]),
      ),
    ).toEqual([
      [0, 'heating'],
      [9, 'dhw'],
    ])
  })
})

describe('function module', () => {
  const module_ = requireRemoteDeviceRegisters(0x0c)

  it.each([
    ['0100', 'INTERPRETED'],
    ['0200', 'INTERPRETED'],
    ['0300', 'GPIO_ONLY'],
    ['0600', 'GPIO_ONLY'],
  ])('in configuration %s is %s', (configuration, mode) => {
    const heating = oneZoneInstallation(
      [module_.connected, '01'],
      [module_.classAddress, '26'],
      [SYSTEM_REGISTERS.moduleConfiguration, configuration],
    )
    expect(data(heating, 'fm5_mode')).toBe(mode)
  })

  it('is absent when its slot is empty, with empty solar data', () => {
    const heating = oneZoneInstallation([module_.connected, '00'])
    expect(data(heating, 'fm5_mode')).toBe('ABSENT')
    expect(data(heating, 'solar')).toEqual({})
    expect(data(heating, 'cylinders')).toEqual([])
    expect(data(oneZoneInstallation(), 'solar')).toBeNull()
  })
})

describe('energy', () => {
  it('uses a broadcast for today once the date is known, and ignores yesterday’s', () => {
    const heating = oneZoneInstallation([SYSTEM_REGISTERS.gasHeatingTotal, 'd6010000'])
    const today = (): unknown =>
      (data(heating, 'energy_totals') as never as { gas: { climate: JsonObject } }).gas.climate
    // 4 kWh of gas for heating on 5 January.
    broadcast(heating, 0x16, '1001ffff04032534 00007a45')
    expect(today()).toMatchObject({ today: null, yearly: [null, 470] })
    broadcast(heating, 0x00, '0000 00 00 12 05 01 01 26', 0x07)
    expect(today()).toMatchObject({
      today: 4,
      today_meta: { freshness_state: 'fresh', provenance: 'broadcast', stale: false },
    })
    // Midnight has passed: yesterday's figure is not today's.
    broadcast(heating, 0x00, '0000 00 00 00 06 01 02 26', 0x07)
    expect(today()).toMatchObject({ today: null, today_meta: { freshness_state: 'unknown', stale: true } })
  })

  const DAY_5 = toEnergyReadKey(
    encodeDaySelector(ENERGY_METER_CODES.gas, ENERGY_USE_CODES.heating, { year: 2026, month: 1, day: 5 }),
  )
  const DAY_6 = toEnergyReadKey(
    encodeDaySelector(ENERGY_METER_CODES.gas, ENERGY_USE_CODES.heating, { year: 2026, month: 1, day: 6 }),
  )
  const climate = (heating: HeatingInstallation, nowMs: number): JsonObject =>
    (data(heating, 'energy_totals', nowMs) as never as { gas: { climate: JsonObject } }).gas.climate

  it('asks for the new day after midnight by its own clock', () => {
    const heating = oneZoneInstallation([SYSTEM_REGISTERS.gasHeatingTotal, 'd6010000'])
    broadcast(heating, 0x16, '1001ffff04032534 00007a45')
    // Five to midnight.
    broadcast(heating, 0x00, '0000 00 55 23 05 01 01 26', 0x07)
    const [before, after] = [AT + 299_000, AT + 300_000]
    const asksFor = (nowMs: number): readonly boolean[] => {
      const keys = new Set(planReads(heating.topology, heating.shadow, nowMs).map(({ key }) => key))
      return [keys.has(DAY_5), keys.has(DAY_6)]
    }
    expect(climate(heating, before)).toMatchObject({ today: 4 })
    expect(climate(heating, after)).toMatchObject({ today: null, today_meta: { freshness_state: 'unknown' } })
    expect([asksFor(before), asksFor(after)]).toEqual([
      [true, false],
      [false, true],
    ])
    // Our own clock was put back by a day: then nobody knows what day it is.
    expect(climate(heating, AT - 86_400_000)).toMatchObject({ today: null })
  })

  it('restores known devices after a restart, so that their values can be shown', () => {
    const heating = oneZoneInstallation()
    identify(heating, 0x08, 'BAI00')
    receive(heating, {
      telegram: { source: 0xf1, target: 0x08, primary: 0xb5, secondary: 0x09, data: fromHex('0d1800') },
      response: fromHex('c80200'),
    })
    const again = installation()
    again.remember(heating.shadow.entries())
    expect(data(again, 'boiler_status', AT + 3_600_000)).toMatchObject({ state: { flow_temperature_c: 44.5 } })
    const field = again.plane('boiler_status', AT).fields.get('state.flow_temperature_c')
    expect(field).toMatchObject({ source: 'cache', atMs: AT })
  })

  it('marks restored values as stale, both inside the data and in their metadata', () => {
    const heating = installation()
    heating.remember([
      { key: CLOCK_READ_KEY, payload: fromHex('0000 00 00 12 05 01 01 26'), atMs: AT },
      { key: DAY_5, payload: fromHex('00007a45'), atMs: AT },
    ])
    expect(climate(heating, AT + 60_000)).toMatchObject({
      today: 4,
      today_meta: { freshness_state: 'stale', provenance: 'cache', stale: true },
    })
    const field = heating.plane('energy_totals', AT).fields.get('gas.climate.today')
    expect(field !== undefined && isReadingStale(field, AT + 60_000)).toBe(true)
  })
})

describe('overheard telegrams', () => {
  it('update values as reads do, and writes invalidate them', () => {
    const heating = oneZoneInstallation([ZONE_REGISTERS.daySetpoint, '0000a841'])
    const key = toRegisterReadKey(0x15, ZONE_REGISTERS.daySetpoint)
    expect(heating.shadow.get(key)).toMatchObject({ source: 'passive', state: 'present' })
    receive(heating, {
      telegram: { source: 0xf1, target: 0x15, primary: 0xb5, secondary: 0x24, data: fromHex('02010300 2200 0000b041') },
      response: new Uint8Array(),
    })
    expect(heating.shadow.get(key)).toMatchObject({ state: 'invalidated' })
    expect(heating.plane('zones', AT).fields.get('zone-1.config.target_temp_c')).toMatchObject({ invalidated: true })
  })

  it('that write the quick veto duration invalidate the values of that zone', () => {
    const heating = oneZoneInstallation(
      [ZONE_REGISTERS.specialFunction, '00'],
      [ZONE_REGISTERS.quickVetoHours, '00004040'],
      [ZONE_REGISTERS.daySetpoint, '0000a841'],
    )
    receive(heating, {
      telegram: { source: 0xf1, target: 0x15, primary: 0xb5, secondary: 0x24, data: fromHex('02010300 2600 00004040') },
      response: new Uint8Array(),
    })
    const { fields } = heating.plane('zones', AT)
    expect(fields.get('zone-1.config.quick_veto_duration_h')).toMatchObject({ invalidated: true })
    expect(fields.get('zone-1.state.special_function')).toMatchObject({ invalidated: true })
    expect(fields.get('zone-1.config.target_temp_c')).toMatchObject({ invalidated: false })
  })

  it('that write a hot water slot with temperature invalidate the hot water setpoint', () => {
    const heating = oneZoneInstallation([HOT_WATER_REGISTERS.target, '00004842'])
    const receiveTimer = (question: string, answer: string): void =>
      receive(heating, {
        telegram: { source: 0xf1, target: 0x15, primary: 0xb5, secondary: 0x55, data: fromHex(question) },
        response: fromHex(answer),
      })
    receiveTimer('a5ff020000', '00050008002602')
    receiveTimer('a60002040001000018002602', '00')
    expect(heating.shadow.get(toRegisterReadKey(0x15, HOT_WATER_REGISTERS.target))).toMatchObject({
      state: 'invalidated',
    })
    expect(heating.shadow.get(toB555TimerReadKey(0x15, [0xa5, 0xff, 2, 0, 0]))).toMatchObject({ state: 'invalidated' })
  })

  it('update no values when the configuration disables it', () => {
    const deaf = installation({ observe_first_enabled: false })
    observeAnswer(deaf, SYSTEM_REGISTERS.outdoorTemperature, '00002040')
    expect(deaf.shadow.size).toBe(0)
    const stateOnly = installation({ passive_config_direct_apply: false })
    observeAnswer(stateOnly, SYSTEM_REGISTERS.outdoorTemperature, '00002040')
    observeAnswer(stateOnly, SYSTEM_REGISTERS.installerMenuCode, '1100')
    expect([...stateOnly.shadow.entries()].map(({ key }) => key)).toEqual([
      toRegisterReadKey(0x15, SYSTEM_REGISTERS.outdoorTemperature),
    ])
  })

  it('mark exactly the planes as changed whose data differ', () => {
    const heating = oneZoneInstallation()
    heating.takeChanges()
    observeAnswer(heating, HOT_WATER_REGISTERS.current, '00004842')
    expect([...heating.takeChanges()]).toEqual(['dhw', 'boiler_status'])
    observeAnswer(heating, HOT_WATER_REGISTERS.current, '00004842', 0, AT + 1)
    expect([...heating.takeChanges()]).toEqual([])
  })

  it('are counted in the watch summary', () => {
    const heating = oneZoneInstallation()
    const plan = planReads(heating.topology, heating.shadow, AT)
    heating.shadow.pin(plan.map(({ key }) => key))
    const summary = toShadowSummaryJson({ shadow: heating.shadow, plan, tooling: new Set(), flags: heating.flags })
    expect(summary).toMatchObject({
      inventory: {
        total_entries: 6,
        evictable_entries: 0,
        static_pinned_footprint: 6,
        state_classes: [
          { class: 'present', count: 6 },
          { class: 'invalidated', count: 0 },
          { class: 'tombstone', count: 0 },
        ],
      },
      activation_counts: { active_keys: plan.length },
      degraded: { active: false, reasons: [] },
    })
    const off = toShadowSummaryJson({
      shadow: heating.shadow,
      plan,
      tooling: new Set(),
      flags: { ...ALL_ALLOWED, observe_first_enabled: false },
    })
    expect(off['direct_apply_eligibility_classes']).toContainEqual({ class: 'state_eligible', count: 0 })
  })
})

describe('startup phase', () => {
  it('goes from BOOT_INIT to LIVE_READY when zones and hot water are live', () => {
    const heating = installation()
    expect(heating.startup.phase).toBe('BOOT_INIT')
    observeAnswer(heating, SYSTEM_REGISTERS.outdoorTemperature, '00002040')
    expect(heating.startup.phase).toBe('BOOT_INIT')
    observeAnswer(heating, ZONE_REGISTERS.index, '00')
    expect(heating.startup.phase).toBe('LIVE_WARMUP')
    observeAnswer(heating, HOT_WATER_REGISTERS.current, '00004842')
    observeAnswer(heating, ZONE_REGISTERS.roomTemperature, '0000a441')
    expect(heating.startup.phase).toBe('LIVE_READY')
  })

  it('is DEGRADED after two minutes, and recovers', () => {
    const heating = installation()
    heating.tick({ nowMs: 120_000, symbols: 0, address: undefined, passive: 'symbols' }, AT)
    expect(heating.startup.phase).toBe('DEGRADED')
    observeAnswer(heating, SYSTEM_REGISTERS.outdoorTemperature, '00002040')
    observeAnswer(heating, ZONE_REGISTERS.index, '00')
    observeAnswer(heating, ZONE_REGISTERS.roomTemperature, '0000a441')
    expect(heating.startup.phase).toBe('LIVE_READY')
  })

  it('with restored values is CACHE_LOADED_STALE, and values are marked as cached', () => {
    const before = oneZoneInstallation([ZONE_REGISTERS.roomTemperature, '0000a441'])
    const heating = installation()
    heating.remember(before.shadow.entries())
    expect(heating.startup.phase).toBe('CACHE_LOADED_STALE')
    expect(zone(heating).state).toMatchObject({ current_temp_c: 20.5 })
    expect(heating.plane('zones', AT).fields.get('zone-1.state.current_temp_c')).toMatchObject({ source: 'cache' })
  })
})

describe('recorded bus traffic', () => {
  const wires = (vectorRows('ebus-telegrams') as readonly RecordedTelegram[]).map(([wire]) => fromHex(wire))

  it('yields the planes of the house in which it was recorded', () => {
    const heating = installation()
    const line = newBusLineDecoder()
    let received = 0
    for (const symbol of [SYN, ...wires.flatMap((wire) => [...wire, SYN])]) {
      const event = stepBusLineDecoder(line, symbol)
      if (event === undefined) continue
      heating.handleEvent(
        { ...event, own: false, atMs: AT },
        { nowMs: 0, symbols: line.symbols, address: 0xff, passive: 'symbols' },
      )
      received += Number(event.kind === 'exchange')
    }
    expect(received).toBeGreaterThan(140)
    expect(received).toBe(wires.filter((wire) => decodeExchange(wire).ok).length)
    expect(data(heating, 'system')).toMatchObject({
      state: { system_water_pressure: 1.5, outdoor_temperature_avg24h: 5.492188, maintenance_due: false },
      config: { maintenance_date: '2027-02-15' },
      properties: { system_scheme: 1 },
    })
    expect(heating.registry.devices().length).toBeGreaterThan(8)
    expect(heating.registry.find(0x08)?.identity).toBeDefined()
  })
})
