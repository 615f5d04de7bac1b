import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createPrivateFolder } from './folder-store.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hearthbus-folder-'))
})
afterEach(() => rmSync(root, { recursive: true }))

describe('private folder', () => {
  it('is created with its parents for its owner only, and left unchanged if it exists', () => {
    const path = join(root, 'a', 'b', 'c')
    createPrivateFolder(path)
    createPrivateFolder(path)
    expect((statSync(path).mode & 0o777).toString(8)).toBe('700')
  })

  it('is refused if a file is at its path or above it', () => {
    writeFileSync(join(root, 'file'), '')
    expect(() => createPrivateFolder(join(root, 'file'))).toThrow('EEXIST')
    expect(() => createPrivateFolder(join(root, 'file', 'below'))).toThrow('EEXIST')
  })

  it.runIf(process.platform === 'linux')('that cannot be created is refused without endless retries', () => {
    expect(() => createPrivateFolder('/proc/1/hearthbus/keys')).toThrow(/ENOENT|EACCES|EPERM/)
  })
})
