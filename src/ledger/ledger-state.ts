/**
 * Ledger state: whether this tree may still be appended to and signed. A log that signs two trees of which neither
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
  /** This node stopped and signed a tree of that size, and something was appended since. */
  | { readonly kind: 'behind-stop'; readonly size: number; readonly signedSize: number }
  /** The lock file that keeps a second process from these records is no longer at its path. */
  | { readonly kind: 'lock-lost'; readonly path: string }
  | { readonly kind: 'damaged'; readonly reason: string }
  /** The pin outside of the data directory has another key or name of the log. */
  | { readonly kind: 'pin-key-differs'; readonly path: string; readonly pinned: string; readonly own: string }
  | { readonly kind: 'pin-unreadable'; readonly path: string; readonly reason: string }

/**
 * Why there is no new checkpoint. If a file cannot be written, nothing is signed, and after a while changes are
 * refused.
 */
export type SigningFault =
  | LedgerFault
  | { readonly kind: 'last-signed-unwritable'; readonly path: string; readonly reason: string }

/** `pin /path`: the file outside of the data directory (ledger-pin-store.ts). */
export type ForkSource = 'file' | 'database' | 'tables' | 'witness' | `pin ${string}`

/**
 * Accepts entries and signs, or refuses both. `damaged`: accepts, but the last verification found a defect in what is
 * stored (ADR 99).
 */
export type LedgerSoundness =
  | { readonly kind: 'sound' }
  | { readonly kind: 'damaged'; readonly findings: number }
  | { readonly kind: 'refusing'; readonly fault: LedgerFault }

export const SOUND_LEDGER_STATE: LedgerSoundness = { kind: 'sound' }

/** Thrown by an append while the ledger refuses, so that its transaction is undone. */
export class LedgerRefusalError extends Error {
  readonly fault: LedgerFault

  constructor(fault: LedgerFault) {
    super(formatLedgerFault(fault))
    this.name = 'LedgerRefuses'
    this.fault = fault
  }
}

export type TreeHead = Pick<Checkpoint, 'size' | 'root'>

export interface TreeRootReader {
  readonly size: number
  readonly rootAt: (size: number) => Uint8Array
  /** Drops nodes that were cached for speed. */
  readonly reread?: () => void
}

/** `undefined` when the tree extends what was signed. */
export function findLedgerFork(tree: TreeRootReader, signed: TreeHead, source: ForkSource): LedgerFault | undefined {
  const sizes = { size: tree.size, signedSize: signed.size, source }
  if (signed.size > tree.size) return { kind: 'truncated', ...sizes }
  if (areBytesEqual(tree.rootAt(signed.size), signed.root)) return undefined
  // Cached nodes are never synced, so a power cut may have lost a part of them; that is no fork.
  tree.reread?.()
  return areBytesEqual(tree.rootAt(signed.size), signed.root) ? undefined : { kind: 'diverged', ...sizes }
}

/** Why what was asked for is not given out: the entry cannot be shown with a body that it does not commit to. */
export function describeAlteredBody(seq: number): LedgerFault {
  return { kind: 'damaged', reason: `the stored body of entry ${seq} is not the one that the entry commits to` }
}

/** What to do about a tree that does not extend what was signed. */
export const FORK_REMEDIES_TEXT =
  'Restore the newest copy of the data directory. If it is lost, stop the gateway and go on with this one as a log of ' +
  'another name: hearthbus ledger adopt --new-log. Do not edit what was signed.'
const DAMAGE_WAYS_OUT =
  'Restore the newest copy of the data directory. If it is lost, keep this data directory as evidence and start a new log ' +
  'in an empty one, under another origin; do not edit what was signed.'

/** For a person who knows why the log is not the pinned one. */
export function formatPinRemedies(path: string): string {
  return `If you deleted the data on purpose and begin anew, remove ${path}.`
}

/** For a log that was never started with a pin, or whose pin was removed. */
export function formatMissingPin(path: string): string {
  return `Nothing outside of the data directory vouches for it: there is no ${path}. The next start of the gateway makes it; an older log restored before that would not be noticed.`
}

