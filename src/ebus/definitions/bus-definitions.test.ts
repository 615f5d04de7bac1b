/**
 * Bus definitions: which files a device gets, and what its messages say once telegrams are heard. Which file ebusd
 * takes for which identification is written in its scan (facts: `ebusd-definitions.md`, section 4; ebusd/scan.cpp).
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { fromHex } from '../../core/bytes.ts'
import type { BusDeviceIdentity } from '../wire/device-identity.ts'
import type { TelegramExchange } from '../wire/telegram.ts'
import type { MessageReadFailure } from './message-read-retry-tracker.ts'
import { BusDefinitions } from './bus-definitions.ts'
import { downloadAndPinDefinitions, loadPinOfUnchangedDefinitions } from './definition-download-client.ts'
import { DefinitionFolderReader } from './definition-folder-store.ts'
import { PollMessageSelector } from './poll-message-selector.ts'
import { selectBestDefinitionFile } from './definition-file-selection.ts'

const HEADER = 'type,circuit,level,name,comment,qq,zz,pbsb,id,*name,part,type,divisor/values,unit,comment\n'

const FILES = {
  'broadcast.csv': `${HEADER}u,broadcast,,Outside,,,fe,b516,01,temp,,D2B,,°C,\n`,
  'vaillant/scan.csv': `${HEADER}r,Scan,,id,,,,b509,24;25,serial,,STR:10,,,\n`,
  'vaillant/08.bai.csv': [
    `${HEADER}*r,`,
    '*w,',
    '*[serial],Scan,,id,,serial',
    '*[sw],scan,,,,SW,,,',
    '*[sw_new],,,,,SW,,>=500',
    'r1,,,FlowTemp,flow,,,b509,0d1800,temp,,D2C,,°C,',
    '[sw_new]r,,,OnlyNew,,,,b509,0d2000,value,,UCH,,,',
    "[serial='0123456789']!load,bai.known.inc",
    '!load,bai.other.inc',
    '',
  ].join('\n'),
  'vaillant/bai.known.inc': `${HEADER}*r,\nr,,,Special,,,,b509,0d3000,value,,UCH,,,\n`,
  'vaillant/bai.other.inc': `${HEADER}*r,\nr,,,Strange,,,,b509,0d3100,value,,UCH,,,\n`,
  'wolf/08..hc.csv': `${HEADER}*r,\nr,,,Boiler,,,,5022,cc01,value,,UCH,,,\nr,,,Bad,,,,5022,cc02,value,,NOPE,,,\n`,
}

const BAI: BusDeviceIdentity = {
  manufacturerCode: 0xb5,
  manufacturer: 'Vaillant',
  deviceId: 'BAI00',
  software: '0603',
  hardware: '9602',
}

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hearthbus-definitions-'))
  folders.push(folder)
  return folder
}

function definitionsOf(files: Readonly<Record<string, string>>): BusDefinitions {
  const folder = emptyFolder()
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  return new BusDefinitions(new DefinitionFolderReader(folder, 'en'), 'en')
}

/** `QQ ZZ PB SB data / answer` */
function exchange(text: string): TelegramExchange {
  const [command = '', answer] = text.split('/')
  const [source = 0, target = 0, primary = 0, secondary = 0, ...data] = fromHex(command)
  return {
    telegram: { source, target, primary, secondary, data: Uint8Array.from(data) },
    response: answer === undefined ? undefined : fromHex(answer),
    commandRepeats: 0,
    responseRepeats: 0,
  }
}

