/**
 * The witness of a quorum is drawn. Which one it has to be is computed here by the published rule (the smallest SHA-256
 * of output and key) from the proof on record, and cosignatures are real ones of real keys.
 */
import { createHash, generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { actuator, around, assessedOffer, callOf, openHouse, TEST_VOTING } from '../../test/guard-house.ts'
import type { GuardHouse } from '../../test/guard-house.ts'
import { fromHex } from '../core/bytes.ts'
import { formatCheckpoint } from '../ledger/checkpoint.ts'
import { randomDrawProjection } from '../ledger/random-draw-state.ts'
import { verifyVrfProof } from '../ledger/ecvrf.ts'
import { createCosigner, formatVerifierKey } from '../ledger/note-key.ts'
import type { NoteSigner } from '../ledger/note-key.ts'
import { formatNote, signNote } from '../ledger/signed-note.ts'
import { ProjectionRuleVerification } from '../ledger/projection.ts'
import type { LedgerEntry } from '../ledger/entry.ts'
import type { CosignedCheckpointReader } from './quorum-round-service.ts'
import type { QuorumRoundRecord } from './quorum-round-terms.ts'

const HOUR_MS = 3_600_000
const offer = { ...assessedOffer('sensitive', () => ({ target: 'lock:1' })), name: 'test.lock' }
const witnesses = ['attic', 'shed', 'barn'].map((name) => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const signer = createCosigner(`example.org/${name}`, privateKey, () => 1_700_000_000_000)
  const nodeId = `ed25519:${publicKey.export({ format: 'jwk' }).x ?? ''}`
  return { signer, vkey: formatVerifierKey(signer.key), nodeId }
})
const VKEYS = witnesses.map(({ vkey }) => vkey).toSorted()

function house(): GuardHouse & Disposable {
  const ownerRules = [{ tool: 'test.lock', says: 'quorum', voters: ['anna', 'ben'], need: 2 } as const]
  return openHouse({ ownerRules }, undefined, ['anna', 'ben'], { ...TEST_VOTING, witnesses: () => VKEYS })
}

async function reachQuorum(at: GuardHouse): Promise<QuorumRoundRecord> {
  const outcome = await around(at.guard, callOf(offer, { to: 'open' }), offer, actuator().proceed)
  const id = outcome.ok ? '' : (outcome.fault.details?.['approval_id'] as string)
  for (const name of ['anna', 'ben'])
    await at.guard.approvals.approve(id, { kind: 'principal', id: name, role: 'approver' })
  return roundOf(at, id)
}

function roundOf({ guard }: GuardHouse, id: string): QuorumRoundRecord {
  const round = guard.quorums.get(id)
  if (round === undefined) throw new Error('no round')
  return round
}

const NOTHING: CosignedCheckpointReader = { size: undefined, by: () => undefined }

/** What these have cosigned, at a size. */
function cosignedBy(signers: readonly NoteSigner[], size: number): CosignedCheckpointReader {
  const text = formatCheckpoint({ origin: 'example.org/log', size, root: new Uint8Array(32), extensions: [] })
  return {
    size,
    by: (vkey) => {
      const signer = signers.find(({ key }) => formatVerifierKey(key) === vkey)
      return signer && { size, note: formatNote(signNote(text, [signer])) }
    },
  }
}

const signerOf = (vkey: string | undefined): NoteSigner =>
  witnesses.find((each) => each.vkey === vkey)?.signer ?? expect.unreachable()

/** By the rule of docs/protocols/consensus.md, with nothing of ours but the verification of the proof. */
function expectedOrder(at: GuardHouse, { id, epoch }: QuorumRoundRecord): readonly string[] {
  const drawn = at.events('consensus.drawn').find(({ approval }) => approval === id)
  const event = at.events('approval.requested').find(({ approval }) => approval === id)
  const alpha = `{"draw":"hearthbus/vrf/v1","epoch":${epoch},"house":"${TEST_VOTING.house}","number":${event?.seq},"purpose":"witness"}`
  const beta = verifyVrfProof(
    fromHex(TEST_VOTING.draws.publicKey),
    Buffer.from(alpha),
    fromHex(drawn?.['proof'] as string),
  )
  if (beta === undefined) throw new Error('the proof does not hold')
  const rank = (vkey: string): string => createHash('sha256').update(beta).update(vkey).digest('hex')
  return VKEYS.toSorted((left, right) => (rank(left) < rank(right) ? -1 : 1))
}

