/** Ledger finding: one defect of a stored ledger as data, and the sentence that describes it to a person. */
import type { EntryFault } from './entry.ts'
import { formatPinRemedies } from './ledger-state.ts'

export type LedgerFinding =
  | { readonly kind: 'entries-missing'; readonly from: number; readonly to: number }
  | { readonly kind: 'entry-unreadable'; readonly seq: number; readonly fault: EntryFault }
  | { readonly kind: 'entry-misplaced'; readonly seq: number; readonly claims: number }
  /** It is not a valid successor of the entries before it. */
  | { readonly kind: 'entry-unlawful'; readonly seq: number; readonly of: string; readonly why: string }
  | { readonly kind: 'call-not-open'; readonly seq: number; readonly call: number | undefined }
  /** A late outcome does not belong to a call that had ended. */
  | { readonly kind: 'call-not-ended'; readonly seq: number; readonly call: number | undefined }
  /** The lookup table does not agree with the entry. */
  | { readonly kind: 'lookup-differs'; readonly seq: number }
  | { readonly kind: 'body-missing'; readonly seq: number }
  | { readonly kind: 'body-differs'; readonly seq: number }
  | { readonly kind: 'body-without-entry'; readonly seq: number }
  /** A hash in the entry is not that of the body to which it commits. */
  | { readonly kind: 'body-contradicts'; readonly seq: number; readonly of: string; readonly why: string }
  /** An entry records the erasure of a body that is still stored, never existed or was erased before. */
  | { readonly kind: 'erasure-unfounded'; readonly seq: number; readonly entry: number | undefined }
  | { readonly kind: 'tile-differs'; readonly path: string }
  | { readonly kind: 'bundle-unreadable'; readonly path: string; readonly reason: string }
  /** `count` entries, the first of them `seq`, are not those whose hashes were signed. */
  | { readonly kind: 'bundle-differs'; readonly path: string; readonly seq: number; readonly count: number }
  /** The tail has another entry at that position than the signed files. */
  | { readonly kind: 'tail-differs'; readonly seq: number }
  | { readonly kind: 'checkpoint-untrusted'; readonly where: CheckpointLocation; readonly reason: string }
  | {
      readonly kind: 'tail-missing'
      readonly where: CheckpointLocation
      readonly size: number
      readonly signed: number
    }
  | { readonly kind: 'root-differs'; readonly where: CheckpointLocation; readonly signed: number }
  | { readonly kind: 'witness-key-unreadable'; readonly vkey: string }
  | { readonly kind: 'last-signed-missing'; readonly path: string }
  | { readonly kind: 'schema-differs'; readonly name: string }
  /** An index does not agree with its table, or the file is damaged. */
  | { readonly kind: 'database-inconsistent'; readonly path: string; readonly reason: string }
  /** The tables have not followed the log as far as they must have. */
  | { readonly kind: 'tables-size-differs'; readonly size: number; readonly expected: number }
  | { readonly kind: 'file-missing'; readonly path: string }
  | { readonly kind: 'file-unreadable'; readonly path: string; readonly reason: string }
  /** Other users may read or replace the file. */
  | { readonly kind: 'file-exposed'; readonly path: string; readonly reason: string }
  /** The pin outside of the data directory is about another key, or cannot be read. */
  | { readonly kind: 'pin-differs'; readonly reason: string }
  /** Signing failed or the node stopped without a signature, and these entries are covered by none. */
  | { readonly kind: 'unsigned'; readonly from: number; readonly to: number; readonly reason: string }
  | { readonly kind: 'unreadable'; readonly reason: string }
  | CacheFinding

/** A row, by what a person would call it. */
export interface TableRowReference {
  readonly what:
    | 'task'
    | 'thought'
    | 'session'
    | 'seal'
    | 'pinned tool'
    | 'rollback'
    | 'secret of the guard'
    | 'token of the owner'
    | 'member list'
    | 'invitation'
    | 'withheld offers'
    | 'acceptance of offers'
  readonly id: string
}

/** A table that copies the log does not agree with it. */
export type CacheFinding = TableRowReference &
  (
    | { readonly kind: 'copy-differs'; readonly seq: number; readonly fields: readonly string[] }
    /** The log has it, the table does not. */
    | { readonly kind: 'copy-missing'; readonly seq: number }
    /** The table has it, the log does not. */
    | { readonly kind: 'copy-unfounded' }
  )

/** Where a checkpoint was found: `database 512` is the row of that size, `pin /path` the file outside (ledger-pin-store.ts). */
export type CheckpointLocation = 'file' | 'export' | 'given' | `database ${number}` | `pin ${string}`

