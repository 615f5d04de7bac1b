import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'hearthbus-example-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('examples', () => {
  it('own-gateway waters the garden and leaves a record of it', () => {
    const path = fileURLToPath(new URL('../examples/own-gateway.ts', import.meta.url))
    const { status, stdout, stderr } = spawnSync(process.execPath, [path, folder], { encoding: 'utf8' })
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toBe('{"ok":true,"value":{"data":{"open":true}}}\n3 entries in the ledger\n')
  })
})