describe('witness of a quorum', () => {
  it('is drawn at random, and only its cosignature makes the round HARD', async () => {
    using at = house()
    const round = await reachQuorum(at)
    await at.guard.quorums.finalize(NOTHING)
    const [first, second, third] = expectedOrder(at, round)
    expect(roundOf(at, round.id).draw?.order).toEqual([first, second, third])
    const size = (round.quorumSeq ?? 0) + 1
    await at.guard.quorums.finalize(cosignedBy([signerOf(second), signerOf(third)], size))
    expect(roundOf(at, round.id).level).toBe('QUORUM')
    await at.guard.quorums.finalize(cosignedBy([signerOf(first)], size))
    expect(roundOf(at, round.id)).toMatchObject({ level: 'HARD', hardWitness: first })
    expect(roundOf(at.afterPowerCut(), round.id)).toMatchObject({ level: 'HARD', hardWitness: first })
  })

  it('is replaced by the next one after an hour, or at once if it was revoked', async () => {
    using at = house()
    const round = await reachQuorum(at)
    await at.guard.quorums.finalize(NOTHING)
    const [first, second, third] = expectedOrder(at, round)
    const cosigned = cosignedBy([signerOf(second), signerOf(third)], (round.quorumSeq ?? 0) + 1)
    at.clock.advance(HOUR_MS - 1)
    await at.guard.quorums.finalize(cosigned)
    expect(roundOf(at, round.id).level).toBe('QUORUM')
    at.clock.advance(1)
    await at.guard.quorums.finalize(cosigned)
    expect(roundOf(at, round.id)).toMatchObject({ level: 'HARD', hardWitness: second })

    using other = house()
    const again = await reachQuorum(other)
    await other.guard.quorums.finalize(NOTHING)
    const [gone, next] = expectedOrder(other, again)
    expect(gone === undefined || first === undefined).toBe(false)
    const revoked = witnesses.filter(({ vkey }) => vkey === gone).map(({ nodeId }) => nodeId)
    await other.database.commit(() => other.log.appendIn({ kind: 'community.changed', community_id: 'c', revoked }))
    await other.guard.quorums.finalize(cosignedBy([signerOf(gone)], (again.quorumSeq ?? 0) + 1))
    expect(roundOf(other, again.id).level).toBe('QUORUM')
    await other.guard.quorums.finalize(cosignedBy([signerOf(next)], (again.quorumSeq ?? 0) + 1))
    expect(roundOf(other, again.id)).toMatchObject({ level: 'HARD', hardWitness: next })
  })

  it('cannot be forged: a wrong draw or cosignature is refused when it is appended', async () => {
    using at = house()
    const round = await reachQuorum(at)
    const append = (event: { readonly kind: string }): Promise<unknown> =>
      at.database.commit(() => at.log.appendIn(event))
    const { proof } = TEST_VOTING.draws.prove({ epoch: 7, purpose: 'sample', number: 1 })
    const size = (round.quorumSeq ?? 0) + 1
    const note = (signer: NoteSigner, at_ = size): string =>
      cosignedBy([signer], at_).by(formatVerifierKey(signer.key), 0)?.note ?? ''
    const drawn = { kind: 'consensus.drawn', approval: round.id, epoch: 7, proof }
    await expect(append({ ...drawn, number: 999, witness: VKEYS[0] } as never)).rejects.toThrow(/number/)
    await expect(append({ ...drawn, number: 1, proof: 'ff', witness: VKEYS[0] } as never)).rejects.toThrow(
      /number|proof/,
    )
    const final = { kind: 'consensus.final', approval: round.id, level: 'HARD', size }
    await expect(append(final as never)).rejects.toThrow(/no witness was drawn/)
    await at.guard.quorums.finalize(NOTHING)
    await expect(append(drawn as never)).rejects.toThrow(/nothing to draw/)
    const [first, second] = expectedOrder(at, round)
    const attempts: readonly object[] = [
      final,
      { ...final, witness: second, note: note(signerOf(second)) },
      { ...final, witness: first, note: note(signerOf(second)) },
      { ...final, witness: first, note: note(signerOf(first), size + 5) },
      { ...final, witness: first, note: note(signerOf(first)).replace('log\n', 'lag\n') },
      { ...final, witness: first, note: 'nonsense' },
      { ...final, size: size - 1, witness: first, note: note(signerOf(first), size - 1) },
    ]
    for (const attempt of attempts) await expect(append(attempt as never)).rejects.toThrow(/cannot follow/)
    expect(roundOf(at, round.id).level).toBe('QUORUM')
  })

  it('is checked by the proof of its draw when the log is verified', async () => {
    using at = house()
    await reachQuorum(at)
    await at.guard.quorums.finalize(NOTHING)
    const start = { v: 1, seq: 0, at: '2026-01-01T00:00:00.000Z', kind: 'node.start', node: TEST_VOTING.house } as const
    const findings = (key: string, change: (entry: LedgerEntry) => object = (entry) => entry): readonly string[] => {
      const audit = new ProjectionRuleVerification([randomDrawProjection])
      audit.read({ ...start, vrf_key: key })
      for (const entry of at.events('consensus.drawn'))
        audit.read({ ...(entry as unknown as LedgerEntry), ...change(entry as unknown as LedgerEntry) })
      return audit.unlawful.map(({ why }) => why)
    }
    const { publicKey } = TEST_VOTING.draws
    expect(findings(publicKey)).toEqual([])
    const other = TEST_VOTING.draws.prove({ epoch: 8, purpose: 'witness', number: 1 }).proof
    expect(findings(publicKey, () => ({ proof: other }))).toEqual(['its proof does not hold'])
    expect(findings(publicKey, ({ number }) => ({ number: Number(number) + 1 }))).toEqual(['its proof does not hold'])
    // RFC 8032's second key.
    expect(findings('3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c')).toEqual([
      'its proof does not hold',
    ])
  })
})
