/**
 * Devices of several makers that are generated from definition files, discovered, read and written by a real client.
 * Where the official files are beside the project they are used; otherwise files of the same shape that we wrote.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { simulateDeviceFromDefinitions } from '../../src/cli/generated-ebus-device.ts'
import { DefinitionFolderReader } from '../../src/ebus/definitions/definition-folder-store.ts'
import { runCommand } from '../gateway-process.ts'
import type { Envelope, HeatingHouse } from '../heating-house.ts'
import { NO_REST, call, eventually, heatingHouse } from '../heating-house.ts'

const OFFICIAL = fileURLToPath(new URL('../../../shared/data/ebusd/definitions/en', import.meta.url))
const INVOKE = 'ebus.v1.rpc.invoke'
const MUTATE = { intent: 'MUTATE', allow_dangerous: true }
const HEADER = 'type,circuit,level,name,comment,qq,zz,pbsb,id,*name,part,type,divisor/values,unit,comment'

/**
 * A boiler with its mixer, a heat pump controller, a ventilation unit, and a regulator with a heat pump, each of another
 * maker. Names and bytes are facts of the official files (wolf/08..hc 5022 000d00 with writes to 03, wolf/50..mc 5014,
 * encon/3c 4022 07, tem/15 0621, vaillant/08.hmu b51a 05ff3223, vaillant/15.basv b524 02 03); the files are ours.
 */
const FILES: Readonly<Record<string, readonly string[]>> = {
  'wolf/08..hc.csv': [
    '*r,',
    '*w,',
    'r,,,Flowtemp,flow,,,5022,000d00,value,,UIN,10,°C,',
    'r,,,Returntemp,return,,,5022,001600,value,,UIN,10,°C,',
    'r,,,Hwctemp,hot water,,,5022,000e00,value,,UIN,10,°C,',
    'r,,,Hwctempdesired,hot water wanted,,,5022,000300,value,,UIN,10,°C,',
    'r,,,Hg01,hysteresis,,,5022,002200,value,,UIN,10,°C,',
    'w,,,Hg01,hysteresis,,03,5023,002200,value,,UIN,10,°C,,suffix,,HEX:4,=9d010000,,',
    'r,,,Mode,,,,5022,cc10,mode,,UCH,0=off;1=on,,',
    'w,,,Mode,,,,5023,cc10,mode,,UCH,0=off;1=on,,',
  ],
  'wolf/50..mc.csv': [
    '*uw,',
    'uw,,,Operation,,,,5014,,status,,HEX,,,,,,IGN:1,,,,hctempdesired,,D2B,,°C,,roomtemp,,D1C,,°C,,hwctempdesired,,D1C,,°C,',
    'uw,,,Yields,,,,5018,,power,,D2B,,,,yieldday,,UIN,,,,yieldsum,,UIN,,,,yieldm,,UCH,,,',
  ],
  'encon/3c..excellent.csv': [
    '*r,',
    '*w,',
    'r,,,InsideTemperature,,,,4022,07,value,,SIR,10,°C,',
    'r,,,OutsideTemperature,,,,4022,08,value,,SIR,10,°C,',
    'r,,,RelativeHumidity,,,,4022,20,value,,SIR,10,%,',
    'w,,install,FlowMode,,,,4080,21,speed,,UIR,,m³/h,',
    'r,,,FlowMode,,,,4050,21,speed,,UIR,,m³/h,',
  ],
  'tem/15.csv': [
    '*r,15',
    '*w,15',
    'r,15,,Vl_temp_ist,,,,0621,00870042,id,,TEM_P,,,,temp,,SIN,10,°C,',
    'r,15,,Wq_temp_in,,,,0621,00c70042,id,,TEM_P,,,,temp,,SIN,10,°C,',
    'r,15,,Room,,,,0621,6688,id,,TEM_P,,,,temp,,SIN,10,°C,',
    'w,15,install,Room,,,,0623,6688,temp,,SIN,10,°C,',
    'w,15,,Service_passwort,,,,0623,6690,value,,UIN,,,',
    'r,15,,Service_passwort,,,,0621,6690,value,,UIN,,,',
  ],
}