/** What happened and what to do, for a person. */
export function formatLedgerFault(fault: SigningFault): string {
  switch (fault.kind) {
    case 'truncated':
      return `The ledger holds ${fault.size} entries, but this node has signed ${fault.signedSize} (${known(fault.source)}): an older copy of the database was restored, or its tail was cut off. Nothing is recorded or signed until this is settled. ${remedies(fault.source)}`
    case 'diverged':
      return `The first ${fault.signedSize} entries of the ledger are not the ones this node has signed (${known(fault.source)}): they were changed, or the database belongs to another history. Nothing is recorded or signed until this is settled. ${remedies(fault.source)}`
    case 'last-signed-missing':
      return `${fault.path} is missing, though this node has signed a ledger of ${fault.signedSize} entries: without it a database restored from a backup could not be told from the newest one. Restore the file. If you know this database to be the newest, adopt its last checkpoint (hearthbus ledger adopt).`
    case 'last-signed-invalid':
      return `${fault.path} does not hold a checkpoint of this node: ${fault.reason}. Restore the file, or the key and the name that it was signed with: where the configuration sets ledger.origin, it has to be the file's first line. If you know this database to be the newest, adopt its last checkpoint (hearthbus ledger adopt).`
    case 'last-signed-unwritable':
      return `No checkpoint was signed, because ${fault.path} could not be written first: ${fault.reason}. Entries are still recorded. Make the file writable; soon changes are refused.`
    case 'pin-key-differs':
      return `The key of this node, or the name of its log, is ${fault.own}, but ${fault.path} says that this data directory belongs to ${fault.pinned}: the key was replaced, or all of the data. Nothing is recorded or signed until this is settled. Restore keys/node.key and the log that it signed. ${formatPinRemedies(fault.path)}`
    case 'pin-unreadable':
      return `${fault.path}, which says what this node signed last, cannot be read: ${fault.reason}. Without it a log that was cut back could not be told from the newest one. Make it readable. If you know this data directory to be the newest, remove that file.`
    case 'tables-behind':
      return `The database has followed the ledger up to entry ${fault.size}, but entries up to ${fault.needed} changed its tables: an older copy of the database was restored. Nothing is recorded or signed until this is settled. Restore the newest copy of the database, with its -wal file.`
    case 'behind-stop':
      return `This node stopped and signed its ledger at ${fault.signedSize} entries, but ${fault.size - fault.signedSize} more stand behind that: the node did not write them while it ran. Nothing is recorded or signed until this is settled. ${DAMAGE_WAYS_OUT}`
    case 'lock-lost':
      return `${fault.path} was moved, removed or replaced while this gateway runs: another process could write the same records. Nothing is recorded or signed until this is settled. Stop every gateway of this data directory, run hearthbus ledger verify, and start one again.`
    default:
      return `The stored ledger is damaged: ${fault.reason}. Run hearthbus ledger verify to see the extent. ${DAMAGE_WAYS_OUT}`
  }
}

/** `undefined` for a ledger without known defects. */
export function explainLedgerDefects(state: LedgerSoundness): string | undefined {
  if (state.kind === 'refusing') return formatLedgerFault(state.fault)
  if (state.kind === 'sound') return undefined
  return `The last verification found ${state.findings} thing(s) wrong with what is stored. Entries are still recorded. Run hearthbus ledger verify to see them, and restore the newest sound copy of the database.`
}

/** Since this moment no checkpoint could be stored. */
export interface SigningOutage {
  readonly fault: SigningFault
  readonly forMs: number
  /** Entries that no signature covers. */
  readonly entries: number
}

/**
 * After this long, or with more entries than this, without a signature, changes are refused. Otherwise a person who
 * prevents signatures could change things without a signed record.
 */
const MAX_OUTAGE_MS = 10 * 60_000
const MAX_OUTAGE_ENTRIES = 10_000

export function doesSigningOutageBlockChanges({ forMs, entries }: SigningOutage): boolean {
  return forMs > MAX_OUTAGE_MS || entries > MAX_OUTAGE_ENTRIES
}

export function formatSigningOutage(outage: SigningOutage): string {
  const refused = doesSigningOutageBlockChanges(outage) ? ' Until then changes are refused; reads go on.' : ''
  return `${outage.entries} entries are not signed. ${formatLedgerFault(outage.fault)}${refused}`
}

/** The same fault for callers that cannot do anything about it: why nothing is recorded, without paths. */
export function formatLedgerFaultBriefly({ kind }: LedgerFault): string {
  if (kind === 'truncated') return 'The ledger takes no entries: an older copy of it was restored.'
  if (kind === 'diverged') return 'The ledger takes no entries: those that it has are not the ones that were signed.'
  if (kind === 'lock-lost') return 'The ledger takes no entries: another process may be able to write to it as well.'
  return 'The ledger takes no entries: it is not what was signed.'
}

function remedies(source: ForkSource): string {
  return source.startsWith('pin ')
    ? `${FORK_REMEDIES_TEXT} ${formatPinRemedies(source.slice('pin '.length))}`
    : FORK_REMEDIES_TEXT
}

function known(source: ForkSource): string {
  if (source.startsWith('pin ')) return `as ${source.slice('pin '.length)} says, outside of the data directory`
  if (source === 'witness') return 'as a witness can show'
  if (source === 'tables') return 'or at least recorded them: the tables in the database have followed that many'
  return source === 'file' ? 'as the file beside the database says' : 'as a checkpoint in the database says'
}
