/**
 * Unsigned tail: the entries after the last signature that a node finds when it starts, and whether they are accepted.
 *
 *   signed ────────────┤ unsigned, each group authenticated │   after a crash: recorded, then signed
 *   signed … node.stop ┤ anything                           │   after a stop: refused, unless the pin has it
 */
import { decodeEntry } from './entry.ts'
import type { LedgerFinding } from './ledger-finding.ts'
import type { LedgerFault } from './ledger-state.ts'

export interface UnsignedTailSummary {
  readonly from: number
  readonly entries: number
  /** How many entries of each kind. */
  readonly kinds: Readonly<Record<string, number>>
  /** What was cut off: bytes of an incomplete group, and entries that the tables never committed. */
  readonly torn: number
  readonly uncommitted: number
}

export interface UnsignedTailReader {
  readonly size: number
  readonly tailFirst: number
  readonly lost: { readonly torn: number; readonly uncommitted: number }
  readonly entries: (from: number, limit: number) => readonly { readonly bytes: Uint8Array }[]
}

export const NODE_STOP_KIND = 'node.stop'

/** Describes the unsigned tail; `undefined` when nothing follows the signature and nothing was cut off. */
export function summarizeUnsignedTail(log: UnsignedTailReader, signed: number): UnsignedTailSummary | undefined {
  const entries = log.size - signed
  if (entries <= 0 && log.lost.torn === 0 && log.lost.uncommitted === 0) return undefined
  const kinds: Record<string, number> = {}
  for (const { bytes } of log.entries(signed, Math.max(0, entries))) {
    const decoded = decodeEntry(bytes)
    const kind = decoded.ok ? decoded.value.kind : 'unreadable'
    kinds[kind] = (kinds[kind] ?? 0) + 1
  }
  return { from: signed, entries: Math.max(0, entries), kinds, ...log.lost }
}

export const SIGNING_FAILED_ENTRY_KIND = 'signing.failed'

/**
 * A finding about entries that are unsigned although the next signature is overdue: signing failed, or the node stopped
 * and could not sign. `undefined` for any other tail.
 */
export function findOverdueUnsignedEntries(log: UnsignedTailReader, signed: number): LedgerFinding | undefined {
  const decoded = log.entries(signed, Math.max(0, log.size - signed)).map(({ bytes }) => decodeEntry(bytes))
  const kinds = decoded.map((entry) => (entry.ok ? entry.value.kind : undefined))
  const tail = { kind: 'unsigned', from: signed, to: log.size - 1 } as const
  if (kinds.at(-1) === NODE_STOP_KIND) return { ...tail, reason: 'the node stopped and could not sign them' }
  return kinds.includes(SIGNING_FAILED_ENTRY_KIND) ? { ...tail, reason: 'signing fails' } : undefined
}

/**
 * Why the entries after the signature are not accepted, or `undefined`. The pin vouches for the first `pinned` entries: a
 * node that is killed before its first signature has them there.
 */
export function findUnsignedTailGapOrStopFault(
  log: UnsignedTailReader,
  signed: number,
  pinned: number,
): LedgerFault | undefined {
  if (log.tailFirst > signed)
    return {
      kind: 'damaged',
      reason: `entries ${signed} to ${log.tailFirst - 1} are covered neither by a signature nor by the log's tail`,
    }
  const [last] = signed > 0 && log.size > Math.max(signed, pinned) ? log.entries(signed - 1, 1) : []
  const decoded = last && decodeEntry(last.bytes)
  if (decoded?.ok === true && decoded.value.kind === NODE_STOP_KIND)
    return { kind: 'behind-stop', size: log.size, signedSize: signed }
  return undefined
}
