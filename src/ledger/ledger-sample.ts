/**
 * Ledger sample: a look at some entries that were drawn, each proven from its own bytes to be in the ledger as it was
 * signed.
 *
 *   checkpoint ─▶ draw over its size ─▶ entries ─▶ leaf, path, signed root, and the body where there is one
 *
 * It takes milliseconds where a verification takes seconds, and anybody with the same draw finds the same. It finds no
 * defect in the entries that were not drawn; a full verification does.
 *
 * Reads through the ledger it is given.
 */
import { toHex } from '../core/bytes.ts'
import { computeDrawnIndices, encodeRandomDrawInput } from './random-draw.ts'
import type { RandomDrawKey } from './random-draw.ts'
import { SAMPLE_ENTRY_COUNT } from './random-draw-state.ts'
import { decodeEntry } from './entry.ts'
import type { Ledger } from './ledger.ts'
import { encodeCommitmentOpening, verifyCommitmentOpening } from './body-opening.ts'
import { createLogOnlyPolicy } from './tlog-policy.ts'
import { verifyTlogProof } from './tlog-proof.ts'

const MAX_RECORDED_FINDINGS = 5

export interface LedgerSampleReport {
  /** Of the checkpoint that was drawn for. */
  readonly size: number
  /** In hexadecimal: the input of the draw, the key, the proof, and the output that it proves. */
  readonly alpha: string
  readonly publicKey: string
  readonly proof: string
  readonly output: string
  readonly entries: readonly number[]
  /** The defects, as sentences; empty when there are none. */
  readonly findings: readonly string[]
}

/** `undefined` while nothing is signed. */
export async function verifyLedgerSample(
  ledger: Ledger,
  draws: RandomDrawKey,
): Promise<LedgerSampleReport | undefined> {
  const size = ledger.latestCheckpoint()?.checkpoint.size
  if (size === undefined) return undefined
  const subject = { epoch: 0, purpose: 'sample', number: size } as const
  const { proof, beta } = draws.prove(subject)
  const entries = computeDrawnIndices(beta, size, SAMPLE_ENTRY_COUNT)
  const findings: string[] = []
  for (const seq of entries) {
    const finding = await findEntryFlaw(ledger, seq)
    if (finding !== undefined) findings.push(`Entry ${seq}: ${finding}.`)
  }
  const { house, publicKey } = draws
  return {
    size,
    alpha: toHex(encodeRandomDrawInput({ ...subject, house })),
    publicKey,
    proof,
    output: toHex(beta),
    entries,
    findings,
  }
}

/** What was drawn and found, on record. The sentences may have names in them, which can be erased. */
export async function recordLedgerSample(ledger: Ledger, report: LedgerSampleReport): Promise<void> {
  const { size, proof, output, entries, findings } = report
  const body = findings.length === 0 ? undefined : { findings: findings.slice(0, MAX_RECORDED_FINDINGS) }
  const facts = { size, proof, output, entries: [...entries], findings: findings.length }
  await ledger.append({ kind: 'ledger.sampled', ...facts }, body)
}

async function findEntryFlaw(ledger: Ledger, seq: number): Promise<string | undefined> {
  const stored = ledger.entry(seq)
  if (stored === undefined) return 'it cannot be read'
  const decoded = decodeEntry(stored.bytes)
  if (!decoded.ok || decoded.value.seq !== seq) return 'it is not an entry in its place'
  const text = await ledger.proofText(seq)
  if (!text.ok) return 'it cannot be proven from what is stored'
  if (!verifyTlogProof(text.value, stored.bytes, createLogOnlyPolicy(ledger.verifierKey)).ok)
    return 'its bytes are not those that were signed'
  if (decoded.value['body_hash'] === undefined || ledger.body(seq).kind === 'erased') return undefined
  const body = ledger.leaves.body(seq)
  if (body === undefined) return 'its content is gone, and no erasure accounts for it'
  return verifyCommitmentOpening(encodeCommitmentOpening(body), stored.bytes).ok
    ? undefined
    : 'its content is not what it commits to'
}
