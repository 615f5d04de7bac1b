/**
 * Every tool of the eBUS family, called by real MCP clients against a gateway in a process of its own, which is
 * connected to the virtual heating system over a real socket. The clients check each answer against the tool's output
 * schema.
 */
import { hash } from 'node:crypto'
import type { Client } from '@modelcontextprotocol/client'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { canonicalJson } from '../../src/core/json.ts'
import { connectStdio, runCommand } from '../gateway-process.ts'
import type { Envelope, HeatingHouse } from '../heating-house.ts'
import { MONDAY, allRead, call, eventually, heatingHouse } from '../heating-house.ts'

const SEMANTIC = [
  'zones',
  'dhw',
  'energy_totals',
  'boiler_status',
  'system',
  'circuits',
  'radio_devices',
  'fm5_mode',
  'solar',
  'cylinders',
  'schedules',
]

let house: HeatingHouse
let reader: Client
beforeAll(async () => {
  house = await heatingHouse({ house: { speed: 0, startMs: MONDAY } })
  reader = await house.client()
  await allRead(reader)
})
afterAll(() => house.stop())

describe('the eBUS tool list', () => {
  it('contains exactly the tools of the contract and the listed additions', async () => {
    const { tools } = await reader.listTools()
    const ours = tools.map(({ name }) => name).filter((name) => name.startsWith('ebus.'))
    const inventory = readFileSync(new URL('../vectors/contract-inventory.json', import.meta.url), 'utf8')
    const wanted = (JSON.parse(inventory) as { ebus: { tools: string[] } }).ebus.tools
    expect(ours).toEqual(expect.arrayContaining(wanted))
    const beside = [
      'ebus.v1.bus.protocol_specimens.list',
      'ebus.v1.definitions.status',
      'ebus.v1.messages.find',
      'ebus.v1.messages.read',
      'ebus.v1.messages.write',
      'ebus.v1.semantic.adapter_info.get',
      'ebus.v1.semantic.boiler_status.set_config',
      'ebus.v1.semantic.heat_pump.get',
      'ebus.v1.semantic.system.set_config',
      'ebus.v1.settings.set',
      'ebus.v1.vaillant.errors.get',
      'ebus.v1.vaillant.errors.history.get',
      'ebus.v1.vaillant.live_monitor.get',
      'ebus.v1.vaillant.service.current.get',
      'ebus.v1.vaillant.service.history.get',
    ]
    expect(ours.filter((name) => !wanted.includes(name)).toSorted()).toEqual(
      inventory === undefined ? ours.toSorted() : beside,
    )
  })

  it('marks the read-only tools', async () => {
    const { tools } = await reader.listTools()
    const annotations = new Map(tools.map(({ name, annotations: notes }) => [name, notes]))
    expect(annotations.get('ebus.v1.semantic.zones.get')).toMatchObject({ readOnlyHint: true })
    // MCP: what is not said changes something.
    for (const name of ['ebus.v1.rpc.invoke', 'ebus.v1.semantic.schedules.set_dhw_time_program']) {
      expect(annotations.has(name)).toBe(true)
      expect(annotations.get(name)?.readOnlyHint ?? false).toBe(false)
    }
  })
})

