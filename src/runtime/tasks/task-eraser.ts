/**
 * Task eraser: blanks the words that a task has from one entry, and leaves those that a later entry set.
 *
 *   task.created  title, description, assignee          erased: title and description go,
 *   task.changed                      assignee          the assignee stays: this entry set it
 *
 * Pure: it reads and writes through what it is given.
 */
import type { Eraser, KeptLeaves } from '../../ledger/copies.ts'
import { decodeEntry } from '../../ledger/entry.ts'
import type { LedgerEntry } from '../../ledger/entry.ts'
import { taskOf, wordsSetBy } from './task-entries.ts'
import { ERASABLE } from './task-store.ts'
import type { ErasableWord, TaskStore } from './task-store.ts'

/** Entries per call: a few milliseconds. */
const PIECE = 1_000

export function createTaskEraser(
  entry: LedgerEntry,
  { leaves, tasks }: { readonly leaves: Pick<KeptLeaves, 'entries'>; readonly tasks: () => Pick<TaskStore, 'blank'> },
): Eraser | undefined {
  const id = taskOf(entry)
  if (id === undefined) return undefined
  const words = new Set<ErasableWord>(ERASABLE.filter((word) => wordsSetBy(entry).includes(word)))
  let next = entry.seq + 1
  return {
    look: () => {
      if (words.size === 0) return false
      const rows = leaves.entries(next, PIECE)
      for (const { bytes } of rows) {
        const later = decodeEntry(bytes)
        if (!later.ok || taskOf(later.value) !== id) continue
        for (const word of ERASABLE) if (wordsSetBy(later.value).includes(word)) words.delete(word)
      }
      next = (rows.at(-1)?.seq ?? next - 1) + 1
      return rows.length === PIECE
    },
    blank: () => (tasks().blank(id, [...words]) ? [{ what: 'task', id }] : []),
  }
}
