/**
 * Task audit: the table of tasks held against what the ledger says of them.
 *
 *   entries ──read──▶ one ToldTask each ──compare──▶ row by row: edited, removed, moved ──▶ rows that nobody told of
 *
 * Of a task it remembers numbers, never words: those are read again when its row is compared, so that row and words are
 * of the same moment even if somebody erases them meanwhile.
 *
 * Pure: it reads through what it is given.
 */
import { canonicalJson, isJsonObject } from '../../core/json.ts'
import type { Json } from '../../core/json.ts'
import { BLANK, committedBody } from '../../ledger/copies.ts'
import type { CommittedBody, CopyAudit, CopyNews, KeptLeaves } from '../../ledger/copies.ts'
import { decodeEntry } from '../../ledger/entry.ts'
import { priorityRank } from './priority.ts'
import { ALL_WORDS, taskOf, tell } from './task-entries.ts'
import type { ToldTask, Word } from './task-entries.ts'
import type { StoredTask, TaskStore } from './task-store.ts'

export interface AuditedTasks {
  readonly tasks: Pick<TaskStore, 'stored' | 'ids'>
  readonly leaves: KeptLeaves
  readonly news: CopyNews
  /** Of this task alone. */
  readonly only?: string | undefined
}

/** Rows per call: a few milliseconds. */
const PIECE = 200
/** A change is dated just before its entry is. */
const DATING_MS = 1_000

export function createTaskAudit({ tasks, leaves, news, only }: AuditedTasks): CopyAudit {
  const told = new Map<string, ToldTask>()
  // An iterator of a map goes on to what is added while it is on its way.
  const toCompare = told.entries()
  let lastSeq = 0
  // Below the first that SQLite gives: whoever adds a row may number it as he likes.
  let lastSeen = Number.MIN_SAFE_INTEGER

  const compareNext = (): boolean => {
    for (let left = PIECE; left > 0; left--) {
      const next = toCompare.next()
      if (next.done === true) return false
      const [id, task] = next.value
      const row = tasks.stored(id)
      if (row === undefined) {
        news.found({ kind: 'copy-missing', what: 'task', id, seq: task.createdIndex })
        continue
      }
      // Tasks are listed in the order in which they were created.
      const isMoved = row.seq <= lastSeq
      lastSeq = Math.max(lastSeq, row.seq)
      compareTask({ row, task, isMoved, words: (seq) => wordsOf(leaves, seq), news })
    }
    return true
  }

  const findAdded = (): boolean => {
    const rows = only === undefined ? tasks.ids(lastSeen, PIECE) : lookUp(tasks, only)
    for (const { id } of rows) if (!told.has(id)) news.found({ kind: 'copy-unfounded', what: 'task', id })
    lastSeen = rows.at(-1)?.seq ?? lastSeen
    return only === undefined && rows.length === PIECE
  }

  return {
    read: (entry) => {
      const id = taskOf(entry)
      if (id === undefined || (only !== undefined && id !== only)) return
      const task = tell(told.get(id), entry)
      if (task !== undefined) told.set(id, task)
    },
    compare: () => compareNext() || findAdded(),
  }
}

function lookUp(tasks: AuditedTasks['tasks'], id: string): readonly Pick<StoredTask, 'id' | 'seq'>[] {
  const row = tasks.stored(id)
  return row === undefined ? [] : [row]
}

function wordsOf(leaves: KeptLeaves, seq: number): CommittedBody {
  const leaf = leaves.entry(seq)
  const entry = leaf && decodeEntry(leaf.bytes)
  // What was an entry a moment ago and is none any more is for the ledger's own audit to name.
  return entry?.ok === true ? committedBody(entry.value, leaves.body(seq)) : { kind: 'altered' }
}

interface Compared {
  readonly row: StoredTask
  readonly task: ToldTask
  readonly isMoved: boolean
  readonly words: (seq: number) => CommittedBody
  readonly news: CopyNews
}

function compareTask({ row, task, isMoved, words, news }: Compared): void {
  const { id } = row
  const wrong = [...wrongFacts(row, task), ...(isMoved ? ['seq'] : [])]
  const bodies = new Map<number, CommittedBody>()
  for (const word of ALL_WORDS) {
    const seq = task.setBy[word]
    if (seq === undefined) {
      if (row[word] !== null) wrong.push(word)
      continue
    }
    const body = bodies.get(seq) ?? words(seq)
    bodies.set(seq, body)
    if (body.kind === 'kept' && !isSame(row[word], saidOf(word, body.body))) wrong.push(word)
  }
  for (const [seq, { kind }] of bodies) {
    if (kind === 'kept' || kind === 'none') continue
    news.unread(seq, kind)
    const fields = ALL_WORDS.filter((word) => task.setBy[word] === seq && !isBlank(row[word]))
    if (kind === 'gone' && fields.length > 0) news.doubted({ kind: 'copy-uncompared', what: 'task', id, seq, fields })
  }
  if (wrong.length > 0) news.found({ kind: 'copy-differs', what: 'task', id, seq: task.logIndex, fields: wrong })
}

/** Everything that an entry says without its body, or that follows from it. */
function wrongFacts(row: StoredTask, task: ToldTask): string[] {
  const right: Readonly<Record<string, boolean>> = {
    status: row.status === task.status,
    version: row.version === task.version,
    attempt: row.attempt === task.attempt,
    created_at: row.created_at === task.createdAt,
    updated_at: Math.abs(Date.parse(row.updated_at) - Date.parse(task.updatedAt)) <= DATING_MS,
    // No tool deletes: a task that says so is hidden.
    deleted_at: row.deleted_at === null,
    log_index: row.log_index === task.logIndex,
    verify_index: row.verify_index === task.verifyIndex,
    priority_rank: row.priority_rank === priorityRank(row.priority),
  }
  return Object.keys(right).filter((field) => right[field] === false)
}

function saidOf(word: Word, body: Json): Json {
  if (!isJsonObject(body)) return null
  if (word === 'cancel_reason') return body['reason'] ?? null
  const said = body[word] ?? null
  // As it was kept: without repetitions.
  return word === 'depends_on' && Array.isArray(said) ? [...new Set(said)] : said
}

function isSame(kept: StoredTask[Word], said: Json): boolean {
  return canonicalJson(typeof kept === 'object' && kept !== null ? [...kept] : kept) === canonicalJson(said)
}

/** What erasing leaves in a row. Dependencies are numbers of tasks and stay, so they can only be doubted. */
function isBlank(kept: StoredTask[Word]): boolean {
  return kept === null || kept === BLANK || (Array.isArray(kept) && kept.length === 0)
}
