/**
 * Log succession: a ledger whose newest copy is lost continues from an older copy, as a log with another name.
 *
 *   old name   …──e56──e57──[e58 … e93]      signed, witnessed, and lost: nothing else is ever signed under this name
 *                      │
 *   new name           └──ledger.adopted──…  its tree begins with the old entries, and states where it separated
 *
 * A holder of a checkpoint of the old name can still show it, and prove that entries are missing; nobody can mistake
 * one log for the other. The order of writes: the old checkpoints leave the database first. If the process stops
 * half-way, the file still reveals the lost entries at the next start, and the succession can be repeated.
 */
import { toHex } from '../core/bytes.ts'
import { fail } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { readFileIfPresent, writeFileAtomically } from './atomic-file-store.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import { CheckpointStore } from './checkpoint-store.ts'
import { formatLedgerFinding } from './ledger-finding.ts'
import type { LedgerFinding } from './ledger-finding.ts'
import type { SigningFault } from './ledger-state.ts'
import { Ledger } from './ledger.ts'
import type { LedgerOptions } from './ledger-options.ts'
import type { LogSigner } from './note-key.ts'

export type LogAdoptionFault = SigningFault | { readonly kind: 'nothing-to-adopt' }

/** `options` are those of the old log; the signer is named after the new one. */
export async function continueTruncatedLogUnderNewName(
  options: LedgerOptions,
  signer: LogSigner,
): Promise<Result<SignedCheckpoint, LogAdoptionFault>> {
  const { database, lastSignedPath, origin } = options
  const old = await Ledger.open(options)
  const state = old.state()
  if (state.kind !== 'refusing') return fail({ kind: 'nothing-to-adopt' })
  const { fault } = state
  if (fault.kind !== 'truncated' && fault.kind !== 'diverged') return fail(fault)
  // An older copy is consistent in itself. Any other defect has nothing to do with its age, and such a log must not be
  // signed.
  const other = (await old.verify()).findings.find((finding) => !isAboutFile(finding))
  if (other !== undefined) return fail({ kind: 'damaged', reason: formatLedgerFinding(other).replace(/\.$/, '') })
  const { signedSize } = fault
  const details = {
    fault: fault.kind,
    successor_of: origin,
    size: old.size(),
    root: toHex(old.root()),
    signed_size: signedSize,
  }
  const evidence = await readFileIfPresent(lastSignedPath)
  if (evidence !== undefined) await writeFileAtomically(`${lastSignedPath}.${signedSize}`, evidence)
  await database.commit((sql) => new CheckpointStore(sql).removeAll())
  // The pin still has the old name; its file is replaced when the new log is signed.
  options.pin?.forget()
  const next = await Ledger.open({ ...options, signer, origin: signer.key.name })
  const adopted = await next.adopt(details)
  await next.flushPin()
  return adopted
}

/** The name under which a log continues, with the time of the separation. */
export function formatSuccessorOrigin(origin: string, nowMs: number): string {
  const time = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '')
  return `${origin.replace(/\/\d{8}T\d{6}Z$/, '')}/${time}`
}

function isAboutFile(finding: LedgerFinding): boolean {
  if (finding.kind !== 'tail-missing' && finding.kind !== 'root-differs') return false
  return finding.where === 'file' || finding.where.startsWith('pin ')
}