/** The same of one maker: a regulator without a register for the index of zones, and a heat pump. */
const VAILLANT_FILES: Readonly<Record<string, readonly string[]>> = {
  'vaillant/08.hmu.csv': [
    '*r,',
    'r,,,CurrentYieldPower,,,,b51a,05ff3223,,,IGN:3,,,,value,,SCH,10,kW,',
    'r,,,CurrentConsumedPower,,,,b51a,05ff3224,,,IGN:3,,,,value,,SCH,10,kW,',
    'r,,,ImmersionHeaterMode,,,,b51a,05ff34c4331e,,,IGN:3,,,,,,IGN:3,,,,onoff,,UCH,0=off;1=on,,',
    'r,,,RunDataFlowTemp,,,,b509,5402005c0d,,,IGN:4,,,,value,,EXP,,°C,',
    'r,,,CopHc,,,,b51a,05ff3211,,,IGN:3,,,,value,,UIN,10,,',
  ],
  'vaillant/15.basv.csv': [
    '*r,',
    '*w,',
    'r,,,Z1OpMode,,,,b524,020003000600,,,IGN:4,,,,mode,,UIN,0=off;1=auto;2=manual,,',
    'w,,,Z1OpMode,,,,b524,020103000600,mode,,UIN,0=off;1=auto;2=manual,,',
    'r,,,Z1RoomTemp,,,,b524,020003000f00,,,IGN:4,,,,value,,EXP,,°C,',
    'r,,,Z1DayTemp,,,,b524,020003002200,,,IGN:4,,,,value,,EXP,,°C,',
    'w,,,Z1DayTemp,,,,b524,020103002200,value,,EXP,,°C,',
    'r,,,HwcStorageTemp,,,,b524,020001000500,,,IGN:4,,,,value,,EXP,,°C,',
    'r,,,OutsideTemp,,,,b524,020000007300,,,IGN:4,,,,value,,EXP,,°C,',
    'r,,,PhoneNumber1,,,,b524,020000006f00,,,IGN:4,,,,value,,STR:6,,,',
    'r,,,Hc1HeatCurve,,,,b524,020002000f00,,,IGN:4,,,,value,,EXP,,,',
    'w,,install,Hc1HeatCurve,,,,b524,020102000f00,value,,EXP,,,',
  ],
}

