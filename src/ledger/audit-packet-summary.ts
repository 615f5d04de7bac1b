/**
 * Packet description: what the entries of an audit packet say, in lists for a reader. It is derived from the entries
 * alone, so that anybody who checks a packet can derive it again (docs/protocols/ledger.md, "Audit packet").
 */
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { CALL_ENTER_KIND, CHANGING_EFFECTS, readEndedCallSeq, readLateOutcomeCallSeq } from './call-entry.ts'
import type { LedgerEntry } from './entry.ts'

/** Exactly one of the three is set. */
export interface AuditPacketScope {
  readonly task_id?: string
  readonly session_id?: string
  readonly since?: string
}

/** An entry with the body that it was verified to commit to. */
export interface EntryWithVerifiedBody {
  readonly entry: LedgerEntry
  readonly body?: Json
  readonly withheld?: string
}

export function summarizeAuditPacketEntries(opened: readonly EntryWithVerifiedBody[]): JsonObject {
  return {
    tasks: grouped(opened, 'task.', 'task_id', ['from', 'to', 'principal']),
    thoughts: opened.filter(({ entry }) => entry.kind === 'thought').map(describeThought),
    sessions: opened.filter(({ entry }) => entry.kind.startsWith('session.')).map(describeSession),
    changes: describeChanges(opened),
    approvals: grouped(opened, 'approval.', 'approval', ['principal', 'tool', 'target', 'by']),
    grants: grouped(opened, 'grant.', 'grant', ['principal', 'tool', 'target', 'by']),
  }
}

/** Groups steps by the id that they belong to, in the order of the log. */
function grouped(
  opened: readonly EntryWithVerifiedBody[],
  prefix: string,
  idField: string,
  fields: readonly string[],
): Json[] {
  const steps = new Map<string, JsonObject[]>()
  for (const { entry, body } of opened) {
    const id = entry[idField]
    if (!entry.kind.startsWith(prefix) || typeof id !== 'string') continue
    const step = {
      ...placed(entry),
      kind: entry.kind,
      ...picked(entry, fields),
      ...(body === undefined ? {} : { body }),
    }
    steps.set(id, [...(steps.get(id) ?? []), step])
  }
  return [...steps].map(([id, list]) => ({ [idField]: id, steps: list }))
}

function describeThought({ entry, body }: EntryWithVerifiedBody): JsonObject {
  const fields = picked(entry, ['id', 'type', 'task_id', 'session_id', 'agent_id', 'timestamp', 'prev_hash', 'hash'])
  return { ...placed(entry), ...fields, ...picked(body, ['content']) }
}

function describeSession({ entry, body }: EntryWithVerifiedBody): JsonObject {
  const fields = picked(entry, ['session_id', 'task_id', 'principal', 'root', 'record_count'])
  return { ...placed(entry), kind: entry.kind, ...fields, ...picked(body, ['intent']) }
}

/** Calls that changed something or tried to, each with its end and what became known later. */
function describeChanges(opened: readonly EntryWithVerifiedBody[]): Json[] {
  const [ends, lates] = [new Map<number, EntryWithVerifiedBody>(), new Map<number, EntryWithVerifiedBody>()]
  for (const one of opened) {
    const [ended, late] = [readEndedCallSeq(one.entry), readLateOutcomeCallSeq(one.entry)]
    if (ended !== undefined) ends.set(ended, one)
    if (late !== undefined) lates.set(late, one)
  }
  return opened.flatMap(({ entry, body }) => {
    if (entry.kind !== CALL_ENTER_KIND) return []
    const end = ends.get(entry.seq)
    if (!CHANGING_EFFECTS.has(end?.entry['effect'] ?? entry['effect'])) return []
    return [describeChange({ entry, ...(body === undefined ? {} : { body }) }, end, lates.get(entry.seq))]
  })
}

function describeChange(
  { entry, body }: EntryWithVerifiedBody,
  end: EntryWithVerifiedBody | undefined,
  late: EntryWithVerifiedBody | undefined,
): JsonObject {
  const result = isJsonObject(end?.body) ? end.body['result'] : undefined
  return {
    ...placed(entry),
    ...picked(entry, ['tool', 'principal', 'trace_id', 'task_id', 'session_id']),
    ...picked(body, ['args']),
    ...(end === undefined ? {} : { end: described(end, END_FIELDS) }),
    ...picked(result, ['before', 'after']),
    ...(late === undefined ? {} : { later: described(late, ['outcome', 'source']) }),
  }
}

const END_FIELDS = ['kind', 'outcome', 'error_code', 'effect', 'target', 'dry_run', 'replayed', 'approval', 'grant']

function described({ entry, body }: EntryWithVerifiedBody, fields: readonly string[]): JsonObject {
  return { ...placed(entry), ...picked(entry, fields), ...picked(body, ['message', 'observed', 'label']) }
}

function placed({ seq, at }: LedgerEntry): JsonObject {
  return { log_index: seq, at }
}

function picked(from: Json | LedgerEntry | undefined, fields: readonly string[]): JsonObject {
  if (!isJsonObject(from)) return {}
  return Object.fromEntries(fields.flatMap((field) => (from[field] === undefined ? [] : [[field, from[field]]])))
}