describe('bus definitions', () => {
  it('load the file of a device id before the manufacturer’s general file', () => {
    // ochsner/15.22102.csv of the official tree: no manufacturer's code leads there, the controllers are TEM's (10).
    const definitions = definitionsOf({
      'tem/15.csv': `${HEADER}*r,\nr,15,,Any,,,,0621,6688,value,,UCH,,,\n`,
      'ochsner/15.22102.csv': `${HEADER}*r,\nr,,,WaterTemp,,,,0621,00840040,temp,,SIN,10,°C,\n`,
      'ochsner/15.csv': `${HEADER}*r,\nr,x,,Every,,,,0621,01,value,,UCH,,,\n`,
    })
    const identity = { ...BAI, manufacturerCode: 0x10, manufacturer: 'TEM' }
    definitions.identify(0x15, { ...identity, deviceId: '22102' })
    definitions.identify(0x15, { ...identity, deviceId: 'OTHER' })
    expect(definitions.files).toEqual(['ochsner/15.22102.csv', 'tem/15.csv'])
  })

  it('decode broadcasts before any device is identified', () => {
    const definitions = definitionsOf(FILES)
    expect(definitions.decode(exchange('10 fe b5 16 01 80 07'))).toEqual({
      name: 'broadcast.Outside',
      act: 'broadcast',
      fields: [{ name: 'temp', value: 7.5, unit: '°C' }],
    })
    expect(definitions.decode(exchange('31 08 b5 09 0d 18 00 / 58 01'))).toBeUndefined()
  })

  it('load the file of an identified device', () => {
    const definitions = definitionsOf(FILES)
    definitions.identify(0x08, BAI)
    expect(definitions.files).toEqual(['broadcast.csv', 'vaillant/scan.csv', 'vaillant/08.bai.csv'])
    expect(definitions.decode(exchange('31 08 b5 09 0d 18 00 / 58 01'))).toMatchObject({
      name: 'bai.FlowTemp',
      act: 'read',
      fields: [{ name: 'temp', value: 21.5 }],
    })
    expect(definitions.devices()).toEqual([{ address: 8, deviceId: 'BAI00', file: 'vaillant/08.bai.csv' }])
  })

  it('evaluate conditions on the identification of the device', () => {
    const newer = definitionsOf(FILES)
    newer.identify(0x08, BAI)
    expect(newer.named('bai', 'onlynew', 'read')?.name).toBe('OnlyNew')
    const older = definitionsOf(FILES)
    older.identify(0x08, { ...BAI, software: '0499' })
    expect(older.named('bai', 'onlynew', 'read')).toBeUndefined()
  })

  it('ask for the message that a conditional load depends on, and load when it is answered', () => {
    const definitions = definitionsOf(FILES)
    definitions.identify(0x08, BAI)
    const awaited = definitions.nextAwaited(0)
    expect(awaited).toMatchObject({ circuit: 'Scan.08', name: 'id', zz: 0x08 })
    expect(definitions.nextAwaited(0)).toBeUndefined()
    expect(definitions.named('bai', 'Special', 'read')).toBeUndefined()
    definitions.handleExchange(exchange('31 08 b5 09 24 / 30 31 32 33 34'), 1)
    definitions.handleExchange(exchange('31 08 b5 09 25 / 35 36 37 38 39'), 2)
    expect(definitions.files).toContain('vaillant/bai.known.inc')
    expect(definitions.files).not.toContain('vaillant/bai.other.inc')
    expect(definitions.named('bai', 'Special', 'read')?.source).toBe('vaillant/bai.known.inc')
  })

  it('use the unconditional load only when no conditional one applies', () => {
    const definitions = definitionsOf(FILES)
    definitions.identify(0x08, BAI)
    expect(definitions.files).not.toContain('vaillant/bai.other.inc')
    const awaited = definitions.nextAwaited(0)
    if (awaited === undefined) throw new Error('nothing is awaited')
    definitions.giveUp(awaited)
    expect(definitions.files).toContain('vaillant/bai.other.inc')
    expect(definitions.files).not.toContain('vaillant/bai.known.inc')
  })

  it('use the fallback load only when the device refused the deciding message or was silent for a minute', () => {
    const loadsOther = (failures: readonly (readonly [MessageReadFailure, number])[]): boolean => {
      const definitions = definitionsOf(FILES)
      definitions.identify(0x08, BAI)
      for (const [failure, atMs] of failures) {
        const awaited = definitions.nextAwaited(atMs)
        if (awaited !== undefined) definitions.noteFailedRead(awaited, failure, atMs)
      }
      return definitions.files.includes('vaillant/bai.other.inc')
    }
    const each = (
      failure: MessageReadFailure,
      ...seconds: readonly number[]
    ): (readonly [MessageReadFailure, number])[] => seconds.map((at) => [failure, at * 1_000])
    expect(loadsOther(each('refused', 0))).toBe(false)
    expect(loadsOther(each('refused', 0, 1))).toBe(true)
    // A boiler that restarts is back before this.
    expect(loadsOther(each('no-answer', 0, 1, 2, 3, 10, 20, 30, 40, 50))).toBe(false)
    expect(loadsOther(each('no-answer', 0, 10, 20, 30, 40, 50, 60))).toBe(true)
    expect(loadsOther(each('bus', 0, 1, 2, 3, 4, 59))).toBe(false)
    expect(loadsOther(each('bus', 0, 1, 2, 61))).toBe(true)
  })

  it('ask a silent device again after ten seconds, and reset the count when it answers', () => {
    const definitions = definitionsOf(FILES)
    definitions.identify(0x08, BAI)
    const awaited = definitions.nextAwaited(0)
    if (awaited === undefined) throw new Error('nothing is awaited')
    definitions.noteFailedRead(awaited, 'no-answer', 0)
    expect(definitions.nextAwaited(9_999)).toBeUndefined()
    expect(definitions.nextAwaited(10_000)).toBe(awaited)
    definitions.handleExchange(exchange('31 08 b5 09 24 / 30 31 32 33 34'), 1)
    definitions.handleExchange(exchange('31 08 b5 09 25 / 35 36 37 38 39'), 2)
    expect(definitions.files).toContain('vaillant/bai.known.inc')
  })

  it('do not join the parts of a chained message that are more than 15 s per part apart', () => {
    const definitions = definitionsOf(FILES)
    definitions.identify(0x08, BAI)
    // ebusd 26.1, message.cpp: 15 seconds per part.
    definitions.handleExchange(exchange('31 08 b5 09 24 / 30 31 32 33 34'), 0)
    definitions.handleExchange(exchange('31 08 b5 09 25 / 35 36 37 38 39'), 30_001)
    expect(definitions.files).not.toContain('vaillant/bai.known.inc')
    definitions.handleExchange(exchange('31 08 b5 09 24 / 30 31 32 33 34'), 60_000)
    expect(definitions.files).toContain('vaillant/bai.known.inc')
  })

  it('drop only the lines behind an invalid one, and report its file and line', () => {
    const definitions = definitionsOf(FILES)
    definitions.identify(0x08, { ...BAI, manufacturerCode: 0x19, manufacturer: 'Wolf', deviceId: 'XY' })
    expect(definitions.named('hc', 'Boiler', 'read')).toBeDefined()
    expect(definitions.faults).toEqual([
      { file: 'wolf/08..hc.csv', line: 4, code: 'not-found', detail: 'field type NOPE in field 0' },
    ])
  })

  it('read nothing outside their folder', () => {
    const definitions = definitionsOf({
      'wolf/08..hc.csv': `${HEADER}!include,../../../../../../etc/passwd\n*r,\nr,,,A,,,,5022,01,v,,UCH\n`,
    })
    definitions.identify(0x08, { ...BAI, manufacturer: 'Wolf' })
    expect(definitions.files).toEqual(['wolf/08..hc.csv'])
    expect(definitions.faults.map(({ code }) => code)).toEqual(['not-found'])
  })
})

