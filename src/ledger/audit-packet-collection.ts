/**
 * Packet collection: the entries that belong into an audit packet, and the packet made of them.
 *
 *   task      entries with its id (steps, thoughts, sessions, calls), how the calls ended, approvals and grants they used
 *   session   likewise, and the steps of the tasks that it was about
 *   since     everything from that time on except reads and the guard's bookkeeping
 *
 * Reads through the ledger.
 */
import { setImmediate } from 'node:timers/promises'
import { fromUtf8 } from '../core/bytes.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { CALL_ENTER_KIND } from './call-entry.ts'
import { toAuditPacketJson, encodePacketProofPath } from './audit-packet.ts'
import type { AuditPacketEntry } from './audit-packet.ts'
import { formatSignedCheckpoint } from './checkpoint.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import type { LedgerEntry } from './entry.ts'
import { describeAlteredBody } from './ledger-state.ts'
import type { SigningFault } from './ledger-state.ts'
import type { Ledger } from './ledger.ts'
import { formatVerifierKey } from './note-key.ts'
import { createCommitmentOpening } from './body-opening.ts'
import type { AuditPacketScope } from './audit-packet-summary.ts'
import type { ProofCreationFault } from './proof.ts'

export type AuditPacketFault =
  | ProofCreationFault
  | SigningFault
  | { readonly kind: 'nothing-found' }
  | { readonly kind: 'nothing-signed' }
  /** There are too many entries: a shortened list would make a packet that seems complete. */
  | { readonly kind: 'too-many'; readonly most: number }

/** The fault as a sentence; faults of the ledger itself are formatted elsewhere. */
export function formatAuditPacketCollectionFault(
  fault: Extract<AuditPacketFault, { kind: 'nothing-found' | 'nothing-signed' | 'too-many' }>,
): string {
  switch (fault.kind) {
    case 'nothing-found':
      return 'Nothing is on record about it.'
    case 'nothing-signed':
      return 'Nothing is signed yet, and this credential may not have it signed.'
    default:
      return `It would have more than ${fault.most} entries. Take a shorter time, one task or one session; the whole log is \`hearthbus ledger export\`.`
  }
}

export interface AuditPacketOptions {
  /** The size of the checkpoint that the reader has saved. */
  readonly fromSize?: number | undefined
  /** Whether the entry, and its body, may be shown to the caller. */
  readonly mayRead: (entry: LedgerEntry) => boolean
  readonly mayOpen: (entry: LedgerEntry) => boolean
  /** `existing`: the caller may not cause a new signature, so an existing checkpoint is used. */
  readonly under?: 'existing' | undefined
}

const MAX_PACKET_ENTRIES = 5_000
const PIECE = 1_024
/** Bookkeeping entries that follow from the calls beside them. */
const BOOKKEEPING = /^(?:key|actuator|clock)\./

export async function collectAuditPacket(
  ledger: Ledger,
  scope: AuditPacketScope,
  options: AuditPacketOptions,
): Promise<Result<JsonObject, AuditPacketFault>> {
  const found = scope.since === undefined ? workEntries(ledger, scope) : await entriesSince(ledger, scope.since)
  if (found === undefined) return fail({ kind: 'too-many', most: MAX_PACKET_ENTRIES })
  const all = withErasures(ledger, found)
  if (all.length === 0) return fail({ kind: 'nothing-found' })
  if (all.length > MAX_PACKET_ENTRIES) return fail({ kind: 'too-many', most: MAX_PACKET_ENTRIES })
  const latest = options.under === 'existing' ? ledger.latestCheckpoint() : undefined
  const signed = options.under === 'existing' ? ok(latest) : await ledger.checkpoint()
  if (!signed.ok) return signed
  if (signed.value === undefined) return fail({ kind: 'nothing-signed' })
  return packetUnder(ledger, signed.value, { scope, all, options })
}

