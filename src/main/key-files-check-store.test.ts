import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { buildDataDirectoryPaths } from '../config/data-directory.ts'
import { findExposedKeyFiles } from './key-files-check-store.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hearthbus-keys-'))
  mkdirSync(join(root, 'keys', 'folder'), { recursive: true, mode: 0o700 })
})
afterEach(() => rmSync(root, { recursive: true }))

describe('key files', () => {
  it.each(['node.key', 'owner.token', 'console.link', 'community.key', 'community.key.1a2b3c4d'])(
    'readable by others are reported: %s',
    (name) => {
      const path = join(root, 'keys', name)
      writeFileSync(path, 'secret', { mode: 0o600 })
      expect(findExposedKeyFiles(buildDataDirectoryPaths(root))).toEqual([])
      chmodSync(path, 0o644)
      expect(findExposedKeyFiles(buildDataDirectoryPaths(root))).toEqual([
        { kind: 'file-exposed', path, reason: 'others on this machine may use it (mode 644)' },
      ])
    },
  )
})
