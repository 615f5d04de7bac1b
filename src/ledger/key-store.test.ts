import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { formatKeyFault, loadExistingNodeKey, loadOrCreateNodeKey } from './key-store.ts'

let directory: string
let path: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'key-'))
  path = join(directory, 'node.key')
})

afterEach(() => rmSync(directory, { recursive: true }))

describe('key store', () => {
  it('creates a key that only its owner may read, and loads it again', async () => {
    const made = await loadOrCreateNodeKey(path)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(directory)).toEqual(['node.key'])
    const again = await loadOrCreateNodeKey(path)
    expect(again.ok && again.value.id).toBe(made.ok && made.value.id)
    expect(made.ok && made.value.id).toMatch(/^ed25519:[A-Za-z0-9_-]{43}$/)
  })

  it('creates one key when several processes start at once', async () => {
    const keys = await Promise.all(Array.from({ length: 5 }, () => loadOrCreateNodeKey(path)))
    expect(new Set(keys.map((key) => key.ok && key.value.id)).size).toBe(1)
    expect(readdirSync(directory)).toEqual(['node.key'])
  })

  it('does not create a key when only asked to load one', async () => {
    expect(await loadExistingNodeKey(path)).toEqual({ ok: false, fault: { kind: 'key-missing', path } })
    expect(readdirSync(directory)).toEqual([])
  })

  it('refuses a key file that others may read, and names the chmod command', async () => {
    await loadOrCreateNodeKey(path)
    chmodSync(path, 0o640)
    const refused = await loadOrCreateNodeKey(path)
    expect(refused).toEqual({ ok: false, fault: { kind: 'key-readable-by-others', path, mode: 0o640 } })
    expect(!refused.ok && formatKeyFault(refused.fault)).toContain(`Run: chmod 600 ${path}`)
  })

  it.each([
    ['nothing', ''],
    ['half a key', '-----BEGIN PRIVATE KEY-----\nMC4CAQAw'],
    ['a public key', generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString()],
    [
      'a key of another kind',
      generateKeyPairSync('x25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    ],
  ])('refuses a file that contains %s, and leaves it unchanged', async (_, content) => {
    writeFileSync(path, content, { mode: 0o600 })
    const refused = await loadOrCreateNodeKey(path)
    expect(refused).toMatchObject({ ok: false, fault: { kind: 'key-invalid' } })
    expect(!refused.ok && formatKeyFault(refused.fault)).not.toContain('MC4CAQAw')
    expect(readFileSync(path, 'utf8')).toBe(content)
  })

  it('reports that it cannot create a key in a missing directory', async () => {
    const refused = await loadOrCreateNodeKey(join(directory, 'nowhere', 'node.key'))
    expect(refused).toMatchObject({ ok: false, fault: { kind: 'key-unreachable' } })
  })
})
