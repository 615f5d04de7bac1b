/**
 * Ledger fork: whether this tree may still be appended to and signed. A log that signs two trees of which neither
 * extends the other has deceived somebody, so the tree must extend everything that this node is known to have signed.
 */
import { areBytesEqual } from '../core/bytes.ts'
import type { Checkpoint } from './checkpoint.ts'

export type LedgerFault =
  /** The tree ends before something that was signed: an old copy of the database was restored. */
  | { readonly kind: 'truncated'; readonly size: number; readonly signedSize: number; readonly source: ForkSource }
  /** The tree is long enough, but other entries were signed. */
  | { readonly kind: 'diverged'; readonly size: number; readonly signedSize: number; readonly source: ForkSource }
  | { readonly kind: 'last-signed-missing'; readonly path: string; readonly signedSize: number }
  | { readonly kind: 'last-signed-invalid'; readonly path: string; readonly reason: string }
  /** The tables have followed fewer entries than have changed them. */
  | { readonly kind: 'tables-behind'; readonly size: number; readonly needed: number }
  /** This node stopped and signed that; something was appended since. */
  | { readonly kind: 'behind-stop'; readonly size: number; readonly signedSize: number }
  | { readonly kind: 'damaged'; readonly reason: string }

/** Why there is no new checkpoint; a file that cannot be written stops signatures, not entries. */
export type SigningFault =
  | LedgerFault
  | { readonly kind: 'last-signed-unwritable'; readonly path: string; readonly reason: string }

export type ForkSource = 'file' | 'database' | 'tables' | 'witness'

/**
 * Accepts entries and signs, or refuses both. `damaged`: accepts, but the last verification found a defect in what is
 * stored (ADR 99).
 */
export type LedgerState =
  | { readonly kind: 'sound' }
  | { readonly kind: 'damaged'; readonly findings: number }
  | { readonly kind: 'refusing'; readonly fault: LedgerFault }

export const SOUND_LEDGER_STATE: LedgerState = { kind: 'sound' }

/** Thrown by an append while the ledger refuses, so that its transaction is undone. */
export class LedgerRefusalError extends Error {
  readonly fault: LedgerFault

  constructor(fault: LedgerFault) {
    super(formatLedgerFault(fault))
    this.name = 'LedgerRefuses'
    this.fault = fault
  }
}

export interface TreeWithSize {
  readonly size: number
  readonly rootAt: (size: number) => Uint8Array
  /** Forgets what was cached for speed. */
  readonly reread?: () => void
}

/** `undefined` when the tree extends what was signed. */
export function findLedgerFork(tree: TreeWithSize, signed: Checkpoint, source: ForkSource): LedgerFault | undefined {
  const sizes = { size: tree.size, signedSize: signed.size, source }
  if (signed.size > tree.size) return { kind: 'truncated', ...sizes }
  if (areBytesEqual(tree.rootAt(signed.size), signed.root)) return undefined
  // Nodes that were kept for speed are never synced: a power cut may have lost a part of them, which is no fork.
  tree.reread?.()
  return areBytesEqual(tree.rootAt(signed.size), signed.root) ? undefined : { kind: 'diverged', ...sizes }
}

/** What to do about a tree that does not extend what was signed. */
export const FORK_REMEDIES_TEXT =
  'Put back the newest copy of the data directory. If it is lost, stop the gateway and go on with this one as a log of ' +
  'another name: hearthbus ledger adopt --new-log. Do not edit what was signed.'
const DAMAGE_WAYS_OUT =
  'Put back the newest copy of the data directory. If it is lost, keep this data directory as evidence and start a new log ' +
  'in an empty one, under another origin; do not edit what was signed.'

/** What happened and what to do, for a person. */
export function formatLedgerFault(fault: SigningFault): string {
  switch (fault.kind) {
    case 'truncated':
      return `The ledger holds ${fault.size} entries, but this node has signed ${fault.signedSize} (${known(fault.source)}): an older copy of the database was put back, or its tail was cut off. Nothing is recorded or signed until this is settled. ${FORK_REMEDIES_TEXT}`
    case 'diverged':
      return `The first ${fault.signedSize} entries of the ledger are not the ones this node has signed (${known(fault.source)}): they were changed, or the database belongs to another history. Nothing is recorded or signed until this is settled. ${FORK_REMEDIES_TEXT}`
    case 'last-signed-missing':
      return `${fault.path} is missing, though this node has signed a ledger of ${fault.signedSize} entries: without it a database restored from a backup could not be told from the newest one. Put the file back. If you know this database to be the newest, adopt its last checkpoint (hearthbus ledger adopt).`
    case 'last-signed-invalid':
      return `${fault.path} does not hold a checkpoint of this node: ${fault.reason}. Put back the file, or the key and the name that it was signed with: where the configuration sets ledger.origin, it has to be the file's first line. If you know this database to be the newest, adopt its last checkpoint (hearthbus ledger adopt).`
    case 'last-signed-unwritable':
      return `No checkpoint was signed, because ${fault.path} could not be written first: ${fault.reason}. Entries are still recorded. Make the file writable.`
    case 'tables-behind':
      return `The database has followed the ledger up to entry ${fault.size}, but entries up to ${fault.needed} changed its tables: an older copy of the database was put back. Nothing is recorded or signed until this is settled. Put back the newest copy of the database, with its -wal file.`
    case 'behind-stop':
      return `This node stopped and signed its ledger at ${fault.signedSize} entries, but ${fault.size - fault.signedSize} more stand behind that: the node did not write them while it ran. Nothing is recorded or signed until this is settled. ${DAMAGE_WAYS_OUT}`
    default:
      return `The stored ledger is damaged: ${fault.reason}. Run hearthbus ledger verify to see the extent. ${DAMAGE_WAYS_OUT}`
  }
}

/** `undefined` for a ledger without known defects. */
export function formatLedgerState(state: LedgerState): string | undefined {
  if (state.kind === 'refusing') return formatLedgerFault(state.fault)
  if (state.kind === 'sound') return undefined
  return `The last verification found ${state.findings} thing(s) wrong with what is stored. Entries are still recorded. Run hearthbus ledger verify to see them, and put back the newest sound copy of the database.`
}

/** The same for callers that cannot do anything about it: why nothing is recorded, without paths. */
export function formatLedgerFaultBriefly({ kind }: LedgerFault): string {
  if (kind === 'truncated') return 'The ledger takes no entries: an older copy of it was put back.'
  if (kind === 'diverged') return 'The ledger takes no entries: those that it has are not the ones that were signed.'
  return 'The ledger takes no entries: it is not what was signed.'
}

function known(source: ForkSource): string {
  if (source === 'witness') return 'as a witness can show'
  if (source === 'tables') return 'or at least recorded them: the tables in the database have followed that many'
  return source === 'file' ? 'as the file beside the database says' : 'as a checkpoint in the database says'
}
