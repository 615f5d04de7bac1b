/**
 * Ledger tools: the handlers of the tools that show the ledger.
 *
 * Reads through the ledger.
 */
import type { Caller, Outcome } from '../../bus/call.ts'
import { toCallerKey } from '../../bus/caller.ts'
import { EFFECTS } from '../../bus/capability.ts'
import type { Capability } from '../../bus/capability.ts'
import { toBase64, fromUtf8, toHex } from '../../core/bytes.ts'
import type { Fault } from '../../core/fault.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import {
  hasRestrictedCredential,
  mayReadRecord,
  mayAddToNodesOwnRecords,
} from '../../guard/administration-and-record-rights.ts'
import { formatSignedCheckpoint } from '../../ledger/checkpoint.ts'
import type { RandomDrawKey } from '../../ledger/random-draw.ts'
import type { LedgerEntry } from '../../ledger/entry.ts'
import { formatLedgerFinding } from '../../ledger/ledger-finding.ts'
import { formatLedgerFault, explainLedgerDefects } from '../../ledger/ledger-state.ts'
import type { SigningFault } from '../../ledger/ledger-state.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { formatVerifierKey } from '../../ledger/note-key.ts'
import { createCommitmentOpening } from '../../ledger/body-opening.ts'
import type { ProofCreationFault } from '../../ledger/proof.ts'
import { recordLedgerSample, verifyLedgerSample } from '../../ledger/ledger-sample.ts'
import { parseTlogProof } from '../../ledger/tlog-proof.ts'
import { computeLeafHash } from '../../ledger/tree.ts'
import { createRuntimeOutcome } from '../runtime-dependencies.ts'
import { createRuntimeFault } from '../faults.ts'
import type { CheckpointProofSource } from '../proofs/audit-session-tools.ts'
import {
  ledgerCheckpointTool,
  ledgerConsistencyTool,
  ledgerProofTool,
  ledgerTraceTool,
  ledgerVerifyTool,
} from './ledger-definitions.ts'

const NOTHING_SIGNED = createRuntimeFault(
  'ERR_OUT_OF_RANGE',
  'Nothing is signed yet, and this credential may not have it signed.',
)

export function createLedgerTools(ledger: Ledger, draws: RandomDrawKey): readonly Capability[] {
  const verifierKey = formatVerifierKey(ledger.verifierKey)
  return [
    ledgerCheckpointTool.handledBy(async (_, { caller }) => {
      // A caller that may add no records is shown the last checkpoint.
      const signed = mayAddToNodesOwnRecords(caller) ? await ledger.checkpoint() : ok(ledger.latestCheckpoint())
      if (!signed.ok) return fail(toLedgerToolFault(signed.fault))
      if (signed.value === undefined) return fail(NOTHING_SIGNED)
      const { origin, size, root } = signed.value.checkpoint
      return createRuntimeOutcome({
        checkpoint: formatSignedCheckpoint(signed.value),
        origin,
        size,
        root: toBase64(root),
        verifier_key: verifierKey,
        // The first signature is the log's own.
        cosignatures: signed.value.note.signatures.length - 1,
      })
    }),

    ledgerProofTool.handledBy(async ({ log_index: index, with_body: withBody }, { caller }) => {
      const under = mayAddToNodesOwnRecords(caller) ? undefined : 'existing'
      const proof = await ledger.proofText(index, {
        withBody: withBody && mayReadEntryBody(ledger, index, caller),
        under,
      })
      if (!proof.ok) return fail(toLedgerToolFault(proof.fault))
      const entry = ledger.entry(index)
      // The bytes as text: a verifier must hash what was hashed, not the output of a parser.
      const leaf = entry && fromUtf8(entry.bytes)
      if (entry === undefined || leaf === undefined)
        return fail(
          createRuntimeFault('ERR_LEDGER_UNSOUND', `Entry ${index} cannot be read any more; run ledger_verify.`),
        )
      const stored = ledger.opening(index)
      return createRuntimeOutcome({
        log_index: index,
        leaf,
        leaf_hash: toHex(computeLeafHash(entry.bytes)),
        proof: proof.value,
        verifier_key: verifierKey,
        body: ledger.body(index).kind,
        ...(withBody && stored !== undefined ? { opening: { ...createCommitmentOpening(stored) } } : {}),
      })
    }),

    ledgerTraceTool.handledBy(async ({ trace_id: traceId }, { caller }) =>
      createRuntimeOutcome({
        trace_id: traceId,
        origin: ledger.verifierKey.name,
        entries: readableEntries(ledger.entriesOfTrace(traceId), caller).map((entry) => ({
          log_index: entry.seq,
          at: entry.at,
          kind: entry.kind,
          entry,
        })),
      }),
    ),

    ledgerConsistencyTool.handledBy(async ({ from_size: from, to_size: to }) => {
      const consistency = ledger.consistency(from, to)
      if (!consistency.ok) return fail(toLedgerToolFault(consistency.fault))
      const { fromRoot, toRoot, path } = consistency.value
      return createRuntimeOutcome({
        from_size: from,
        to_size: consistency.value.to,
        from_root: toBase64(fromRoot),
        to_root: toBase64(toRoot),
        proof: path.map(toBase64),
      })
    }),

    ledgerVerifyTool.handledBy(async ({ full, sample }, { signal, caller }) => {
      if (sample === true) return sampleNow(ledger, draws, mayAddToNodesOwnRecords(caller))
      const report = await verify(ledger, !full, signal)
      if (!report.ok) return report
      const { from, size, root, findings, more, erased, compared } = report.value
      const state = ledger.state()
      const reason = explainLedgerDefects(state)
      return createRuntimeOutcome({
        valid: findings.length === 0 && state.kind === 'sound',
        from,
        size,
        root: root === undefined ? null : toBase64(root),
        findings: findings.map(formatLedgerFinding),
        more_findings: more,
        erased_count: erased,
        compared,
        state: state.kind,
        ...(reason === undefined ? {} : { state_reason: reason }),
      })
    }),
  ]
}