describe('devices of several manufacturers with definition files', () => {
  let folder: string
  let house: HeatingHouse
  let client: Client
  beforeAll(async () => {
    folder = writtenFiles(FILES)
    house = await startHouse(folder, ['wolf/08..hc', 'wolf/50..mc', 'encon/3c..excellent', 'tem/15'])
    client = await house.client()
    await discovered(client, 4)
  })
  afterAll(async () => {
    await house.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it('are identified, each with its file', async () => {
    const { data } = await call(client, 'ebus.v1.definitions.status')
    expect(data.devices).toEqual(
      expect.arrayContaining([
        { address: 0x08, device: 'SIM00', file: 'wolf/08..hc.csv' },
        { address: 0x15, device: 'SIM00', file: 'tem/15.csv' },
        { address: 0x3c, device: 'SIM00', file: 'encon/3c..excellent.csv' },
      ]),
    )
  })

  it('have a plane for each circuit with a method for each message', async () => {
    expect((await call(client, 'ebus.v1.registry.planes.list', { address: 0x08 })).data).toEqual([
      { name: 'hc', routable: true, methods: [], method_count: 8, defined_by: 'wolf/08..hc.csv' },
    ])
    const { data } = await call(client, 'ebus.v1.registry.methods.list', { address: 0x3c, plane: 'excellent' })
    expect(data.find(({ name }: { name: string }) => name === 'set_FlowMode')).toMatchObject({
      mutability: 'mutating',
      danger_level: 'dangerous',
      level: 'install',
      primary: 0x40,
      secondary: 0x80,
      params_schema: { properties: { speed: { type: 'number', minimum: 0, maximum: 65534 } } },
    })
    expect(data.find(({ name }: { name: string }) => name === 'get_FlowMode')).toMatchObject({
      mutability: 'read_only',
      level: '',
    })
    const page = await call(client, 'ebus.v1.registry.methods.list', {
      address: 0x08,
      plane: 'hc',
      limit: 2,
      offset: 6,
    })
    expect(page).toMatchObject({ meta: { page: { total: 8, offset: 6, count: 2 } } })
    const found = await call(client, 'ebus.v1.registry.methods.list', { address: 0x08, plane: 'hc', query: 'hyst' })
    expect(found.data.map(({ name }: { name: string }) => name)).toEqual(['get_Hg01', 'set_Hg01'])
  })

  it('are read by message and by method', async () => {
    const flow = await call(client, 'ebus.v1.messages.read', { circuit: 'hc', name: 'Flowtemp' })
    expect(flow).toMatchObject({ error: null, data: { units: { value: '°C' } } })
    expect(flow.data.values.value).toBeGreaterThan(20)
    const room = await call(client, 'ebus.v1.messages.read', { circuit: '15', name: 'Room' })
    expect(room.data.values.id).toMatch(/^\d{2}-\d{3}$/)
    const read = { address: 0x08, plane: 'hc', method: 'get_Flowtemp', intent: 'READ_ONLY', allow_dangerous: false }
    const value = await call(client, INVOKE, { ...read, max_age_ms: 0 })
    expect(value).toMatchObject({
      error: null,
      data: { value: { valid: true } },
      meta: { cache: { from_cache: false } },
    })
    expect(await call(client, INVOKE, { ...read, method: 'get_Nothing' })).toMatchObject({
      error: { code: 'INVALID_ARGUMENT' },
    })
    expect(await call(client, INVOKE, { ...read, params: { wrong: 1 } })).toMatchObject({
      error: { code: 'INVALID_ARGUMENT' },
    })
  })

  it('contribute values to the semantic planes, each with the name of its message', async () => {
    const zones = await eventually(
      () => call(client, 'ebus.v1.semantic.zones.get', { detail: true }),
      ({ data }: Envelope) => data?.length === 2,
    )
    expect(zones.data.map(({ id }: { id: string }) => id)).toEqual(['zone-mc', 'zone-excellent'])
    expect(zones.meta['freshness']).toMatchObject({
      fields: {
        'zone-mc.state.current_temp_c': { source: 'passive', message: 'mc.Operation' },
        'zone-excellent.state.current_temp_c': { source: 'poll', message: 'excellent.InsideTemperature' },
        'zone-excellent.state.current_humidity_pct': { message: 'excellent.RelativeHumidity' },
      },
    })
    expect(zones.data[1].state.current_temp_c).toBeGreaterThan(15)
    await onceRead(async () => {
      const dhw = await call(client, 'ebus.v1.semantic.dhw.get')
      expect(dhw.data).toMatchObject({ state: { current_temp_c: expect.any(Number) } })
      expect(dhw.data).toMatchObject({ config: { target_temp_c: expect.any(Number) } })
    })
    await onceRead(async () => {
      const boiler = await call(client, 'ebus.v1.semantic.boiler_status.get', { detail: true })
      expect(boiler.data?.state).toMatchObject({
        flow_temperature_c: expect.any(Number),
        return_temperature_c: expect.any(Number),
      })
      expect(boiler.meta['freshness']).toMatchObject({
        fields: { 'state.return_temperature_c': { message: 'hc.Returntemp' } },
      })
    })
    await onceRead(async () => {
      const system = await call(client, 'ebus.v1.semantic.system.get')
      expect(system.data?.state.outdoor_temperature).toEqual(expect.any(Number))
    })
    await onceRead(async () => {
      const { data } = await call(client, 'ebus.v1.semantic.energy_totals.get')
      expect(data).toMatchObject({ solar: { total: { today: expect.any(Number), all_time: expect.any(Number) } } })
    })
    await onceRead(async () => {
      const circuits = await call(client, 'ebus.v1.semantic.circuits.get')
      expect(circuits.data).toMatchObject([
        { name: 'hc', state: { flow_temperature_c: expect.any(Number) } },
        { name: 'mc' },
      ])
    })
    await onceRead(async () => {
      const pump = await call(client, 'ebus.v1.semantic.heat_pump.get', { detail: true })
      expect(pump.data?.state).toMatchObject({ flow_temperature_c: expect.any(Number) })
      expect(pump.meta['freshness']).toMatchObject({
        fields: { 'state.flow_temperature_c': { message: '15.Vl_temp_ist' } },
      })
    })
  })

  it('accept writes that residents may do, and refuse installer settings', async () => {
    for (const value of ['off', 'on']) {
      const wish = { circuit: 'hc', name: 'Mode', value, ...MUTATE, idempotency_key: `mode-${value}` }
      expect(await call(client, 'ebus.v1.messages.write', wish)).toMatchObject({
        error: null,
        data: { read_back: { mode: value }, confirmed: true },
      })
    }
    const mode = { address: 0x08, plane: 'hc', method: 'set_Mode', params: { mode: 'off' }, ...MUTATE }
    expect(await call(client, INVOKE, { ...mode, idempotency_key: 'rpc' })).toMatchObject({
      error: null,
      data: { mode: { value: 'off' }, before: { value: { mode: 'on' } }, confirmed: { value: true } },
    })
    expect(await call(client, INVOKE, { ...mode, intent: 'READ_ONLY' })).toMatchObject({
      error: { code: 'PERMISSION_DENIED' },
    })
    expect(await call(client, INVOKE, mode)).toMatchObject({ error: { code: 'INVALID_ARGUMENT' } })
    const refused = [
      { circuit: '15', name: 'Room', value: 21 },
      { circuit: 'excellent', name: 'FlowMode', value: 100 },
      { circuit: 'hc', name: 'Hg01', value: 12 },
    ]
    for (const wish of refused)
      expect(
        await call(client, 'ebus.v1.messages.write', { ...wish, ...MUTATE, idempotency_key: wish.name }),
      ).toMatchObject({ error: { code: 'PERMISSION_DENIED', message: expect.stringContaining('approve') } })
  })

  it('accept an installer setting once a person has approved it', async () => {
    const wish = { circuit: 'hc', name: 'Hg01', value: 12, ...MUTATE, idempotency_key: 'approved' }
    const asked = await call(client, 'ebus.v1.messages.write', wish)
    const id = (asked.error as unknown as { details: { approval_id: string } }).details.approval_id
    expect((await runCommand(house.home, ['approvals', 'approve', id])).code).toBe(0)
    expect(await call(client, 'ebus.v1.messages.write', wish)).toMatchObject({
      error: null,
      data: { read_back: { value: 12 }, confirmed: true },
    })
  })

  it('have passwords hidden', async () => {
    const read = await call(client, 'ebus.v1.messages.read', { circuit: '15', name: 'Service_passwort' })
    expect(read.data.values).toEqual({ value: '(secret)' })
    const { data } = await call(client, 'ebus.v1.bus.messages.list', {})
    const telegrams = data.items.filter(
      ({ decoded }: { decoded?: { name: string } }) => decoded?.name === '15.Service_passwort',
    )
    expect(telegrams.length).toBeGreaterThan(0)
    expect(JSON.stringify(telegrams)).toContain('(secret)')
    expect(telegrams[0]).not.toHaveProperty('response_hex')
  })
})

describe('a Vaillant system with definition files', () => {
  let folder: string
  let house: HeatingHouse
  let client: Client
  beforeAll(async () => {
    folder = writtenFiles(VAILLANT_FILES)
    house = await startHouse(folder, ['08.hmu', '15.basv'])
    client = await house.client()
    await discovered(client, 2)
  })
  afterAll(async () => {
    await house.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it('appears as a heat pump', async () => {
    await onceRead(async () => {
      const { data, meta } = await call(client, 'ebus.v1.semantic.heat_pump.get', { detail: true })
      expect(data).toMatchObject({
        device_id: 'HMU00',
        state: {
          flow_temperature_c: expect.any(Number),
          electric_power_kw: expect.any(Number),
          environment_power_kw: expect.any(Number),
          backup_heater: expect.stringMatching(/^o(?:n|ff)$/),
        },
        cop: { heating: { all_time: expect.any(Number) } },
      })
      expect(meta['freshness']).toMatchObject({
        fields: {
          'state.backup_heater': { message: 'hmu.ImmersionHeaterMode' },
          'state.flow_temperature_c': { message: 'hmu.RunDataFlowTemp' },
        },
      })
    })
  })

  it('appears as a zone whose day setpoint is writable and whose heating curve is not', async () => {
    const zones = await eventually(
      () => call(client, 'ebus.v1.semantic.zones.get', { detail: true }),
      ({ data }: Envelope) => data?.[0]?.config.day_setpoint_c !== undefined,
    )
    expect(zones.data).toHaveLength(1)
    expect(zones.meta['freshness']).toMatchObject({
      fields: { 'zone-1.config.day_setpoint_c': { message: 'basv.Z1DayTemp' } },
    })
    const day = { address: 0x15, plane: 'basv', method: 'set_Z1DayTemp', params: { value: 21.5 }, ...MUTATE }
    expect(await call(client, INVOKE, { ...day, idempotency_key: 'day' })).toMatchObject({
      error: null,
      data: { confirmed: { value: true } },
    })
    const after = await eventually(
      () => call(client, 'ebus.v1.semantic.zones.get'),
      ({ data }: Envelope) => data?.[0]?.config.day_setpoint_c === 21.5,
    )
    expect(after.data[0].config.day_setpoint_c).toBe(21.5)
    const curve = { ...day, method: 'set_Hc1HeatCurve', params: { value: 1.2 }, idempotency_key: 'curve' }
    expect(await call(client, INVOKE, curve)).toMatchObject({ error: { code: 'PERMISSION_DENIED' } })
  })
})

describe.skipIf(!existsSync(OFFICIAL))('devices of the official definition files', () => {
  let house: HeatingHouse
  let client: Client
  beforeAll(async () => {
    house = await startHouse(OFFICIAL, [
      'vaillant/08.bai',
      'vaillant/15.basv',
      'vaillant/76.vwz',
      'encon/3c..excellent',
    ])
    client = await house.client()
    await discovered(client, 4)
  })
  afterAll(() => house.stop())

  it('load the include file for their article number', async () => {
    const { data } = await eventually(
      () => call(client, 'ebus.v1.definitions.status'),
      ({ data: status }: Envelope) => status.files.some((file: string) => file.endsWith('.inc')),
    )
    expect(data.files.filter((file: string) => file.endsWith('.inc'))).toEqual(['vaillant/bai.0010002315.inc'])
    expect(data.faults).toEqual([])
  })

  it('answer reads of their messages', async () => {
    for (const circuit of ['basv', 'excellent', 'bai', 'vwz']) {
      const found = await call(client, 'ebus.v1.messages.find', { circuit, writable: false, limit: 1 })
      const [message] = found.data.messages
      const read = await call(client, 'ebus.v1.messages.read', { circuit: message.circuit, name: message.name })
      expect([circuit, read.error]).toEqual([circuit, null])
    }
  })
})

function writtenFiles(files: Readonly<Record<string, readonly string[]>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'hearthbus-definitions-'))
  for (const [file, lines] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), `${[HEADER, ...lines].join('\n')}\n`)
  }
  return folder
}

async function startHouse(folder: string, specs: readonly string[]): Promise<HeatingHouse> {
  const source = new DefinitionFolderReader(folder, 'en')
  const devices = specs.map((spec) => {
    const made = simulateDeviceFromDefinitions(source, spec)
    if (!made.ok) throw new Error(made.fault)
    return made.value
  })
  const addresses = devices.map(({ address }) => address).join(', ')
  const house = await heatingHouse({ top: NO_REST, yaml: `  definitions: ${folder}\n`, devices, addresses })
  return house
}

async function discovered(client: Client, count: number): Promise<void> {
  await eventually(
    () => call(client, 'ebus.v1.definitions.status'),
    ({ data }: Envelope) => data?.devices?.filter(({ file }: { file: unknown }) => file !== null).length >= count,
  )
}

/** A busy machine loses arbitrations, and a call answers with what it has when its time is over: it is made again. */
async function onceRead(look: () => Promise<void>): Promise<void> {
  await vi.waitFor(look, { timeout: 90_000, interval: 200 })
}
