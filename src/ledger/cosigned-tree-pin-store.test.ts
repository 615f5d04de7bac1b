import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CosignedTreePin } from './cosigned-tree-pin-store.ts'

const LOG = 'hearthbus.local/attic'
const [one, two] = [1, 2].map((byte) => new Uint8Array(32).fill(byte)) as [Uint8Array, Uint8Array]
let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearthbus-cosigned-'))
  path = join(folder, 'pins', 'a.cosigned')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const open = (...paths: readonly string[]): Promise<CosignedTreePin> =>
  CosignedTreePin.open(paths.length === 0 ? [path] : paths, '/var/lib/w')

describe('cosigned tree pin', () => {
  it('has the newest tree of each log in a file of mode 0600', async () => {
    const pin = await open()
    await Promise.all([
      pin.makeDurable(LOG, { size: 1, root: one }),
      pin.makeDurable('b', { size: 7, root: two }),
      pin.makeDurable(LOG, { size: 2, root: two }),
      pin.makeDurable(LOG, { size: 1, root: one }),
    ])
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
      data: '/var/lib/w',
      trees: {
        [LOG]: { size: 2, root: 'AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=' },
        b: { size: 7, root: 'AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=' },
      },
    })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect((await open()).newest(LOG)).toEqual({ size: 2, root: two })
  })

  it('is found by either path of a directory, with the larger tree', async () => {
    const other = join(folder, 'b.cosigned')
    await (await open()).makeDurable(LOG, { size: 3, root: one })
    await (await open(other)).makeDurable(LOG, { size: 2, root: two })
    expect((await open(other, path)).newest(LOG)?.size).toBe(3)
  })

  it('rejects when its file cannot be written any more, and is written later', async () => {
    const pin = await open()
    await pin.makeDurable(LOG, { size: 1, root: one })
    renameSync(join(folder, 'pins'), join(folder, 'away'))
    writeFileSync(join(folder, 'pins'), 'a file in the place of the folder')
    await expect(pin.makeDurable(LOG, { size: 2, root: two })).rejects.toThrow('ENOTDIR')
    rmSync(join(folder, 'pins'))
    await pin.makeDurable(LOG, { size: 2, root: two })
    expect((await open()).newest(LOG)?.size).toBe(2)
  })

  it('says so where it never had a place', async () => {
    writeFileSync(join(folder, 'pins'), 'a file in the place of the folder')
    const pin = await open()
    await pin.makeDurable(LOG, { size: 1, root: one })
    expect(pin.trouble).toContain('ENOTDIR')
    expect(pin.newest(LOG)?.size).toBe(1)
  })

  it.each([
    ['no JSON', 'x'],
    ['no trees', '{}'],
    ['a short root', `{"trees":{"${LOG}":{"size":1,"root":"AA=="}}}`],
  ])('is not opened with %s', async (_, text) => {
    mkdirSync(join(folder, 'pins'))
    writeFileSync(path, text)
    await expect(open()).rejects.toThrow(`${path}, which says what this witness cosigned last, cannot be read`)
  })
})
