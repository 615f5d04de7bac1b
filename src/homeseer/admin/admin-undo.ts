/**
 * Admin undo: the calls that undo administration operations.
 */
import type { JsonObject } from '../../core/json.ts'
import type { AdminOperationBeforeAfter, AdminUndoOperation } from './admin-operation.ts'

/** The undo of a creation: deletes the new thing, if it has an id. */
export function createUndoOfCreation(
  after: JsonObject | undefined,
  name: string,
  undo: (id: string | number) => AdminUndoOperation,
): AdminUndoOperation | undefined {
  const id = after?.[name]
  return typeof id === 'string' || typeof id === 'number' ? undo(id) : undefined
}

/** The undo by the same operation with the former values of the members that were set. */
export function createUndoByFormerValues(
  op: string,
  idName: string,
  { args, before }: Pick<AdminOperationBeforeAfter, 'args' | 'before'>,
): AdminUndoOperation | undefined {
  if (before === undefined) return undefined
  const names = Object.keys(args).filter((name) => name !== idName)
  // Without all former values, the former state cannot be restored.
  if (names.length === 0 || !names.every((name) => before[name] !== undefined)) return undefined
  const values = names.map((name) => [name, before[name] ?? null] as const)
  return { op, args: { [idName]: args[idName] ?? '', ...Object.fromEntries(values) } }
}