function packetUnder(
  ledger: Ledger,
  signed: SignedCheckpoint,
  { scope, all, options }: { scope: AuditPacketScope; all: readonly LedgerEntry[]; options: AuditPacketOptions },
): Result<JsonObject, AuditPacketFault> {
  const { size } = signed.checkpoint
  const shown = all.filter((entry) => entry.seq < size && options.mayRead(entry))
  const entries: AuditPacketEntry[] = []
  for (const entry of shown) {
    if (options.mayOpen(entry) && ledger.body(entry.seq).kind === 'altered') return fail(describeAlteredBody(entry.seq))
    const inclusion = ledger.inclusion(entry.seq, size)
    if (!inclusion.ok) return inclusion
    const leaf = fromUtf8(ledger.entry(entry.seq)?.bytes ?? new Uint8Array(0)) ?? ''
    const path = encodePacketProofPath(inclusion.value.path)
    entries.push({ index: entry.seq, leaf, path, ...contentOf(ledger, entry, options) })
  }
  const { fromSize } = options
  const consistency = fromSize === undefined ? undefined : ledger.consistency(fromSize, size)
  if (consistency?.ok === false) return consistency
  return ok(
    toAuditPacketJson({
      scope,
      origin: signed.checkpoint.origin,
      verifierKey: formatVerifierKey(ledger.verifierKey),
      checkpoint: formatSignedCheckpoint(signed),
      ...(consistency === undefined || fromSize === undefined
        ? {}
        : { consistency: { from_size: fromSize, path: encodePacketProofPath(consistency.value.path) } }),
      entries,
      leftOut: all.length - shown.length,
    }),
  )
}

function contentOf(
  ledger: Ledger,
  entry: LedgerEntry,
  { mayOpen }: AuditPacketOptions,
): Pick<AuditPacketEntry, 'opening' | 'withheld'> {
  if (entry['body_hash'] === undefined) return {}
  if (!mayOpen(entry)) return { withheld: 'not-shown' }
  const stored = ledger.opening(entry.seq)
  return stored === undefined ? { withheld: 'erased' } : { opening: createCommitmentOpening(stored) }
}

function workEntries(
  ledger: Ledger,
  { task_id: taskId, session_id: sessionId }: AuditPacketScope,
): readonly LedgerEntry[] {
  const own = ledger.entriesOfWork({
    ...(taskId === undefined ? {} : { taskId }),
    ...(sessionId === undefined ? {} : { sessionId }),
  })
  const tasks = new Set(sessionId === undefined ? [] : own.flatMap((entry) => textOf(entry['task_id'])))
  const steps = [...tasks].flatMap((id) =>
    ledger.entriesOfWork({ taskId: id }).filter(({ kind }) => kind.startsWith('task.')),
  )
  return withConsents(ledger, inOrder([...own, ...steps]))
}

/**
 * The entries since a time; `undefined` when there are too many. They are read from the end. The time of an entry is
 * only advisory, so reading stops at the first batch that contains only older entries.
 */
async function entriesSince(ledger: Ledger, since: string): Promise<readonly LedgerEntry[] | undefined> {
  const found: LedgerEntry[] = []
  for (let to = ledger.size(); to > 0; to -= PIECE) {
    const piece = ledger.entries(Math.max(0, to - PIECE), Math.min(PIECE, to)).map(({ entry }) => entry)
    const newer = piece.filter(({ at }) => at >= since)
    found.push(...newer.filter((entry) => belongsInPacket(ledger, entry)))
    if (found.length > MAX_PACKET_ENTRIES) return undefined
    if (newer.length === 0) break
    await setImmediate()
  }
  return inOrder(found)
}

function belongsInPacket(ledger: Ledger, entry: LedgerEntry): boolean {
  if (BOOKKEEPING.test(entry.kind)) return false
  const enter = typeof entry['call'] === 'number' ? ledger.entry(entry['call'])?.entry : entry
  return enter?.kind !== CALL_ENTER_KIND || (enter['effect'] !== 'reads' && enter['effect'] !== undefined)
}

/** Adds the approvals and grants that the calls among them requested or used. */
function withConsents(ledger: Ledger, entries: readonly LedgerEntry[]): readonly LedgerEntry[] {
  const ids = new Set(entries.flatMap((entry) => [...textOf(entry['approval']), ...textOf(entry['grant'])]))
  return inOrder([...entries, ...[...ids].flatMap((id) => ledger.entriesAbout(id))])
}

/** Adds the entries that record the erasure of missing content. */
function withErasures(ledger: Ledger, entries: readonly LedgerEntry[]): readonly LedgerEntry[] {
  const gone = entries.filter(({ seq, body_hash: hash }) => hash !== undefined && ledger.opening(seq) === undefined)
  return gone.length === 0 ? entries : inOrder([...entries, ...gone.flatMap(({ seq }) => ledger.entriesAbout(seq))])
}

function inOrder(entries: readonly LedgerEntry[]): readonly LedgerEntry[] {
  return [...new Map(entries.map((entry) => [entry.seq, entry])).values()].toSorted((one, other) => one.seq - other.seq)
}

function textOf(value: unknown): readonly string[] {
  return typeof value === 'string' ? [value] : []
}
