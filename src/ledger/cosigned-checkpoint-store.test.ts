import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Database } from '../core/database-store.ts'
import { toUtf8 } from '../core/bytes.ts'
import { formatCheckpoint } from './checkpoint.ts'
import { signNote } from './signed-note.ts'
import { createCosigner, createLogSigner } from './note-key.ts'
import type { LogSigner, NoteSigner } from './note-key.ts'
import { computeLeafHash } from './tree.ts'
import { witnessMigrations, CosignedCheckpointStore } from './cosigned-checkpoint-store.ts'
import { formatAddCheckpointRequest } from './witness.ts'

const ORIGIN = 'hearthbus.local/home'
const witness = createCosigner('witness.test/w', generateKeyPairSync('ed25519').privateKey, () => 1_700_000_000_000)
const [attic, cellar] = [0, 1].map(() => createLogSigner(ORIGIN, generateKeyPairSync('ed25519').privateKey)) as [
  LogSigner,
  LogSigner,
]

let folder: string
let database: Database
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearthbus-witness-'))
  database = new Database({ path: join(folder, 'witness.db'), migrations: [witnessMigrations] })
})
afterEach(() => {
  database.close()
  rmSync(folder, { recursive: true })
})

/** What is remembered for the node `owner`, whose log has this key. */
function storeOf(owner: string, { key }: NoteSigner): CosignedCheckpointStore {
  return new CosignedCheckpointStore({ database, signer: witness, logs: new Map([[ORIGIN, [key]]]), owner })
}

/** A log of one entry, which is all that its checkpoint depends on. */
function request(signer: NoteSigner, entry: string): string {
  const checkpoint = { origin: ORIGIN, size: 1, root: computeLeafHash(toUtf8(entry)), extensions: [] }
  return formatAddCheckpointRequest({
    oldSize: 0,
    proof: [],
    signed: { checkpoint, note: signNote(formatCheckpoint(checkpoint), [signer]) },
  })
}

describe('two logs of the same name from two nodes', () => {
  it('are stored separately, and a fork of either is refused', async () => {
    expect(await storeOf('attic', attic).addCheckpoint(request(attic, 'a'))).toMatchObject({ ok: true })
    expect(await storeOf('cellar', cellar).addCheckpoint(request(cellar, 'b'))).toMatchObject({ ok: true })
    const shown = [storeOf('attic', attic).latest(ORIGIN), storeOf('cellar', cellar).latest(ORIGIN)]
    expect(shown.map((text) => text?.split('\n')[2])).toEqual([
      Buffer.from(computeLeafHash(toUtf8('a'))).toString('base64'),
      Buffer.from(computeLeafHash(toUtf8('b'))).toString('base64'),
    ])
    // A fork of either is still one.
    expect(await storeOf('attic', attic).addCheckpoint(request(attic, 'b'))).toMatchObject({
      fault: { status: 409, size: 1 },
    })
    expect(await storeOf('cellar', cellar).addCheckpoint(request(cellar, 'a'))).toMatchObject({
      fault: { status: 409, size: 1 },
    })
  })

  it('are distinguished by key, whichever comes first after a restart', async () => {
    await storeOf('attic', attic).addCheckpoint(request(attic, 'a'))
    await storeOf('cellar', cellar).addCheckpoint(request(cellar, 'b'))
    expect(await storeOf('cellar', cellar).addCheckpoint(request(cellar, 'c'))).toMatchObject({ ok: false })
    expect(await storeOf('attic', attic).addCheckpoint(request(cellar, 'b'))).toMatchObject({ fault: { status: 403 } })
  })
})