describe.each(['modern', 'legacy'] as const)('eBUS tools for a %s client', (era) => {
  let client: Client
  beforeAll(async () => {
    client = await house.client(era)
  })

  const READS: readonly (readonly [name: string, args?: Record<string, unknown>])[] = [
    ['ebus.v1.runtime.status.get'],
    ['ebus.v1.adapter_info.get'],
    ['ebus.v1.semantic.adapter_info.get'],
    ['ebus.v1.registry.devices.list'],
    ['ebus.v1.registry.devices.get', { address: 0x15 }],
    ['ebus.v1.registry.planes.list', { address: 0x15 }],
    ['ebus.v1.registry.methods.list', { address: 0x15, plane: 'system' }],
    ...SEMANTIC.map((plane): readonly [string] => [`ebus.v1.semantic.${plane}.get`]),
    ['ebus.v1.semantic.snapshot.get'],
    ['ebus.v1.bus.summary.get'],
    ['ebus.v1.bus.messages.list', { limit: 5 }],
    ['ebus.v1.bus.periodicity.list', { limit: 5 }],
    ['ebus.v1.bus.protocol_specimens.list', { limit: 5 }],
    ['ebus.v1.watch.summary.get'],
    ['ebus.devices'],
    ['ebus.invoke', { address: 0x15, plane: 'system', method: 'get_operational_data', params: { op: 0 } }],
    [
      'ebus.v1.rpc.invoke',
      {
        address: 0x08,
        plane: 'system',
        method: 'get_register',
        params: { addr: '1800' },
        intent: 'READ_ONLY',
        allow_dangerous: false,
      },
    ],
  ]

  it.each(READS.map(([name, args]) => ({ name, args })))(
    '$name answers with data and no error',
    async ({ name, args = {} }) => {
      const { meta, data, error, isError } = await call(client, name, args)
      expect({ error, isError }).toEqual({ error: null, isError: false })
      expect(data).not.toBeNull()
      expect(meta).toMatchObject({
        contract: { name: 'helianthus-ebus-mcp', major: 1, minor: 0 },
        consistency: { mode: 'LIVE' },
        data_timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        data_hash: hash('sha256', canonicalJson(data)),
      })
    },
  )

  it('captures, reads and drops a snapshot, whose data has the hash of the live data', async () => {
    const taken = await call(client, 'ebus.v1.snapshot.capture')
    expect(Date.parse(taken.data.expires_at) - Date.parse(taken.data.created_at)).toBe(300_000)
    const consistency = { mode: 'SNAPSHOT', snapshot_id: taken.data.snapshot_id }
    for (const name of ['ebus.v1.registry.devices.list', 'ebus.v1.semantic.solar.get', 'ebus.v1.runtime.status.get']) {
      const [live, kept] = [await call(client, name), await call(client, name, { consistency })]
      expect(kept.meta).toMatchObject({ consistency, data_timestamp: taken.data.created_at })
      expect({ name, hash: kept.meta.data_hash }).toEqual({ name, hash: live.meta.data_hash })
    }
    expect((await call(client, 'ebus.v1.snapshot.drop', { snapshot_id: taken.data.snapshot_id })).data).toEqual({
      dropped: true,
    })
    expect(await call(client, 'ebus.v1.semantic.zones.get', { consistency })).toMatchObject({
      isError: true,
      data: null,
      error: { code: 'NOT_FOUND', retriable: false },
    })
  })

  it('notifies when a plane has changed', async () => {
    const uri = 'ebus://main/dhw'
    const updated = new Promise<void>((resolve) =>
      client.setNotificationHandler('notifications/resources/updated', ({ params }) =>
        params.uri === uri ? resolve() : undefined,
      ),
    )
    if (era === 'modern') await client.listen({ resourceSubscriptions: [uri] })
    else await client.subscribeResource({ uri })
    const topCelsius = era === 'modern' ? 47.25 : 46.5
    house.simulator.changeHouse((now) => ({ ...now, dhw: { ...now.dhw, topCelsius } }))
    await updated
    const read = async (): Promise<unknown> => {
      const { contents } = await client.readResource({ uri })
      return JSON.parse((contents[0] as { text: string }).text)
    }
    // Something else of it may have changed first.
    await expect.poll(read).toMatchObject({ data: { state: { current_temp_c: topCelsius } }, error: null })
  })
})

it('the eBUS tools answer over stdio', async () => {
  const client = await connectStdio(house.home, 'modern')
  const { data, error } = await call(client, 'ebus.v1.semantic.fm5_mode.get')
  await client.close()
  expect({ data, error }).toEqual({ data: 'INTERPRETED', error: null })
})