/** Checks some drawn entries, and records the result if the caller may add records. */
async function sampleNow(ledger: Ledger, draws: RandomDrawKey, mayRecord: boolean): Promise<Outcome> {
  const signed = mayRecord ? await ledger.checkpoint() : ok(undefined)
  if (!signed.ok) return fail(toLedgerToolFault(signed.fault))
  const report = await verifyLedgerSample(ledger, draws)
  if (report === undefined) return fail(NOTHING_SIGNED)
  if (mayRecord) await recordLedgerSample(ledger, report)
  const state = ledger.state()
  const { size, alpha, publicKey, proof, output, entries, findings } = report
  return createRuntimeOutcome({
    valid: findings.length === 0 && state.kind === 'sound',
    from: 0,
    size,
    root: null,
    findings: [...findings],
    more_findings: 0,
    erased_count: 0,
    compared: false,
    state: state.kind,
    draw: { alpha_hex: alpha, public_key_hex: publicKey, proof_hex: proof, output_hex: output, entries: [...entries] },
  })
}

/** Whether the caller may see the body of an entry: of its own calls, and of changes that it may read about. */
export function mayReadEntryBody(ledger: Ledger, seq: number, caller: Caller): boolean {
  const entry = ledger.entry(seq)?.entry
  if (entry === undefined || caller.kind === 'peer') return false
  const enter = typeof entry['call'] === 'number' ? ledger.entry(entry['call'])?.entry : entry
  const [principal, effect, target] = [enter?.['principal'], entry['effect'] ?? enter?.['effect'], entry['target']]
  return mayReadRecord(caller, {
    principal: typeof principal === 'string' ? principal : '',
    effect: EFFECTS.find((known) => known === effect),
    target: typeof target === 'string' ? target : undefined,
    inProfile: !hasRestrictedCredential(caller),
  })
}

/** A restricted credential sees its own calls only, because the entries are about the whole house. */
function readableEntries(entries: readonly LedgerEntry[], caller: Caller): readonly LedgerEntry[] {
  if (!hasRestrictedCredential(caller)) return entries
  const own = new Set(
    entries
      .filter(({ kind, principal }) => kind === 'call.enter' && principal === toCallerKey(caller))
      .map(({ seq }) => seq),
  )
  return entries.filter(({ seq, call }) => own.has(seq) || (typeof call === 'number' && own.has(call)))
}

/** Whether the caller may read one entry. */
export function mayReadEntry(ledger: Ledger, entry: LedgerEntry, caller: Caller): boolean {
  if (!hasRestrictedCredential(caller)) return true
  const enter = typeof entry['call'] === 'number' ? ledger.entry(entry['call'])?.entry : entry
  return enter?.['principal'] === toCallerKey(caller)
}

/** For merkle_finalize: signs if necessary, and extracts the checkpoint from the proof. */
export function createCheckpointProofSource(ledger: Ledger): CheckpointProofSource {
  return {
    proofOf: async (logIndex) => {
      const proof = await ledger.proofText(logIndex)
      if (!proof.ok) return fail(toLedgerToolFault(proof.fault))
      const parsed = parseTlogProof(proof.value)
      if (!parsed.ok) throw new Error('the ledger gave a proof that cannot be read')
      return ok({ checkpoint: parsed.value.checkpoint, proof: proof.value })
    },
  }
}

/** Verifies. The ledger throws when the signal aborts, which becomes a fault here. */
async function verify(
  ledger: Ledger,
  incremental: boolean,
  signal: AbortSignal,
): Promise<Result<Awaited<ReturnType<Ledger['verify']>>, Fault>> {
  try {
    return ok(await ledger.verify({ incremental, signal }))
  } catch (error) {
    if (!signal.aborted) throw error
    return fail({ kind: 'cancelled', message: 'The caller went away before the ledger was verified.' })
  }
}

/** Only numbers that do not exist are the caller's mistake; other faults are the ledger's state. */
export function toLedgerToolFault(reason: ProofCreationFault | SigningFault): Fault {
  switch (reason.kind) {
    case 'no-such-entry':
      return createRuntimeFault(
        'ERR_OUT_OF_RANGE',
        `The ledger has ${reason.size} entries; there is no entry ${reason.seq}.`,
      )
    case 'no-such-size':
      return createRuntimeFault(
        'ERR_OUT_OF_RANGE',
        `A ledger of ${reason.size} entries was never one of ${reason.asked}.`,
      )
    default:
      return createRuntimeFault('ERR_LEDGER_UNSOUND', formatLedgerFault(reason))
  }
}
