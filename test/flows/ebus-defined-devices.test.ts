/**
 * Devices of several makers that are generated from definition files, discovered, read and written by a real client.
 * Where the official files are beside the project they are used; otherwise files of the same shape that we wrote.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDefinedDevice } from '../../src/cli/defined-device.ts'
import { DefinitionFolder } from '../../src/ebus/definitions/definition-folder-store.ts'
import type { Envelope, HeatingHouse } from '../heating-house.ts'
import { NO_REST, call, eventually, heatingHouse } from '../heating-house.ts'

const OFFICIAL = fileURLToPath(new URL('../../../shared/data/ebusd/definitions/en', import.meta.url))
const HEADER = 'type,circuit,level,name,comment,qq,zz,pbsb,id,*name,part,type,divisor/values,unit,comment'

/** A boiler, a regulator and a heat pump, each of another maker. */
const FILES: Readonly<Record<string, readonly string[]>> = {
  'wolf/08..hc.csv': [
    '*r,',
    '*w,',
    'r,,,Flow,flow temperature,,,5022,cc0f,temp,,SIN,10,°C,',
    'r,,,Mode,,,,5022,cc10,mode,,UCH,0=off;1=on,,',
    'w,,,Mode,,,,5023,cc10,mode,,UCH,0=off;1=on,,',
  ],
  'tem/15.csv': [
    '*r,15',
    '*w,15',
    'r,,,Room,,,,0621,6688,id,,TEM_P,,,,temp,,SIN,10,°C,',
    'w,,install,Room,,,,0623,6688,temp,,SIN,10,°C,',
    'w,,,Scene,,,,0623,6689,scene,,UCH,0=day;1=night,,',
    'r,,,Scene,,,,0621,6689,scene,,UCH,0=day;1=night,,',
  ],
  'vaillant/76.hmu.csv': [
    '*r,',
    'r,,,RunDataElectricPowerConsumption,,,,b509,0d10,value,,UIN,,W,',
    'r,,,RunDataFlowTemp,,,,b509,0d11,value,,D2C,,°C,',
    'r,,,CopHc,,,,b509,0d12,value,,UCH,10,,',
  ],
}

describe('devices that definition files describe', () => {
  let folder: string
  let house: HeatingHouse
  let client: Client
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'hearthbus-definitions-'))
    for (const [file, lines] of Object.entries(FILES)) {
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      writeFileSync(join(folder, file), `${[HEADER, ...lines].join('\n')}\n`)
    }
    house = await startHouse(folder, ['wolf/08..hc', 'tem/15', '76.hmu'])
    client = await house.client()
    await discovered(client, 3)
  })
  afterAll(async () => {
    await house.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it('are found, each with its file', async () => {
    const { data } = await call(client, 'ebus.v1.definitions.status')
    expect(data.devices).toEqual(
      expect.arrayContaining([
        { address: 0x08, device: 'SIM00', file: 'wolf/08..hc.csv' },
        { address: 0x15, device: 'SIM00', file: 'tem/15.csv' },
        { address: 0x76, device: 'HMU00', file: 'vaillant/76.hmu.csv' },
      ]),
    )
  })

  it('are read', async () => {
    const flow = await call(client, 'ebus.v1.messages.read', { circuit: 'hc', name: 'Flow' })
    expect(flow).toMatchObject({ error: null, data: { units: { temp: '°C' } } })
    expect(flow.data.values.temp).toBeGreaterThan(20)
    const room = await call(client, 'ebus.v1.messages.read', { circuit: '15', name: 'Room' })
    expect(room.data.values.id).toMatch(/^\d{2}-\d{3}$/)
  })

  it('are seen as a heat pump, each value with its message', async () => {
    const { data, error } = await call(client, 'ebus.v1.messages.heat_pump.get')
    expect(error).toBeNull()
    expect(data).toMatchObject({
      sink: { flow_c: { source: 'hmu.RunDataFlowTemp' } },
      power: { electrical_kw: { source: 'hmu.RunDataElectricPowerConsumption' } },
      cop: { heating: { source: 'hmu.CopHc' } },
    })
    expect(data.sink.flow_c.value).toBeGreaterThan(20)
    expect(data.power.electrical_kw.value).toBeLessThan(1)
  })

  it('are written where residents may, and not where only the installer may', async () => {
    const change = { intent: 'MUTATE', allow_dangerous: true }
    for (const value of ['off', 'on']) {
      const wish = { circuit: 'hc', name: 'Mode', value, ...change, idempotency_key: `mode-${value}` }
      expect(await call(client, 'ebus.v1.messages.write', wish)).toMatchObject({
        error: null,
        data: { read_back: { mode: value }, confirmed: true },
      })
    }
    const room = { circuit: '15', name: 'Room', value: 21, ...change, idempotency_key: 'room' }
    expect(await call(client, 'ebus.v1.messages.write', room)).toMatchObject({ error: { code: 'PERMISSION_DENIED' } })
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

  it('load what their article number asks for', async () => {
    const { data } = await eventually(
      () => call(client, 'ebus.v1.definitions.status'),
      ({ data: status }: Envelope) => status.files.some((file: string) => file.endsWith('.inc')),
    )
    expect(data.files.filter((file: string) => file.endsWith('.inc'))).toEqual(['vaillant/bai.0010002315.inc'])
    expect(data.faults).toEqual([])
  })

  it('are read', async () => {
    for (const circuit of ['basv', 'excellent', 'bai', 'vwz']) {
      const found = await call(client, 'ebus.v1.messages.find', { circuit, writable: false, limit: 1 })
      const [message] = found.data.messages
      const read = await call(client, 'ebus.v1.messages.read', { circuit: message.circuit, name: message.name })
      expect([circuit, read.error]).toEqual([circuit, null])
    }
  })
})

async function startHouse(folder: string, specs: readonly string[]): Promise<HeatingHouse> {
  const source = new DefinitionFolder(folder, 'en')
  const devices = specs.map((spec) => {
    const made = createDefinedDevice(source, spec)
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