describe('the eBUS tools over the simulated house', () => {
  const near = (value: number): unknown => expect.closeTo(value, 2)

  it('show the zones', async () => {
    // What a busy machine reads late is stale for a while.
    const { data, meta } = await eventually(
      () => call(reader, 'ebus.v1.semantic.zones.get', { detail: true }),
      (zones) => !(zones.meta['freshness'] as { stale: boolean }).stale,
    )
    const { zones } = house.simulator.house()
    expect(data).toMatchObject(
      zones.map((zone, index) => ({
        id: `zone-${index + 1}`,
        name: zone.name,
        state: {
          current_temp_c: near(zone.roomCelsius),
          current_humidity_pct: near(zone.humidityPct),
          hvac_action: 'idle',
        },
        config: {
          operating_mode: 'auto',
          preset: 'schedule',
          target_temp_c: zone.dayCelsius,
          allowed_modes: ['off', 'auto', 'heat'],
          circuit_type: 'heating',
          associated_circuit: index,
          quick_veto: false,
        },
      })),
    )
    expect(meta['freshness']).toMatchObject({
      stale: false,
      fields: {
        'zone-1.state.current_temp_c': {
          source: expect.stringMatching(/^(poll|passive)$/),
          observed_at: expect.any(String),
          age_seconds: expect.any(Number),
          stale: false,
        },
      },
    })
  })

  it('show the age of each field when it is requested', async () => {
    const args = { planes: ['zones', 'dhw'] }
    const fields = async (more: object): Promise<Record<string, unknown>> => {
      const { meta } = await call(reader, 'ebus.v1.semantic.snapshot.get', { ...args, ...more })
      return (meta['freshness'] as { fields?: Record<string, unknown> }).fields ?? {}
    }
    const age = { observed_at: expect.any(String), age_seconds: expect.any(Number), stale: false }
    await expect
      .poll(() => fields({ field_ages: true }))
      .toMatchObject({
        'zones.zone-1.state.current_temp_c': age,
        'zones.zone-2.config.target_temp_c': age,
        'dhw.state.current_temp_c': age,
      })
    expect(await fields({})).not.toHaveProperty(['zones.zone-1.state.current_temp_c'])
  })

  it('show hot water, boiler and system', async () => {
    const { dhw, boiler, weather } = house.simulator.house()
    expect((await call(reader, 'ebus.v1.semantic.dhw.get')).data).toMatchObject({
      config: { operating_mode: 'auto', preset: 'schedule', target_temp_c: dhw.targetCelsius },
    })
    expect((await call(reader, 'ebus.v1.semantic.boiler_status.get')).data).toMatchObject({
      state: {
        flow_temperature_c: expect.closeTo(boiler.flowCelsius, 0),
        return_temperature_c: expect.closeTo(boiler.returnCelsius, 0),
        water_pressure_bar: near(boiler.pressureBar),
        flame_active: boiler.flame,
        central_heating_pump_active: boiler.pumpOn,
        fan_speed_rpm: boiler.fanRpm,
        heating_switch_active: true,
      },
      config: { flowset_hc_max_c: boiler.flowMaxCelsius, partload_hc_kw: boiler.maxKw },
      diagnostics: {
        central_heating_hours: Math.floor(boiler.heatingHours),
        central_heating_starts: boiler.heatingStarts,
        dhw_starts: boiler.dhwStarts,
        pump_hours: boiler.pumpHours,
      },
    })
    expect((await call(reader, 'ebus.v1.semantic.system.get')).data).toMatchObject({
      state: { outdoor_temperature: near(weather.outsideCelsius), system_off: false, maintenance_due: false },
      config: { installer_name: 'HEARTHBUS', maintenance_date: '2027-02-15' },
      properties: { system_scheme: 1, module_configuration_vr71: 2 },
    })
  })

  it('show the circuits and the device that manages each', async () => {
    const { circuits } = house.simulator.house()
    expect((await call(reader, 'ebus.v1.semantic.circuits.get')).data).toMatchObject(
      circuits.map((circuit, index) => ({
        index,
        circuit_type: 'heating',
        has_mixer: circuit.hasMixer,
        state: { pump_active: circuit.pumpOn, pump_hours: circuit.pumpHours, pump_starts: circuit.pumpStarts },
        config: { heating_curve: near(circuit.curve), flow_temp_max_c: circuit.flowMaxCelsius },
        managing_device: { role: 'FUNCTION_MODULE', device_id: 'VR_71', address: 0x26 },
      })),
    )
  })

  it('show energy, with unknown values as null', async () => {
    const { energy } = house.simulator.house()
    const { data } = await call(reader, 'ebus.v1.semantic.energy_totals.get')
    expect(data.gas.climate).toMatchObject({
      today: 0,
      yearly: [energy.gasHeating.yearWh / 1_000, energy.gasHeating.totalWh / 1_000],
      monthly: [energy.gasHeating.lastMonthWh / 1_000, energy.gasHeating.monthWh / 1_000],
    })
    expect(data.electric.dhw).toMatchObject({ yearly: [41, 602], monthly: [4, 3] })
    expect(data.solar.dhw).toMatchObject({
      today: null,
      yearly: [null, null],
      today_meta: { freshness_state: 'unknown' },
    })
  })

  it('show solar, cylinders and paired devices', async () => {
    const { solar, dhw } = house.simulator.house()
    expect((await call(reader, 'ebus.v1.semantic.solar.get')).data).toMatchObject({
      collector_temperature_c: near(solar.collectorCelsius),
      pump_active: false,
      current_yield: solar.yieldKwh,
      solar_enabled: true,
    })
    expect((await call(reader, 'ebus.v1.semantic.cylinders.get')).data).toEqual([
      {
        index: 0,
        temperature_c: near(dhw.bottomCelsius),
        max_setpoint_c: solar.cylinderMaxCelsius,
        charge_hysteresis_c: dhw.hysteresisK,
        charge_offset_c: 0,
      },
    ])
    expect((await call(reader, 'ebus.v1.semantic.radio_devices.get')).data).toMatchObject([
      {
        group: 9,
        instance: 0,
        slot_mode: 'active',
        device_model: 'VRC720',
        firmware_version: '5.7.0',
        zone_assignment: 1,
      },
      { group: 10, instance: 0, device_model: 'VR92', reception_strength: 8, hardware_identifier: '5703' },
      { group: 12, instance: 0, device_model: 'VR71', device_class_address: 0x26 },
    ])
  })

  it('show the weekly programs by day', async () => {
    const { data } = await call(reader, 'ebus.v1.semantic.schedules.get')
    const find = (zone: number, hc: string): Record<string, unknown> | undefined =>
      data.programs.find((program: { zone: number; hc: string }) => program.zone === zone && program.hc === hc)
    expect(find(0, 'heating')).toMatchObject({
      config: { max_slots: 12, min_temp_c: 5, max_temp_c: 30, has_temperature: true },
      slots_used: [2, 2, 2, 2, 2, 1, 1],
    })
    expect(find(255, 'dhw')).toMatchObject({ slots_used: [2, 2, 2, 2, 2, 2, 2], config: { max_slots: 3 } })
    expect(find(255, 'circulation')).toMatchObject({ config: { has_temperature: false } })
    expect(find(0, 'cooling')).toBeUndefined()
  })

  it('show devices once, each with all of its addresses', async () => {
    const { data } = await call(reader, 'ebus.v1.registry.devices.list')
    const known = data.map(({ device_id, address, addresses, verification_state }: Record<string, unknown>) => ({
      device_id,
      address,
      addresses,
      verification_state,
    }))
    expect(known).toEqual([
      { device_id: 'BAI00', address: 0x08, addresses: [0x08], verification_state: 'identity_confirmed' },
      { device_id: 'BASV2', address: 0x15, addresses: [0x10, 0x15], verification_state: 'identity_confirmed' },
      { device_id: 'VR_71', address: 0x26, addresses: [0x26], verification_state: 'identity_confirmed' },
      { device_id: 'NETX3', address: 0xf6, addresses: [0xf1, 0xf6], verification_state: 'identity_confirmed' },
    ])
    const initiator = await call(reader, 'ebus.v1.registry.devices.get', { address: 0x10 })
    expect(initiator.data).toMatchObject({
      device_id: 'BASV2',
      discovery_source: 'passive_observed',
      verification_state: 'corroborated_pending',
      serial_number: '21213400202609140938006369N4',
    })
    expect(await call(reader, 'ebus.v1.registry.devices.get', { address: 0x44 })).toMatchObject({
      isError: true,
      error: { code: 'NOT_FOUND', source_layer: 'registry' },
    })
  })

  it('show the state of the adapter and the bus', async () => {
    expect((await call(reader, 'ebus.v1.adapter_info.get')).data).toMatchObject({
      firmware_version: '26',
      is_wifi: true,
      info_supported: true,
    })
    const summary = await eventually(
      () => call(reader, 'ebus.v1.bus.summary.get'),
      ({ data }) => data.status.capability.passive_available,
    )
    expect(summary.data).toMatchObject({
      status: {
        transport_class: 'enh',
        capability: { passive_state: 'available', passive_available: true, endpoint_state: 'connected' },
        warmup: { state: 'available', completion_mode: 'thresholds_met' },
        timing_quality: { active: 'estimated', passive: 'estimated', busy: 'estimated', periodicity: 'estimated' },
      },
      messages: { capacity: 1024 },
      periodicity: { capacity: 256 },
    })
    const { data } = await call(reader, 'ebus.v1.bus.messages.list', { limit: 3 })
    expect(data.items).toHaveLength(3)
    expect(data.count).toBeGreaterThan(3)
    expect(data.items.map((item: { observed_at: string }) => item.observed_at)).toEqual(
      data.items.map((item: { observed_at: string }) => item.observed_at).toSorted(),
    )
  })

  it('show decoded telegrams', async () => {
    const { roomCelsius = 0 } = house.simulator.house().zones[0] ?? {}
    const isRoom = (item: { decoded?: { name: string; instance?: number } }): boolean =>
      item.decoded?.name === 'zone.room_temperature' && item.decoded.instance === 0
    const listed = await eventually(
      () => call(reader, 'ebus.v1.bus.messages.list', { limit: 1_024 }),
      ({ data }) => data.items.some(isRoom),
    )
    const told = listed.data.items.find(isRoom)
    expect(told).toMatchObject({
      known: true,
      decoded: { act: 'read', fields: [{ name: 'room_temperature', value: near(roomCelsius), unit: '°C' }] },
    })
    expect(told).not.toHaveProperty('request_hex')
    const whole = await call(reader, 'ebus.v1.bus.messages.list', { limit: 1_024, payload: true })
    // Not of the first best one: a lost arbitration leaves a single byte.
    expect(whole.data.items.find(isRoom)?.request_hex).toMatch(/^([0-9a-f]{2}){5,}$/)
    // The same as a resource, for whoever wants to be told.
    const { contents } = await reader.readResource({ uri: 'ebus://main/messages' })
    const shown = JSON.parse((contents[0] as { text: string }).text) as Envelope
    expect(shown.data.items.length).toBeLessThanOrEqual(64)
    const isWhole = ({ outcome }: { outcome: string }): boolean => outcome !== 'arbitration_fragment'
    expect(shown.data.items.findLast(isWhole)).toMatchObject({
      known: expect.any(Boolean),
      outcome: expect.any(String),
    })
  })

  it('return all kept telegrams, unless a limit is given', async () => {
    const { data } = await eventually(
      () => call(reader, 'ebus.v1.bus.messages.list'),
      (listed) => listed.data.count > 64,
    )
    expect(data.items).toHaveLength(data.count)
    expect((await call(reader, 'ebus.v1.bus.messages.list', { limit: 65 })).data.items).toHaveLength(65)
  })

  it('show the symbol rate once it is measured', async () => {
    const { data } = await eventually(
      () => call(reader, 'ebus.v1.bus.summary.get'),
      (envelope) => envelope.data.symbols !== undefined,
    )
    // At least the SYN of an idle bus; how many more is a matter of how fast the machine is.
    expect(data.symbols.per_second).toBeGreaterThan(20)
    expect(data.symbols.max_per_second).toBeGreaterThanOrEqual(data.symbols.per_second)
    expect(data.symbols.total).toBeGreaterThan(1_000)
  })

  it('show undecoded telegrams with their bytes', async () => {
    // Block 00 of the boiler's status is asked for every half minute, and nobody has written down what it says.
    const { data } = await eventually(
      () => call(reader, 'ebus.v1.bus.protocol_specimens.list', { family: 'b511' }),
      (envelope) => envelope.data.count > 0,
    )
    expect(data.items[0]).toMatchObject({
      family: 'B511',
      source: 0x10,
      target: 0x08,
      request_hex: '1008b5110100',
      response_hex: expect.stringMatching(/^08/),
      outcome: 'success',
    })
  })

  it('show the errors of the boiler', async () => {
    const errors = async (): Promise<unknown> =>
      (await call(reader, 'ebus.v1.semantic.boiler_status.get')).data.diagnostics.current_errors
    expect(await errors()).toEqual([])
    const { boiler } = house.simulator.house()
    house.simulator.changeHouse((now) => ({ ...now, boiler: { ...now.boiler, pressureBar: 0.3 } }))
    const dry = await eventually(
      () => call(reader, 'ebus.v1.semantic.boiler_status.get'),
      ({ data }) => data.diagnostics.current_errors.length > 0,
    )
    expect(dry.data.diagnostics.current_errors).toEqual([22])
    house.simulator.changeHouse((now) => ({ ...now, boiler }))
    const asked = await call(reader, 'ebus.v1.rpc.invoke', {
      address: 0x08,
      plane: 'system',
      method: 'get_errors',
      params: {},
      intent: 'READ_ONLY',
      allow_dangerous: false,
      max_age_ms: 0,
    })
    expect(asked).toMatchObject({ error: null, data: { codes: { value: [], valid: true } } })
  })

  it('refuse invalid arguments with a clear message', async () => {
    const wrong: readonly (readonly [string, Record<string, unknown>])[] = [
      ['ebus.v1.bus.messages.list', { limit: 0 }],
      ['ebus.v1.registry.devices.get', { address: 21.9 }],
      ['ebus.v1.semantic.zones.get', { consistency: { mode: 'SNAPSHOT' } }],
      ['ebus.v1.semantic.zones.get', { consistency: { mode: 'YESTERDAY' } }],
      ['ebus.v1.semantic.snapshot.get', { planes: ['nothing'] }],
      ['ebus.v1.registry.methods.list', { address: 0x15, plane: 'nothing' }],
      ['ebus.v1.semantic.zones.get', { unknown: 1 }],
    ]
    for (const [name, args] of wrong)
      expect({ name, ...(await call(reader, name, args)) }).toMatchObject({
        name,
        isError: true,
        data: null,
        error: { code: 'INVALID_ARGUMENT', retriable: false },
      })
    expect(await call(reader, 'ebus.v1.semantic.zones.get', { consistency: { mode: ' live ' } })).toMatchObject({
      error: null,
    })
    expect(await call(reader, 'ebus.v1.semantic.zones.get', { bus: 'cellar' })).toMatchObject({
      error: { code: 'NOT_FOUND' },
    })
  })
})