export function formatLedgerFinding(finding: LedgerFinding): string {
  switch (finding.kind) {
    case 'entries-missing':
      return finding.from === finding.to
        ? `Entry ${finding.from} is missing.`
        : `Entries ${finding.from} to ${finding.to} are missing.`
    case 'entry-unreadable':
      return `Entry ${finding.seq} is not an entry (${entryFaultWords(finding.fault)}).`
    case 'entry-misplaced':
      return `Entry ${finding.seq} says that it is entry ${finding.claims}.`
    case 'entry-unlawful':
      return `Entry ${finding.seq} (${finding.of}) cannot follow what was recorded before it: ${finding.why}.`
    case 'call-not-ended':
      return `Entry ${finding.seq} tells more about ${finding.call === undefined ? 'a call that it does not name' : `call ${finding.call}, which had not ended before it`}.`
    case 'call-not-open':
      return `Entry ${finding.seq} ends call ${finding.call ?? '?'}, which was not open.`
    case 'lookup-differs':
      return `The lookup table disagrees with entry ${finding.seq}; it can be deleted while the gateway is stopped (ledger/lookup.db).`
    case 'body-missing':
      return `The body of entry ${finding.seq} is gone, and no erasure accounts for it.`
    case 'body-differs':
      return `The body of entry ${finding.seq} is not the one the entry commits to.`
    case 'body-without-entry':
      return `A body is stored for entry ${finding.seq}, which commits to none.`
    case 'body-contradicts':
      return `Entry ${finding.seq} (${finding.of}) contradicts its body: ${finding.why}.`
    case 'erasure-unfounded':
      return `Entry ${finding.seq} says that the body of entry ${finding.entry ?? '?'} was erased, which is not so.`
    case 'tile-differs':
      return `${finding.path} does not hold the hashes of its entries.`
    case 'bundle-unreadable':
      return `${finding.path} is not an entry bundle: ${finding.reason}.`
    case 'bundle-differs':
      return `${finding.path} does not hold the entries that were signed: ${finding.count === 1 ? `entry ${finding.seq} is another` : `${finding.count} are others, the first of them entry ${finding.seq}`}.`
    case 'tail-differs':
      return `The tail of the log has another entry ${finding.seq} than the one that was signed.`
    case 'checkpoint-untrusted':
      return `The checkpoint (${finding.where}) cannot be trusted: ${finding.reason}.`
    case 'tail-missing':
      return `There are ${finding.size} entries, but ${finding.signed} were signed (${finding.where}): the tail was cut off or an older copy was restored.${formatPinAdvice(finding.where)}`
    case 'root-differs':
      return `The first ${finding.signed} entries are not the ones that were signed (${finding.where}).${formatPinAdvice(finding.where)}`
    case 'witness-key-unreadable':
      return `A stored witness key cannot be read: ${finding.vkey.slice(0, 200)}.`
    case 'last-signed-missing':
      return `${finding.path} is missing, though checkpoints were signed.`
    case 'schema-differs':
      return `The table, view, index or trigger ${finding.name} is not the one this program made.`
    case 'database-inconsistent':
      return `${finding.path} does not agree with itself: ${finding.reason}.`
    case 'tables-size-differs':
      return `The database says that its tables follow the log up to entry ${finding.size}, the log says ${finding.expected} (ledger_applied).`
    case 'file-missing':
      return `${finding.path} is missing.`
    case 'file-unreadable':
      return `${finding.path} cannot be read: ${finding.reason}.`
    case 'file-exposed':
      return `${finding.path} is not as it should be: ${finding.reason}.`
    case 'pin-differs':
      return finding.reason
    case 'unsigned':
      return `Entries ${finding.from} to ${finding.to} are covered by no signature: ${finding.reason}.`
    case 'copy-differs':
      return `The ${finding.what} ${finding.id} is not what the ledger says (entry ${finding.seq}): ${finding.fields.join(', ')}.`
    case 'copy-missing':
      return `The ${finding.what} ${finding.id} was removed; the ledger has it (entry ${finding.seq}).`
    case 'copy-unfounded':
      return `The ${finding.what} ${finding.id} was added or changed; the ledger does not have it.`
    default:
      return `The ledger could not be read to its end: ${finding.reason}.`
  }
}

/** Parts of a ledger that were not checked: they are absent, or follow from entries that could not be read. */
export type UncheckedPart = keyof typeof UNCHECKED_PARTS

const UNCHECKED_PARTS = {
  bodies: 'what entries commit to (bodies/)',
  succession: 'which entry may follow which',
  tail: 'the tail of the log',
  'last-signed': 'checkpoint.signed',
  tables: 'the tables of the database',
  lookups: 'the lookup cache',
  keys: 'the keys',
}

export function formatUncheckedParts(parts: readonly UncheckedPart[]): string {
  return parts.map((part) => UNCHECKED_PARTS[part]).join(', ')
}

/** What to do about a finding. Only the pin can differ because of something that a person did on purpose. */
function formatPinAdvice(where: CheckpointLocation): string {
  return where.startsWith('pin ')
    ? ` If you restored a backup yourself: hearthbus ledger adopt --new-log. ${formatPinRemedies(where.slice('pin '.length))}`
    : ''
}

function entryFaultWords(fault: EntryFault): string {
  switch (fault.kind) {
    case 'too-long':
      return `${fault.bytes} bytes long`
    case 'not-utf8':
      return 'not UTF-8'
    case 'not-json':
      return 'not a JSON object'
    case 'not-canonical':
      return 'not canonical JSON'
    default:
      return `field ${fault.field} is wrong`
  }
}

/** One defect causes many findings, so only the first of each kind are listed, and the rest are counted. */
const MAX_LISTED_PER_KIND = 20

export class LedgerFindings<Of extends { readonly kind: string } = LedgerFinding> {
  readonly list: Of[] = []
  /** How many further findings there were. */
  more = 0
  readonly #counts = new Map<string, number>()

  add(finding: Of): void {
    const count = (this.#counts.get(finding.kind) ?? 0) + 1
    this.#counts.set(finding.kind, count)
    if (count <= MAX_LISTED_PER_KIND) this.list.push(finding)
    else this.more += 1
  }

  /** For people, with the number of findings that are not listed. */
  sentences(sentence: (finding: Of) => string): readonly string[] {
    return [...this.list.map(sentence), ...(this.more === 0 ? [] : [`… and ${this.more} more.`])]
  }
}
