import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LedgerFixture } from '../../test/ledger-fixture.ts'
import { identityOf } from '../../test/mesh-keys.ts'
import { silentLogger } from '../core/logger.ts'
import type { PeerWitness, PeerWitnessParts } from './peer-witness-client.ts'
import { openPeerWitness } from './peer-witness-client.ts'

const [attic, cellar] = [identityOf(2).id, identityOf(3).id]
let fixture: LedgerFixture
let warnings: string[]
let origins: Record<string, string>
let witness: PeerWitness

beforeEach(async () => {
  fixture = await LedgerFixture.open()
  warnings = []
  origins = {}
  const mesh = {
    get peers() {
      return Object.entries(origins).map(([nodeId, ledgerOrigin]) => ({ nodeId, manifest: { ledgerOrigin } }))
    },
  } as unknown as PeerWitnessParts['mesh']
  witness = openPeerWitness({
    path: join(fixture.directory, 'mesh-witness.db'),
    identity: identityOf(1),
    ledger: fixture.ledger,
    mesh,
    logger: { ...silentLogger, warn: (_, message) => void warnings.push(message) },
  })
})
afterEach(() => {
  witness.close()
  return fixture.remove()
})

const statusOf = async (node: string): Promise<number> => (await witness.desk.addCheckpoint(node, '')).status

describe('a peer witness', () => {
  it('says once that two nodes call their ledgers the same, however often they ask', async () => {
    origins = { [attic]: 'hearthbus.local/home', [cellar]: 'hearthbus.local/home' }
    expect([await statusOf(attic), await statusOf(cellar), await statusOf(cellar), await statusOf(cellar)]).toEqual([
      400, 404, 404, 404,
    ])
    expect(warnings).toEqual([
      'two nodes call their ledgers the same, and only the first is cosigned here; a ledger is called after the node.name of its first start',
    ])
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
