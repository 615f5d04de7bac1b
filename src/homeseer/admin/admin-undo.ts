/**
 * Undo: how acts of administration are taken back.
 */
import type { JsonObject } from '../../core/json.ts'
import type { AdminOperationRecord, AdminUndoOperation } from './admin-operation.ts'

/** What was made can be taken away again if it has an id. */
export function createUndoOfCreation(
  after: JsonObject | undefined,
  name: string,
  undo: (id: string | number) => AdminUndoOperation,
): AdminUndoOperation | undefined {
  const id = after?.[name]
  return typeof id === 'string' || typeof id === 'number' ? undo(id) : undefined
}

/** The same operation with the values from before, of those members that were set. */
export function createUndoByFormerValues(
  op: string,
  idName: string,
  { args, before }: Pick<AdminOperationRecord, 'args' | 'before'>,
): AdminUndoOperation | undefined {
  if (before === undefined) return undefined
  const names = Object.keys(args).filter((name) => name !== idName)
  // Half of what was is not what was.
  if (names.length === 0 || !names.every((name) => before[name] !== undefined)) return undefined
  const values = names.map((name) => [name, before[name] ?? null] as const)
  return { op, args: { [idName]: args[idName] ?? '', ...Object.fromEntries(values) } }
}
