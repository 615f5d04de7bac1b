/**
 * Task history: every change of a task, found by following the previous entry that each entry names.
 *
 *   task.created 4 ◀─previous_entry─ task.transition 9 ◀─ task.changed 12        the task's `log_index` is 12
 */
import type { JsonObject } from '../../core/json.ts'
import { readEntryNumberField, readEntryTextField } from '../../ledger/entry.ts'
import type { LedgerEntry } from '../../ledger/entry.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { readEntryBodyFields } from '../../ledger/projection-log.ts'
import type { Task } from './task.ts'
import { TASK_CHANGED_KIND, TASK_CREATED_KIND, TASK_TRANSITION_KIND, readTaskId } from '../task-entries.ts'

/** The limit of steps; a task with more changes has another problem than an incomplete list. */
const MAX_STEPS = 200

const CHANGES: Readonly<Record<string, string>> = {
  [TASK_CREATED_KIND]: 'created',
  [TASK_CHANGED_KIND]: 'changed',
  [TASK_TRANSITION_KIND]: 'transition',
}

/** The steps, oldest first; of a long history the newest ones. */
export function listTaskHistoryAsJson(ledger: Pick<Ledger, 'entry' | 'body'>, task: Task): JsonObject {
  const history: JsonObject[] = []
  let place: number | undefined = task.log_index
  while (place !== undefined && history.length < MAX_STEPS) {
    const entry: LedgerEntry | undefined = ledger.entry(place)?.entry
    if (entry === undefined || readTaskId(entry) !== task.id) break
    history.unshift(taskStep(ledger, entry))
    place = readEntryNumberField(entry, 'previous_entry')
  }
  const omitted = task.version - history.length
  return { history, ...(omitted === 0 ? {} : { history_omitted: omitted }) }
}

function taskStep(ledger: Pick<Ledger, 'body'>, entry: LedgerEntry): JsonObject {
  const { fields, emptied, from, to } = entry
  const words = readEntryBodyFields(ledger, entry.seq)
  const reason = words === undefined ? null : words['reason']
  return {
    change: CHANGES[entry.kind] ?? entry.kind,
    version: readEntryNumberField(entry, 'version') ?? 0,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    // An entry without a body never had a reason; whether an erased one had is unknown.
    ...(reason === undefined || (words === undefined && entry['body_hash'] === undefined) ? {} : { reason }),
    fields: fields ?? [],
    ...(Array.isArray(emptied) && emptied.length > 0 ? { emptied } : {}),
    by: readEntryTextField(entry, 'principal') ?? '',
    client: readEntryTextField(entry, 'client') ?? null,
    at: entry.at,
    log_index: entry.seq,
  }
}