describe('ebus.v1.rpc.invoke', () => {
  const invoke = (method: string, params: unknown, more: Record<string, unknown> = {}): Promise<Envelope> =>
    call(reader, 'ebus.v1.rpc.invoke', {
      address: 0x15,
      plane: 'system',
      method,
      params,
      intent: 'READ_ONLY',
      allow_dangerous: false,
      ...more,
    })
  /** The living room's target by day. */
  const target = (data: string): Record<string, unknown> => ({ group: 3, instance: 0, addr: 0x22, data })

  it('reads a register, and reports whether the answer is from the cache', async () => {
    const fresh = await invoke('get_ext_register', { group: 3, instance: 0, addr: 0x22 }, { max_age_ms: 0 })
    expect(fresh).toMatchObject({
      data: {
        value: { value: '0000a841', valid: true },
        decoded: { value: 21, valid: true },
        addr_hex: { value: '0022' },
      },
      meta: { cache: { from_cache: false }, source_address: 0x31 },
    })
    expect(await invoke('get_ext_register', { group: 3, instance: 0, addr: 0x22 })).toMatchObject({
      meta: { cache: { from_cache: true } },
    })
    // The same question to another device is another question.
    const other = await invoke('get_ext_register', { group: 3, instance: 0, addr: 0x22 }, { address: 0x26 })
    expect(other).toMatchObject({ data: { value: { value: null, valid: false } } })
  })

  it('reads timers as in the contract, empty on this family of controllers', async () => {
    expect(await invoke('read_timer', { source: 113, sel1: 3, sel2: 0, sel3: 2, weekday: 0 })).toMatchObject({
      error: null,
      data: { opcode: { value: 3 }, weekday: { value: 0 }, slot_count: { value: 0 } },
    })
    const slot = await invoke('read_timer', { zone: 0, hc: 0, weekday: 0, slot: 1 }, { plane: 'timer' })
    expect(slot.data).toMatchObject({
      start_hour: { value: 16 },
      end_hour: { value: 22 },
      temperature_c: { value: 21.5 },
    })
  })

  it('refuses a write without intent, allow_dangerous or key, with all reasons at once', async () => {
    expect(await invoke('set_ext_register', target('0000a041'))).toMatchObject({
      isError: true,
      error: { code: 'PERMISSION_DENIED', reasons: [{ rule: 'intent' }] },
    })
    expect(await invoke('set_ext_register', target('0000a041'), { intent: 'MUTATE' })).toMatchObject({
      error: { code: 'PERMISSION_DENIED', reasons: [{ rule: 'allow-dangerous' }, { rule: 'idempotency-key' }] },
    })
    expect(
      await call(reader, 'ebus.invoke', {
        address: 0x15,
        plane: 'system',
        method: 'set_ext_register',
        params: target('0000a041'),
      }),
    ).toMatchObject({ error: { code: 'PERMISSION_DENIED' } })
    expect(house.simulator.house().zones[0]?.dayCelsius).toBe(21)
  })

  it('refuses wrong targets, sources and values', async () => {
    const wrong = [
      await invoke('get_ext_register', { group: 3 }),
      await invoke('nothing', {}),
      await invoke('get_status', {}, { plane: 'heating' }),
      await invoke('get_ext_register', { group: 3, instance: 0, addr: 0x22, source: 16 }),
      await invoke('set_ext_register', target('0000c842'), {
        intent: 'MUTATE',
        allow_dangerous: true,
        idempotency_key: 'too-hot',
      }),
    ]
    for (const envelope of wrong) expect(envelope).toMatchObject({ isError: true, error: { code: 'INVALID_ARGUMENT' } })
    expect(await invoke('get_register', { addr: 1 }, { address: 0x44 })).toMatchObject({ error: { code: 'NOT_FOUND' } })
  })

  it('writes a resident setting once per idempotency key, and reads it back', async () => {
    const gate = { intent: 'MUTATE', allow_dangerous: true, idempotency_key: 'warmer-1' }
    const [first, twin] = await Promise.all([
      invoke('set_ext_register', target('0000b441'), gate),
      invoke('set_ext_register', target('0000b441'), gate),
    ])
    expect([first, twin].filter(({ error }) => error === null).length).toBeGreaterThan(0)
    expect(house.simulator.house().zones[0]?.dayCelsius).toBe(22.5)
    const replay = await invoke('set_ext_register', target('0000b441'), gate)
    expect([first, twin].filter(({ meta }) => meta['replayed'] === true).length).toBeLessThan(2)
    expect(replay).toMatchObject({
      error: null,
      meta: {
        replayed: true,
        note: 'Nothing was done now: this is the answer to an earlier call with the same idempotency_key. Another change needs a new key.',
      },
      data: { confirmed: { value: true, valid: true }, read_back: { value: 22.5, valid: true } },
    })
    // More patience, our own address or another spelling of the same bytes make no other change.
    expect(await invoke('set_ext_register', target('0000b441'), { ...gate, timeout_ms: 9_000 })).toEqual(replay)
    const spelled = { ...target('0000b441'), source: 113, data: [0x00, 0x00, 0xb4, 0x41] }
    expect(await invoke('set_ext_register', spelled, { ...gate, bus: 'main' })).toEqual(replay)
    // Somebody at the panel changes it: a replay does not change it back.
    house.simulator.changeHouse((now) => ({
      ...now,
      zones: now.zones.map((zone, index) => (index === 0 ? { ...zone, dayCelsius: 21 } : zone)),
    }))
    await invoke('set_ext_register', target('0000b441'), gate)
    expect(house.simulator.house().zones[0]?.dayCelsius).toBe(21)
    expect(await invoke('set_ext_register', target('0000a041'), gate)).toMatchObject({
      error: {
        code: 'CONFLICT',
        message: 'This idempotency key was used for another call. Take a new key; nothing was done.',
      },
    })
  })

  it('needs an approval for raw opcodes and installer settings, and then runs once', async () => {
    const gate = { intent: 'MUTATE', allow_dangerous: true }
    const raw = (): Promise<Envelope> =>
      invoke('read_raw', { payload: [0x02, 0x00, 0x00, 0x00, 0x36, 0x00] }, { ...gate, idempotency_key: 'raw-1' })
    const asked = await raw()
    expect(asked).toMatchObject({
      isError: true,
      error: { code: 'PERMISSION_DENIED', details: { approval: { state: 'requested', next: { tool: 'approval' } } } },
    })
    const { approval_id: id } = (asked.error?.['details'] ?? { approval_id: 'none' }) as { approval_id: string }
    expect((await runCommand(house.home, ['approvals', 'approve', id])).code).toBe(0)
    const done = await raw()
    expect(done).toMatchObject({ error: null, data: { response_payload: { value: '030036000100', valid: true } } })
    expect((await raw()).data).toEqual(done.data)
    const installer = { group: 0, instance: 0, addr: 0x46, data: '0000a042' }
    expect(await invoke('set_ext_register', installer, { ...gate, idempotency_key: 'inst-1' })).toMatchObject({
      error: { code: 'PERMISSION_DENIED', reasons: [{ rule: 'approval' }] },
    })
  })

  it('needs an approval for a resident setting sent to another device than the regulator', async () => {
    for (const address of [0x08, 0x26, 0xf6]) {
      const gate = { address, intent: 'MUTATE', allow_dangerous: true, idempotency_key: `elsewhere-${address}` }
      expect({ address, ...(await invoke('set_ext_register', target('0000b441'), gate)) }).toMatchObject({
        address,
        error: { code: 'PERMISSION_DENIED', reasons: [{ rule: 'approval' }] },
      })
    }
  })

  it('does not decode registers of a device that is not a regulator', async () => {
    const outside = { group: 0, instance: 0, addr: 0x73 }
    const elsewhere = await invoke('get_ext_register', outside, { address: 0x26 })
    expect(elsewhere).toMatchObject({ error: null, data: { addr_hex: { value: '0073' } } })
    expect(elsewhere.data).not.toHaveProperty('decoded')
    expect((await invoke('get_ext_register', outside)).data).toHaveProperty('decoded')
  })

  it('hides the snapshots of one caller from another', async () => {
    const { stdout } = await runCommand(house.home, ['--json', 'token', 'create', 'other', '--role', 'agent'])
    const other = await house.client('modern', (JSON.parse(stdout) as { token: string }).token)
    const { data } = await call(reader, 'ebus.v1.snapshot.capture')
    const consistency = { mode: 'SNAPSHOT', snapshot_id: data.snapshot_id }
    expect(await call(reader, 'ebus.v1.semantic.zones.get', { consistency })).toMatchObject({ error: null })
    expect(await call(other, 'ebus.v1.semantic.zones.get', { consistency })).toMatchObject({
      error: { code: 'NOT_FOUND' },
    })
    expect(await call(other, 'ebus.v1.snapshot.drop', { snapshot_id: data.snapshot_id })).toMatchObject({
      error: { code: 'NOT_FOUND' },
    })
  })
})

describe('the measurement history', () => {
  it('contains rooms, hot water, boiler and weather after the first read', async () => {
    expect((await runCommand(house.home, ['call', 'ebus.v1.semantic.snapshot.get'])).code).toBe(0)
    const series = JSON.parse((await runCommand(house.home, ['--json', 'history'])).stdout) as {
      id: string
      values: number[]
    }[]
    expect(series.map(({ id }) => id)).toEqual(
      expect.arrayContaining([
        'ebus/zone-1/current_temp_c',
        'ebus/dhw/current_temp_c',
        'ebus/boiler/flow_temperature_c',
        'ebus/outside/temperature_c',
      ]),
    )
    const { data } = await call(reader, 'ebus.v1.semantic.zones.get')
    const living = series.find(({ id }) => id === 'ebus/zone-1/current_temp_c')
    expect(living?.values.at(-1)).toBe(data.find(({ id }: { id: string }) => id === 'zone-1').state.current_temp_c)
  })
})
