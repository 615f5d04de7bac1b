/**
 * eBUS commands as they are typed: rows in and rows out, a folder that is checked, a bus that is recorded and played.
 * Values of the rows were measured with ebusd's library (see `test/vectors/ebus-definitions.jsonl`).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fromHex } from '../../src/core/bytes.ts'
import { startEbusSimulator } from '../../src/sim/ebus/simulator-server.ts'
import type { Home } from '../gateway-process.ts'
import { createHome, runCommand } from '../gateway-process.ts'

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))
const HEADER = 'type,circuit,level,name,comment,qq,zz,pbsb,id,*name,part,type,divisor/values,unit,comment'
const LINES = [
  HEADER,
  'r,oven,,Heat,,,08,b509,0d10,temp,,D2C,,°C,',
  'w,oven,,Heat,,,08,b509,0e10,temp,,D2C,,°C,',
  'r,boiler,,Status,,,08,b511,01,flow,,D1C,,°C,',
  'r,oven,,Bad,,,08,b509,0d11,temp,,NOPE,,,',
  '',
].join('\n')

describe('hearthbus ebus', () => {
  let home: Home
  beforeAll(() => {
    home = createHome()
    writeFileSync(join(home.data, '08.oven.csv'), LINES)
  })
  afterAll(() => home.remove())

  it('decode and encode answer one row for each row, in order', async () => {
    const identity = { file: '08.oven.csv', circuit: 'oven', name: 'Heat' }
    const rows = [
      { ...identity, type: 'r', master_hex: '3108b509020d10', slave_hex: '025801' },
      { master_hex: '3108b509020d10', slave_hex: '020200' },
      { master_hex: '3108b509020d99', slave_hex: '020200' },
      { ...identity, type: 'w', kind: 'encode', values: '21.5' },
    ]
    const answers = await typed(
      home,
      ['ebus', 'decode', '--definitions', home.data],
      rows.map((row) => JSON.stringify(row)),
    )
    expect(answers.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { ...rows[0], text: '21.50', decoded: { temp: 21.5 } },
      { ...identity, type: 'r', text: '0.12' },
      { error: 'ERR: element not found' },
      { master_hex: '3108b509040e105801' },
    ])
    // The digits stay as ebusd prints them.
    expect(answers[1]).toMatch(/"decoded":\{"temp":0\.12\}\}$/)
  })

  it('definitions check lists the messages, and names the invalid line', async () => {
    const checked = await runCommand(home, ['ebus', 'definitions', 'check', home.data, '--json'])
    expect(checked.code).toBe(0)
    expect(checked.said.match(/^\{.*\}$/gm)?.map((line) => (JSON.parse(line) as { name: string }).name)).toEqual([
      'Heat',
      'Heat',
      'Status',
    ])
    expect(checked.said).toContain('08.oven.csv:5: ERR: element not found')
    expect((await runCommand(home, ['ebus', 'definitions', 'check', home.data, '--strict'])).code).toBe(5)
  })

  it('sim refuses two devices at one address', async () => {
    const folder = join(home.data, 'makers')
    mkdirSync(join(folder, 'vaillant'), { recursive: true })
    for (const name of ['08.oven.csv', '08.stove.csv']) writeFileSync(join(folder, 'vaillant', name), LINES)
    const twice = ['sim', 'ebus', '--definitions', folder, '--device', '08.oven', '--device', '08.stove']
    const { code, said } = await runCommand(home, twice)
    rmSync(folder, { recursive: true })
    expect([code, said]).toEqual([2, expect.stringContaining('a device at 08: only one can be there')])
  })

  it('record, replay and grab work on a bus, and grab shows undescribed telegrams', async () => {
    const simulator = await startEbusSimulator({ speed: 20 })
    const file = join(home.data, 'bus.rec')
    const adapter = `enh:127.0.0.1:${simulator.port}`
    const recorded = await runCommand(home, ['ebus', 'record', file, '--adapter', adapter, '--seconds', '3'])
    await simulator.stop()
    expect(recorded.said).toMatch(/\d+ symbols in /)
    expect(readFileSync(file, 'utf8')).toMatch(/^# hearthbus ebus recording 1 /)
    const played = await runCommand(home, ['ebus', 'replay', file, '--definitions', home.data])
    expect(played.said).toMatch(/1008b5110101 \/ \S+ {2}boiler Status \d+\.\d/)
    const grabbed = await runCommand(home, ['ebus', 'grab', file, '--definitions', home.data, '--json'])
    expect(grabbed.said).toContain('"service":"b524"')
    expect(grabbed.said).not.toMatch(/"service":"b511","times":\d+,"command":"01"/)
  })

  it('define adds a message only if it is valid and not there yet', async () => {
    const file = join(home.data, 'mine.csv')
    const line = 'r,mine,,Thing,,,15,b555,a2,value,,UCH,,,'
    expect((await runCommand(home, ['ebus', 'definitions', 'define', file, line])).code).toBe(0)
    expect((await runCommand(home, ['ebus', 'define', file, line.replace('UCH', 'NOPE')])).code).toBe(2)
    expect((await runCommand(home, ['ebus', 'define', file, line.replace('Thing', 'thing')])).said).toContain(
      'line 6 has mine Thing already',
    )
    expect(readFileSync(file, 'utf8')).toBe(`${HEADER}\n*r,\n*w,\n*u,\n*uw,\n${line}\n`)
  })

  it('define creates a file whose name gives circuit and address, and replay decodes with it', async () => {
    // The file's name gives address and circuit, as ebusd's documentation of its file names has it.
    const folder = join(home.data, 'own')
    const line = 'r,,,RoomTemp,,,,b524,020003000f00,,,IGN:4,,,,value,,EXP,,°C,'
    const defined = await runCommand(home, ['ebus', 'define', join(folder, 'vaillant', '15.basv.csv'), line])
    expect(defined).toMatchObject({ code: 0, said: expect.stringContaining('basv RoomTemp is defined in') as string })
    const [row] = await typed(
      home,
      ['ebus', 'decode', '--definitions', folder],
      // The float is 20.5 in binary32, least significant byte first.
      [JSON.stringify({ master_hex: '3115b52406020003000f00', slave_hex: '0801030f000000a441' })],
    )
    expect(JSON.parse(row ?? '')).toMatchObject({ circuit: 'basv', name: 'RoomTemp', text: '20.5' })
  })

  it('replay decodes telegrams with the files of the devices identified in the recording', async () => {
    const folder = join(home.data, 'two')
    for (const [file, circuit] of [
      ['15.360.csv', 'older'],
      ['15.basv.csv', 'newer'],
    ] as const) {
      const line = `r,${circuit},,Temp,,,15,b524,020003000f00,,,IGN:4,,,,value,,EXP,,°C,`
      await runCommand(home, ['ebus', 'define', join(folder, 'vaillant', file), line])
    }
    // As a real ebusd asked the simulated BASV2 who it is (SW 0507, HW 1704), and then for a room temperature.
    const identification = 'aa31150704008b000ab542415356320507170471 00aa'
    const question = 'aa3115b52406020003000f003a000801030f000000a4414500aa'
    const replayed = async (wire: string): Promise<string> => {
      const file = join(home.data, 'asked.bin')
      writeFileSync(file, fromHex(wire))
      return (await runCommand(home, ['ebus', 'replay', file, '--definitions', folder])).said
    }
    expect(await replayed(question)).toContain('older Temp 20.5')
    expect(await replayed(identification + question)).toContain('newer Temp 20.5')
    const nowhere = ['ebus', 'replay', join(home.data, 'asked.bin'), '--definitions', '/nowhere']
    expect((await runCommand(home, nowhere)).code).toBe(2)
  })
})

async function typed({ data, config }: Home, words: readonly string[], lines: readonly string[]): Promise<string[]> {
  const child = spawn(process.execPath, [CLI, '--data', data, '--config', config, ...words])
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
  child.stdin.end(`${lines.join('\n')}\n`)
  await once(child, 'close')
  return said.trimEnd().split('\n')
}
