import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readAliasFile } from './alias-file-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'hearthbus-aliases-'))
const path = join(folder, 'aliases.json')
afterAll(() => rmSync(folder, { recursive: true }))

function read(text: string): ReturnType<typeof readAliasFile> {
  writeFileSync(path, text)
  return readAliasFile(path)
}

describe('the alias file', () => {
  it('is read by kind and number, with any separator of the contract and a byte order mark', () => {
    expect(read('\uFEFF{"device:101": ["reading lamp"], "EVENT/31": ["cinema"], "camera # 2": []}')).toEqual({
      ok: true,
      value: [
        { kind: 'device', id: 101, text: 'reading lamp', origin: 'configuration' },
        { kind: 'event', id: 31, text: 'cinema', origin: 'configuration' },
      ],
    })
  })

  it.each([
    ['{"device:101": ["reading lamp"]', 'is not valid JSON'],
    ['["reading lamp"]', 'holds no object such as'],
    ['{"lamp": ["x"]}', '"lamp" is not a key such as device:101'],
    ['{"device:101": "x"}', '"device:101" holds no list of names'],
    ['{"device:101": [1]}', '"device:101" holds no list of names'],
    ['{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1}', 'and 2 more'],
    [`"${'x'.repeat(1_000_001)}"`, '1000000 are read at most'],
  ])('is refused with a message that names it: %.40s', (text, why) => {
    const fault = read(text)
    expect(fault.ok ? '' : fault.fault).toContain(`homeseer.aliasFile: ${path} `)
    expect(fault.ok ? '' : fault.fault).toContain(why)
  })

  it('is refused if it does not exist or is a directory', () => {
    const missing = readAliasFile(join(folder, 'none.json'))
    expect(missing.ok ? '' : missing.fault).toMatch(/none\.json does not exist\.$/)
    const aFolder = readAliasFile(folder)
    expect(aFolder.ok ? '' : aFolder.fault).toContain('cannot be read (EISDIR)')
  })
})
