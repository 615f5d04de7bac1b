import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LedgerFixture } from '../../test/ledger-fixture.ts'
import { identityOf } from '../../test/mesh-keys.ts'
import { toUtf8 } from '../core/bytes.ts'
import { silentLogger } from '../core/logger.ts'
import { CosignedTreePin } from '../ledger/cosigned-tree-pin-store.ts'
import { formatCheckpoint } from '../ledger/checkpoint.ts'
import { createLogSigner } from '../ledger/note-key.ts'
import { signNote } from '../ledger/signed-note.ts'
import { computeLeafHash } from '../ledger/tree.ts'
import { formatAddCheckpointRequest } from '../ledger/witness.ts'
import type { PeerWitnessExchange, PeerWitnessDependencies } from './peer-witness-client.ts'
import { startPeerCosigning } from './peer-witness-client.ts'

const [attic, cellar] = [identityOf(2).id, identityOf(3).id]
let fixture: LedgerFixture
let origins: Record<string, string>
let witness: PeerWitnessExchange

beforeEach(async () => {
  fixture = await LedgerFixture.open()
  origins = {}
  witness = await openWitness()
})
afterEach(async () => {
  await witness.stop()
  return fixture.remove()
})

async function openWitness(): Promise<PeerWitnessExchange> {
  const mesh = {
    get peers() {
      return Object.entries(origins).map(([nodeId, ledgerOrigin]) => ({ nodeId, manifest: { ledgerOrigin } }))
    },
  } as unknown as PeerWitnessDependencies['mesh']
  const path = join(fixture.directory, WITNESS_DATABASE)
  const pin = await CosignedTreePin.open([join(fixture.directory, 'elsewhere', 'pin.cosigned')], fixture.directory)
  return startPeerCosigning({ path, identity: identityOf(1), ledger: fixture.ledger, mesh, pin, logger: silentLogger })
}

const WITNESS_DATABASE = 'mesh-witness.db'
const ORIGIN = 'hearthbus.local/home'

/** What the attic asks to have cosigned: a tree of one entry, after none. */
async function addTree(entry: string): Promise<string> {
  origins = { [attic]: ORIGIN }
  const checkpoint = { origin: ORIGIN, size: 1, root: computeLeafHash(toUtf8(entry)), extensions: [] }
  const note = signNote(formatCheckpoint(checkpoint), [createLogSigner(ORIGIN, identityOf(2).privateKey)])
  const body = formatAddCheckpointRequest({ oldSize: 0, proof: [], signed: { checkpoint, note } })
  const { status, text } = await witness.service.addCheckpoint(attic, body)
  return status === 200 ? 'cosigned' : `${status} ${text.trim()}`
}

function tamper(sql: string): void {
  const file = new DatabaseSync(join(fixture.directory, WITNESS_DATABASE))
  file.exec(sql)
  file.close()
}

const statusOf = async (node: string): Promise<number> => (await witness.service.addCheckpoint(node, '')).status

describe('peer witness', () => {
  it('serves two nodes whose ledgers have the same name', async () => {
    origins = { [attic]: 'hearthbus.local/home', [cellar]: 'hearthbus.local/home' }
    // What they send is no checkpoint; a log that is not served would be 404.
    expect([await statusOf(attic), await statusOf(cellar)]).toEqual([400, 400])
  })

  it('accepts eight ledger names of one node and refuses a ninth', async () => {
    const statuses: number[] = []
    for (let number = 1; number <= 9; number++) {
      origins = { [attic]: `hearthbus.local/${number}` }
      statuses.push(await statusOf(attic))
    }
    expect(statuses).toEqual([400, 400, 400, 400, 400, 400, 400, 400, 404])
  })

  it('refuses a fork after its table was emptied, also after a restart', async () => {
    expect(await addTree('a')).toBe('cosigned')
    tamper('DELETE FROM witness_checkpoint')
    // C2SP tlog-witness: a conflict answers with the size that is remembered.
    expect(await addTree('b')).toBe('409 1')
    await witness.stop()
    witness = await openWitness()
    expect(await addTree('b')).toBe('409 1')
  })

  it('refuses a fork after it was killed and its table was set back', async () => {
    expect(await addTree('a')).toBe('cosigned')
    tamper('DELETE FROM witness_checkpoint')
    const killed = witness
    witness = await openWitness()
    expect([...fixture.ledger.records()].map(({ event }) => event.kind)).not.toContain('witness.remembers')
    expect(await addTree('b')).toBe('409 1')
    await killed.stop()
  })

  it('records once in its own ledger what it cosigned', async () => {
    expect(await addTree('a')).toBe('cosigned')
    await witness.cosign()
    await witness.cosign()
    const recorded = [...fixture.ledger.records()].filter(({ event }) => event.kind === 'witness.remembers')
    const root = Buffer.from(computeLeafHash(toUtf8('a'))).toString('base64')
    expect(recorded.map(({ event }) => event)).toEqual([
      expect.objectContaining({ log: `${ORIGIN} ${attic.replace('ed25519:', '')}`, size: 1, root }),
    ])
  })

  it('refuses a stored checkpoint without its own signature', async () => {
    expect(await addTree('a')).toBe('cosigned')
    tamper('UPDATE witness_checkpoint SET note = substr(note, 1, instr(note, char(10) || char(10)) + 1)')
    await expect(addTree('b')).rejects.toThrow('cannot be read')
  })
})
