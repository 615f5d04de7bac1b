/**
 * Audit packet: one file about a task, a session or a span of time: the entries with their proofs and openings, one
 * signed checkpoint over all of them, and a summary that a person or another agent can read.
 *
 *   entries   { index, leaf, path, opening | withheld }       each is proved under `checkpoint` (RFC 6962 § 2.1.1)
 *   tasks, thoughts, sessions, changes, approvals             are derived from the entries; a verifier derives them again
 *   consistency { from_size, path }                           from a checkpoint that the reader kept (RFC 6962 § 2.1.2)
 *
 * Its content is proved. That nothing is missing is only claimed by its author, except for what names the one before:
 * the steps and the thoughts of a task, and the thoughts of a sealed session (audit-packet-chains.ts).
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
import { findBrokenChains } from './audit-packet-chains.ts'
import { EntryContentVerification } from './entry-content-verification.ts'
import { isSequenceNumber } from './entry.ts'
import { formatVerifierKey } from './note-key.ts'
import type { UntypedProjection } from './projection.ts'
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

export interface AuditPacketVerificationOptions {
  /** A checkpoint from another source that the packet's checkpoint has to extend. */
  readonly known?: SignedCheckpoint | undefined
  /** Their functions compare entries with the bodies that are shown. */
  readonly projections: readonly UntypedProjection[]
}

export function verifyAuditPacket(
  packet: Json,
  key: NoteVerifier,
  options: AuditPacketVerificationOptions,
): AuditPacketReport {
  try {
    return packetReport(packet, key, options)
  } catch (error) {
    // Half a surrogate pair, or a number that is too large: JSON that could not have been signed.
    return { ...NOTHING_READ, findings: [`It cannot be read: ${readErrorMessage(error)}`] }
  }
}

function packetReport(
  packet: Json,
  key: NoteVerifier,
  { known, projections }: AuditPacketVerificationOptions,
): AuditPacketReport {
  if (!isJsonObject(packet) || packet['format'] !== AUDIT_PACKET_FORMAT)
    return { ...NOTHING_READ, findings: [`It is not a ${AUDIT_PACKET_FORMAT}.`] }
  const { checkpoint: text } = packet
  const checkpoint = verifyAndParseCheckpoint(typeof text === 'string' ? text : '', key)
  if (!checkpoint.ok)
    return {
      ...NOTHING_READ,
      findings: [`Its checkpoint cannot be trusted: ${formatCheckpointFault(checkpoint.fault)}.`],
    }
  const signed = checkpoint.value
  const findings = [...memberFaults(packet, key)]
  if (known !== undefined) findings.push(...extensionFaults(packet['consistency'], signed, known))
  const opened = readEntries(packet['entries'], signed, findings)
  const scope = scopeIn(packet['scope'])
  findings.push(...unexplained(opened), ...scopeFaults(opened, scope), ...findBrokenChains(opened, scope))
  findings.push(...contradictions(opened, projections))
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

const OWN_MEMBERS = [
  'format',
  'scope',
  'origin',
  'verifier_key',
  'checkpoint',
  'consistency',
  'left_out',
  'entries',
  ...Object.keys(summarizeAuditPacketEntries([])),
]
const ENTRY_MEMBERS = ['index', 'leaf', 'path', 'opening', 'withheld']

/** What no entry proves has to be what the reader's own key says, or must not be there. */
function memberFaults(packet: JsonObject, key: NoteVerifier): readonly string[] {
  const { origin, verifier_key: verifierKey, left_out: leftOut, entries } = packet
  const items = Array.isArray(entries) ? (entries as readonly Json[]) : []
  const others = [
    ...unknownMembers(packet, OWN_MEMBERS),
    ...items.flatMap((item) => (isJsonObject(item) ? unknownMembers(item, ENTRY_MEMBERS) : [])),
  ]
  return [
    ...[...new Set(others)].map((name) => `It has a part "${name}", which nothing proves.`),
    ...(origin === key.name && verifierKey === formatVerifierKey(key) ? [] : ['It names another log or key.']),
    ...(isSequenceNumber(leftOut) ? [] : ['It does not say how many entries are left out.']),
  ]
}

function unknownMembers(object: JsonObject, known: readonly string[]): readonly string[] {
  return Object.keys(object).filter((name) => !known.includes(name))
}

function scopeFaults(opened: readonly EntryWithVerifiedBody[], scope: AuditPacketScope): readonly string[] {
  const [[name, value] = ['', ''], ...more] = Object.entries(scope)
  if (more.length > 0 || !['task_id', 'session_id', 'since'].includes(name) || typeof value !== 'string')
    return ['It does not say what it is about.']
  const isAbout = name === 'since' || opened.length === 0 || opened.some(({ entry }) => entry[name] === value)
  return isAbout ? [] : [`None of its entries is about the ${name} that it names.`]
}

function contradictions(
  opened: readonly EntryWithVerifiedBody[],
  projections: readonly UntypedProjection[],
): readonly string[] {
  const contents = new EntryContentVerification(projections)
  return opened.flatMap(({ entry, body }) => {
    const why = contents.explainContradiction(entry, body)
    return why === undefined ? [] : [`Entry ${entry.seq} (${entry.kind}) contradicts its body: ${why}.`]
  })
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
    if (packed.withheld !== undefined && (packed.opening !== undefined || read.entry['body_hash'] === undefined))
      findings.push(`Entry ${packed.index} withholds nothing, and says that it does.`)
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
  known: SignedCheckpoint,
): readonly string[] {
  const { size: from, root: fromRoot } = known.checkpoint
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
