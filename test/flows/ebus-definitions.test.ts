/**
 * Message definitions of the owner's, used by a real client against the virtual heating: found, read, written where a
 * setting is the residents', refused where it is the installer's. The lines are ours; which bytes they describe is
 * written in the official files for these devices (b524 020003002200 and 020000003900 of 15.basv.csv, b509 0d1800 of
 * 08.bai.csv).
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from '../gateway-process.ts'
import type { Envelope, HeatingHouse } from '../heating-house.ts'
import { NO_REST, call, eventually, heatingHouse } from '../heating-house.ts'

const HEADER = 'type,circuit,level,name,comment,qq,zz,pbsb,id,*name,part,type,divisor/values,unit,comment'
const REGULATOR = [
  HEADER,
  '*r,',
  '*w,',
  'r,,,Zone1Wanted,desired room temperature,,,b524,020003002200,,,IGN:4,,,,temp,,EXP,,°C,room',
  'w,,,Zone1Wanted,desired room temperature,,,b524,020103002200,temp,,EXP,,°C,room',
  'r,,,Outside,outside temperature,,,b524,020000007300,,,IGN:4,,,,temp,,EXP,,°C,',
  // Contradicts the official files, which read a float here.
  'r,,,Pressure,another reading,,,b524,020000003900,,,IGN:4,,,,value,,ULG,,,',
  'r,,install,Curve,heating curve,,,b524,020002000f00,,,IGN:4,,,,slope,,EXP,,,',
  'w,,install,Curve,heating curve,,,b524,020102000f00,slope,,EXP,,,',
  'r,,,Broken,a line that is wrong,,,b524,02,value,,NOPE,,,',
  'r,,,Lost,a line behind it,,,b524,020000000000,value,,UCH,,,',
  '',
].join('\n')
const BOILER = [HEADER, '*r,', 'r,,,FlowTemp,flow temperature,,,b509,0d1800,temp,,D2C,,°C,flow', ''].join('\n')

const FIND = 'ebus.v1.messages.find'
const READ = 'ebus.v1.messages.read'
const WRITE = 'ebus.v1.messages.write'
const STATUS = 'ebus.v1.definitions.status'
const MUTATE = { intent: 'MUTATE', allow_dangerous: true }

describe('message definitions', () => {
  let folder: string
  let house: HeatingHouse
  let client: Client
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'hearthbus-definitions-'))
    mkdirSync(join(folder, 'vaillant'))
    writeFileSync(join(folder, 'vaillant', '15.basv.csv'), REGULATOR)
    writeFileSync(join(folder, 'vaillant', '08.bai.csv'), BOILER)
    house = await heatingHouse({ top: NO_REST, yaml: `  definitions: ${folder}\n` })
    client = await house.client()
    await eventually(
      () => call(client, STATUS),
      ({ data }: Envelope) => data?.devices?.filter(({ file }: { file: unknown }) => file !== null).length >= 2,
    )
  })
  afterAll(async () => {
    await house.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it('report the file of each device and the refused line', async () => {
    expect((await call(client, STATUS)).data).toMatchObject({
      state: 'loaded',
      source: folder,
      devices: expect.arrayContaining([
        { address: 0x15, device: 'BASV2', file: 'vaillant/15.basv.csv' },
        { address: 0x08, device: 'BAI00', file: 'vaillant/08.bai.csv' },
      ]),
      faults: ['vaillant/15.basv.csv:10: ERR: element not found, field type NOPE in field 0'],
    })
  })

  it('are found by words of their meaning', async () => {
    const { data } = await call(client, FIND, { query: 'room temperature', writable: true })
    expect(data).toMatchObject({
      count: 1,
      messages: [{ circuit: 'basv', name: 'Zone1Wanted', type: 'w', effect: 'writes', address: 0x15 }],
    })
    expect((await call(client, FIND, { name: 'lost' })).data.count).toBe(0)
  })

  it('are read from a device, or from the cache', async () => {
    const read = await call(client, READ, { circuit: 'bai', name: 'flowtemp', max_age: 0 })
    expect(read).toMatchObject({ error: null, meta: { cache: { from_cache: false } }, data: { units: { temp: '°C' } } })
    expect(read.data.values.temp).toBeGreaterThan(10)
    const again = await call(client, READ, { circuit: 'bai', name: 'FlowTemp' })
    expect(again).toMatchObject({ meta: { cache: { from_cache: true } }, data: { values: read.data.values } })
  })

  it('are written where residents may, and read back', async () => {
    const wish = { circuit: 'basv', name: 'Zone1Wanted', value: 22.5 }
    const written = await call(client, WRITE, { ...wish, ...MUTATE, idempotency_key: 'warm' })
    expect(written).toMatchObject({
      error: null,
      data: { written: { temp: 22.5 }, read_back: { temp: 22.5 }, confirmed: true },
    })
    expect(written.data.before.temp).not.toBe(22.5)
  })

  it('are not written without intent and key, with a wrong value, or if unknown', async () => {
    const wish = { circuit: 'basv', name: 'Zone1Wanted', value: 22 }
    expect(await call(client, WRITE, wish)).toMatchObject({ isError: true, error: { code: 'INVALID_ARGUMENT' } })
    const keyed = { ...wish, ...MUTATE }
    expect(await call(client, WRITE, { ...keyed, value: 'warm', idempotency_key: 'a' })).toMatchObject({
      error: { code: 'INVALID_ARGUMENT', message: 'value: ERR: invalid numeric argument' },
    })
    expect((await call(client, WRITE, { ...keyed, name: 'Nothing', idempotency_key: 'b' })).isError).toBe(true)
  })

  it('of installer settings need an approval', async () => {
    const wish = { circuit: 'basv', name: 'Curve', value: 1.2, ...MUTATE, idempotency_key: 'curve' }
    expect(await call(client, WRITE, wish)).toMatchObject({
      error: { code: 'PERMISSION_DENIED', message: expect.stringContaining('approv') },
    })
  })

  it('decode telegrams on the bus', async () => {
    const seen = await eventually(
      () => call(client, 'ebus.v1.bus.messages.list', {}),
      ({ data }: Envelope) => JSON.stringify(data ?? '').includes('basv.Zone1Wanted'),
    )
    expect(JSON.stringify(seen.data)).toContain('basv.Zone1Wanted')
  })

  it('take precedence over the built-in map, and doctor reports the difference', async () => {
    const system = await eventually(
      () => call(client, 'ebus.v1.semantic.system.get', { detail: true }),
      ({ data }: Envelope) => data?.state.system_water_pressure !== undefined,
    )
    const read = await call(client, READ, { circuit: 'basv', name: 'Pressure' })
    // A pressure in bar, read as a whole number: 1.5 is 0x3fc00000.
    expect(read.data.values.value).toBeGreaterThan(1_000_000)
    expect(system.data.state.system_water_pressure).toBe(read.data.values.value)
    const { said } = await runCommand(house.home, ['doctor'])
    expect(said.replaceAll(/\s+/g, ' ')).toContain('vaillant/15.basv.csv:7: basv.Pressure reads 010039000000ac41 as')
  })

  it('with an invalid line are reported by doctor', async () => {
    const { said } = await runCommand(house.home, ['doctor'])
    expect(said).toContain('vaillant/15.basv.csv:10')
  })
})
