import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LedgerFixture } from '../../test/ledger-fixture.ts'
import { identityOf } from '../../test/mesh-keys.ts'
import { toUtf8 } from '../core/bytes.ts'
import { silentLogger } from '../core/logger.ts'
import { guardProjection } from '../guard/guard-state.ts'
import { formatCheckpoint, formatSignedCheckpoint } from '../ledger/checkpoint.ts'
import { createLogSigner } from '../ledger/note-key.ts'
import { signNote } from '../ledger/signed-note.ts'
import { computeLeafHash } from '../ledger/tree.ts'
import { createConsensusGossip } from './consensus-gossip-client.ts'
import type { ConsensusGossip, ConsensusGossipDependencies } from './consensus-gossip-client.ts'

const [self, attic, shed] = [identityOf(1), identityOf(2), identityOf(3)]
const ORIGIN = 'hearthbus.local/home'
const DAY_MS = 86_400_000
let fixture: LedgerFixture

beforeEach(async () => {
  fixture = new LedgerFixture()
  fixture.projections = [guardProjection]
  await fixture.open()
})
afterEach(() => fixture.remove())

/** What a node has in memory only begins anew with it. */
function openGossip(): ConsensusGossip {
  return createConsensusGossip({
    ledger: fixture.ledger,
    clock: fixture.clock,
    logger: silentLogger,
    witness: () => undefined,
    mesh: {
      peers: [],
      community: { members: new Map([attic, shed].map(({ id }) => [id, {}])), revoked: new Map() },
    } as unknown as ConsensusGossipDependencies['mesh'],
    guard: {
      quorums: { self: { voter: `node:${self.id}`, key: '00'.repeat(32) }, list: () => [] },
      approvals: { get: () => undefined },
    } as unknown as ConsensusGossipDependencies['guard'],
  })
}

/** Two checkpoints of one size with different roots, for each of these sizes. */
async function contradict(
  gossip: ConsensusGossip,
  { id, privateKey }: typeof attic,
  from: number,
  count: number,
): Promise<void> {
  const signer = createLogSigner(ORIGIN, privateKey)
  for (let size = from; size < from + count; size++) {
    const events = ['a', 'b'].map((entry) => {
      const checkpoint = { origin: ORIGIN, size, root: computeLeafHash(toUtf8(entry)), extensions: [] }
      const note = signNote(formatCheckpoint(checkpoint), [signer])
      return { kind: 'checkpoint', node: id, note: formatSignedCheckpoint({ checkpoint, note }) }
    })
    await gossip.answer(id, { events })
  }
}

function recorded({ id }: typeof attic): number {
  return [...fixture.ledger.records()].filter(
    ({ event }) => event.kind === 'consensus.conflict' && event['node'] === id,
  ).length
}

describe('contradictions of one node', () => {
  it('are recorded 32 times in thirty days, also after a restart', async () => {
    await contradict(openGossip(), attic, 1, 40)
    expect(recorded(attic)).toBe(32)
    await fixture.reopen()
    const again = openGossip()
    await contradict(again, attic, 101, 8)
    expect(recorded(attic)).toBe(32)
    await contradict(again, shed, 1, 2)
    expect(recorded(shed)).toBe(2)
    fixture.clock.advance(30 * DAY_MS)
    await contradict(again, attic, 201, 8)
    expect(recorded(attic)).toBe(40)
  })
})