describe('selection of definition files', () => {
  const files = ['v/15.350.csv', 'v/15.350.HW7102.csv', 'v/15.3.csv', 'v/15.csv', 'v/08.bai.csv', 'v/15..any.csv']
  it.each([
    ['BAI00', '9602', 0x08, 'v/08.bai.csv'],
    ['35000', '7102', 0x15, 'v/15.350.HW7102.csv'],
    ['35000', '0001', 0x15, 'v/15.350.csv'],
    ['35600', '0001', 0x15, 'v/15.3.csv'],
    ['ABC', '0001', 0x15, 'v/15..any.csv'],
    ['BAI00', '9602', 0x25, undefined],
  ])('%s, hardware %s at %i is described by %s', (deviceId, hardware, address, file) => {
    expect(selectBestDefinitionFile(files, address, { ...BAI, deviceId, hardware })).toBe(file)
  })
})

describe('definition poll selector', () => {
  it('polls a message of priority 1 nine times as often as one of priority 9', () => {
    const definitions = definitionsOf({
      'general.csv': `${HEADER}r1,c,,Often,,,08,b509,01,v,,UCH\nr9,c,,Seldom,,,08,b509,02,v,,UCH\n`,
    })
    const poll = new PollMessageSelector()
    const polled = Array.from({ length: 100 }, () => poll.next(definitions.messages)?.name)
    expect(polled.filter((name) => name === 'Often')).toHaveLength(90)
  })
})

describe('definition download', () => {
  const PAGES: Readonly<Record<string, string>> = {
    'https://example.org/en/index.json': JSON.stringify('broadcast.csv\nvaillant/\n../evil.csv'),
    'https://example.org/en/broadcast.csv': FILES['broadcast.csv'],
    'https://example.org/en/vaillant/index.json': JSON.stringify('08.bai.csv'),
    'https://example.org/en/vaillant/08.bai.csv': FILES['vaillant/08.bai.csv'],
    'https://example.org/en/vaillant/bai.known.inc': FILES['vaillant/bai.known.inc'],
    'https://example.org/en/vaillant/bai.other.inc': FILES['vaillant/bai.other.inc'],
  }
  const polled: string[] = []
  const fetchPage = async (url: string): Promise<Response> => {
    polled.push(url)
    const page = PAGES[url]
    return new Response(page ?? '', { status: page === undefined ? 404 : 200 })
  }
  const url = 'https://example.org/en'

  it('stores the files that the index names and those that they load, and nothing else', async () => {
    const folder = join(emptyFolder(), 'kept')
    const pin = await downloadAndPinDefinitions({ url, folder, now: () => 0, fetch: fetchPage })
    expect(pin.ok ? Object.keys(pin.value.files) : pin.fault).toEqual([
      'broadcast.csv',
      'vaillant/08.bai.csv',
      'vaillant/bai.known.inc',
      'vaillant/bai.other.inc',
    ])
    expect(polled.filter((each) => each.includes('evil'))).toEqual([])
    expect(readFileSync(join(folder, 'vaillant/08.bai.csv'), 'utf8')).toBe(FILES['vaillant/08.bai.csv'])
  })

  it('detects a file that was changed after the download', async () => {
    const folder = join(emptyFolder(), 'kept')
    expect(loadPinOfUnchangedDefinitions(folder, url)).toEqual({ ok: false, fault: { kind: 'absent' } })
    await downloadAndPinDefinitions({ url, folder, now: () => 0, fetch: fetchPage })
    expect(loadPinOfUnchangedDefinitions(folder, url).ok).toBe(true)
    writeFileSync(join(folder, 'broadcast.csv'), 'something else')
    expect(loadPinOfUnchangedDefinitions(folder, url)).toEqual({
      ok: false,
      fault: { kind: 'changed', file: 'broadcast.csv' },
    })
  })
})
