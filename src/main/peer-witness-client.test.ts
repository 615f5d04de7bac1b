import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LedgerFixture } from '../../test/ledger-fixture.ts'
import { identityOf } from '../../test/mesh-keys.ts'
import { silentLogger } from '../core/logger.ts'
import type { PeerWitness, PeerWitnessDependencies } from './peer-witness-client.ts'
import { openPeerWitness } from './peer-witness-client.ts'

const [attic, cellar] = [identityOf(2).id, identityOf(3).id]
let fixture: LedgerFixture
let origins: Record<string, string>
let witness: PeerWitness

beforeEach(async () => {
  fixture = await LedgerFixture.open()
  origins = {}
  const mesh = {
    get peers() {
      return Object.entries(origins).map(([nodeId, ledgerOrigin]) => ({ nodeId, manifest: { ledgerOrigin } }))
    },
  } as unknown as PeerWitnessDependencies['mesh']
  witness = openPeerWitness({
    path: join(fixture.directory, 'mesh-witness.db'),
    identity: identityOf(1),
    ledger: fixture.ledger,
    mesh,
    logger: silentLogger,
  })
})
afterEach(() => {
  witness.close()
  return fixture.remove()
})

const statusOf = async (node: string): Promise<number> => (await witness.service.addCheckpoint(node, '')).status

describe('a peer witness', () => {
  it('serves nodes whose ledgers have the same name', async () => {
    origins = { [attic]: 'hearthbus.local/home', [cellar]: 'hearthbus.local/home' }
    // What they send is no checkpoint; a log that is not served would be 404.
    expect([await statusOf(attic), await statusOf(cellar)]).toEqual([400, 400])
  })

  it('remembers eight names of the ledger of one node, and takes no ninth', async () => {
    const statuses: number[] = []
    for (let number = 1; number <= 9; number++) {
      origins = { [attic]: `hearthbus.local/${number}` }
      statuses.push(await statusOf(attic))
    }
    expect(statuses).toEqual([400, 400, 400, 400, 400, 400, 400, 400, 404])
  })
})
