/**
 * Audit packet: one file about a task, a session or a span of time: the entries with their proofs and openings, one
 * signed checkpoint over all of them, and a summary that a person or another agent can read.
 *
 *   entries   { index, leaf, path, opening | withheld }       each is proved under `checkpoint` (RFC 6962 § 2.1.1)
 *   tasks, thoughts, sessions, changes, approvals             are derived from the entries; a verifier derives them again
 *   consistency { from_size, path }                           from a checkpoint that the reader kept (RFC 6962 § 2.1.2)
 *
 * Its content is proved. That nothing is missing is only claimed by its author, except for two things: the thoughts of
 * a task name the one before, and a sealed session says how many records it has and their root.
 */
import { toBase64, fromBase64, toUtf8 } from '../core/bytes.ts'
import { canonicalJson, isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { readErrorMessage } from '../core/thrown-error.ts'
import { formatCheckpointFault, verifyAndParseCheckpoint } from './checkpoint.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import { BODY_ERASED_KIND } from './entry-group.ts'
import { decodeEntry } from './entry.ts'
import type { NoteVerifier } from './note-key.ts'
import { verifyCommitmentOpening } from './body-opening.ts'
import type { CommitmentOpening } from './body-opening.ts'
import { summarizeAuditPacketEntries } from './audit-packet-summary.ts'
import type { EntryWithVerifiedBody, AuditPacketScope } from './audit-packet-summary.ts'
import { findThoughtChainFaults } from './audit-packet-thoughts.ts'
import { computeLeafHash, verifyConsistency, verifyInclusion } from './tree.ts'

export const AUDIT_PACKET_FORMAT = 'hearthbus-audit-packet/v1'

export interface AuditPacketEntry {
  readonly index: number
  /** The exact bytes of the entry. */
  readonly leaf: string
  readonly path: readonly string[]
  readonly opening?: CommitmentOpening
  /** Why the body that the entry commits to is not included. */
  readonly withheld?: 'erased' | 'not-shown'
}

export interface AuditPacketContents {
  readonly scope: AuditPacketScope
  readonly origin: string
  readonly verifierKey: string
  readonly checkpoint: string
  readonly consistency?: { readonly from_size: number; readonly path: readonly string[] }
  readonly entries: readonly AuditPacketEntry[]
  /** How many entries belong to the packet but may not be shown to the caller, or are not signed yet. */
  readonly leftOut: number
}

export function toAuditPacketJson(parts: AuditPacketContents): JsonObject {
  const { scope, origin, verifierKey, checkpoint, consistency, entries, leftOut } = parts
  return {
    format: AUDIT_PACKET_FORMAT,
    scope: { ...scope },
    origin,
    verifier_key: verifierKey,
    checkpoint,
    ...(consistency === undefined ? {} : { consistency: { ...consistency, path: [...consistency.path] } }),
    left_out: leftOut,
    ...summarizeAuditPacketEntries(entries.flatMap((entry) => openedEntry(entry) ?? [])),
    entries: entries.map((entry) => ({ ...entry })) as unknown as Json,
  }
}

export interface AuditPacketReport {
  readonly size: number
  readonly entries: number
  readonly opened: number
  /** The defects, as sentences; empty when everything is proved. */
  readonly findings: readonly string[]
}

const NOTHING_READ = { size: 0, entries: 0, opened: 0 }

/** `kept` is a checkpoint from another source that the packet's checkpoint has to extend. */
export function verifyAuditPacket(packet: Json, key: NoteVerifier, kept?: SignedCheckpoint): AuditPacketReport {
  try {
    return packetReport(packet, key, kept)
  } catch (error) {
    // Half a surrogate pair, or a number that is too large: JSON that could not have been signed.
    return { ...NOTHING_READ, findings: [`It cannot be read: ${readErrorMessage(error)}`] }
  }
}

function packetReport(packet: Json, key: NoteVerifier, kept: SignedCheckpoint | undefined): AuditPacketReport {
  if (!isJsonObject(packet) || packet['format'] !== AUDIT_PACKET_FORMAT)
    return { ...NOTHING_READ, findings: [`It is not a ${AUDIT_PACKET_FORMAT}.`] }
  const { checkpoint: text } = packet
  const checkpoint = verifyAndParseCheckpoint(typeof text === 'string' ? text : '', key)
  if (!checkpoint.ok)
    return {
      ...NOTHING_READ,
      findings: [`Its checkpoint cannot be trusted: ${formatCheckpointFault(checkpoint.fault)}.`],
    }
  const findings: string[] = []
  const signed = checkpoint.value
  if (kept !== undefined) findings.push(...extensionFaults(packet['consistency'], signed, kept))
  const opened = readEntries(packet['entries'], signed, findings)
  findings.push(...unexplained(opened), ...findThoughtChainFaults(opened, scopeIn(packet['scope'])))
  for (const [name, value] of Object.entries(summarizeAuditPacketEntries(opened)))
    if (canonicalJson(packet[name] ?? null) !== canonicalJson(value))
      findings.push(`Its part "${name}" does not match its entries.`)
  return {
    size: signed.checkpoint.size,
    entries: opened.length,
    opened: opened.filter(({ body }) => body !== undefined).length,
    findings,
  }
}

function scopeIn(scope: Json | undefined): AuditPacketScope {
  return isJsonObject(scope) ? scope : {}
}

function readEntries(
  list: Json | undefined,
  signed: SignedCheckpoint,
  findings: string[],
): readonly EntryWithVerifiedBody[] {
  if (!Array.isArray(list)) findings.push('It has no list of entries.')
  const opened: EntryWithVerifiedBody[] = []
  let before = -1
  for (const item of Array.isArray(list) ? (list as readonly Json[]) : []) {
    const packed = item as unknown as AuditPacketEntry
    const read = isJsonObject(item) && typeof packed.leaf === 'string' ? openedEntry(packed) : undefined
    if (read === undefined || read.entry.seq !== packed.index || packed.index <= before) {
      findings.push(`Entry ${JSON.stringify(isJsonObject(item) ? (item['index'] ?? null) : null)} cannot be read.`)
      continue
    }
    before = packed.index
    if (!isIncluded(packed, signed)) findings.push(`Entry ${packed.index} is not proved to be in the log.`)
    if (packed.opening !== undefined && read.body === undefined)
      findings.push(`The content of entry ${packed.index} is not what the entry commits to.`)
    opened.push(read)
  }
  return opened
}

function isIncluded({ index, leaf, path }: AuditPacketEntry, { checkpoint }: SignedCheckpoint): boolean {
  const hashes = hashesIn(path)
  if (hashes === undefined) return false
  const { size, root } = checkpoint
  return verifyInclusion({ leaf: computeLeafHash(toUtf8(leaf)), index, size, path: hashes, root })
}

function openedEntry({ leaf, opening, withheld }: AuditPacketEntry): EntryWithVerifiedBody | undefined {
  const bytes = toUtf8(leaf)
  const decoded = decodeEntry(bytes)
  if (!decoded.ok) return undefined
  const body = opening === undefined ? undefined : verifyCommitmentOpening(toUtf8(canonicalJson({ ...opening })), bytes)
  return { entry: decoded.value, ...(body?.ok === true ? { body: body.value } : {}), ...(withheld && { withheld }) }
}

/**
 * Sentences about content that is missing although no recorded entry erased it, and the author does not say that it
 * withheld it.
 */
function unexplained(opened: readonly EntryWithVerifiedBody[]): readonly string[] {
  const erased = new Set(opened.flatMap(({ entry }) => (entry.kind === BODY_ERASED_KIND ? [entry['entry']] : [])))
  return opened.flatMap(({ entry, body, withheld }) => {
    if (entry['body_hash'] === undefined || body !== undefined || withheld === 'not-shown') return []
    return withheld === 'erased' && erased.has(entry.seq)
      ? []
      : [`The content of entry ${entry.seq} is missing, and no erasure accounts for it.`]
  })
}

function extensionFaults(
  consistency: Json | undefined,
  { checkpoint }: SignedCheckpoint,
  kept: SignedCheckpoint,
): readonly string[] {
  const { size: from, root: fromRoot } = kept.checkpoint
  const { size: to, root: toRoot } = checkpoint
  if (from > to) return [`It is signed at ${to} entries; the checkpoint that was kept has ${from}.`]
  const given = isJsonObject(consistency) ? consistency : {}
  if (from !== to && from !== 0 && given['from_size'] !== from)
    return [`It has no proof from ${from} entries on, which is what was kept: ask for one with from_size ${from}.`]
  const path = from === to || from === 0 ? [] : hashesIn(given['path'])
  if (path !== undefined && verifyConsistency({ from, to, fromRoot, toRoot, path })) return []
  return ['Its log does not extend the checkpoint that was kept: it is another one.']
}

function hashesIn(path: Json | undefined): Uint8Array[] | undefined {
  if (!Array.isArray(path)) return undefined
  const hashes = (path as readonly Json[]).map((hash) => (typeof hash === 'string' ? fromBase64(hash) : undefined))
  return hashes.every((hash) => hash !== undefined) ? hashes : undefined
}

/** A proof path as the packet encodes it. */
export function encodePacketProofPath(path: readonly Uint8Array[]): readonly string[] {
  return path.map(toBase64)
}
