/**
 * SQLite row: rows of a table that another program may have written into. node:sqlite throws over an integer beyond
 * 2^53, which this program never stores.
 */
import type { SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'

/**
 * The rows as `all` returns them, but an integer beyond 2^53 becomes the nearest number, which stands for nothing of
 * ours.
 */
export function readRowsRoundingUnsafeIntegers(
  statement: StatementSync,
  ...values: readonly (SQLInputValue | Record<string, SQLInputValue>)[]
): Record<string, SQLOutputValue>[] {
  // Parameters are bound either all by position, or as one object by name.
  const all = (): Record<string, SQLOutputValue>[] => statement.all(...(values as SQLInputValue[]))
  try {
    return all()
  } catch (error) {
    if (!isUnsafeIntegerError(error)) throw error
  }
  statement.setReadBigInts(true)
  try {
    return all().map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? Number(value) : value]),
      ),
    )
  } finally {
    statement.setReadBigInts(false)
  }
}

/** Whether this is node:sqlite's error for an integer that JavaScript's numbers cannot hold. */
export function isUnsafeIntegerError(error: unknown): boolean {
  return (
    error instanceof RangeError && 'code' in error && error.code === 'ERR_OUT_OF_RANGE' && TOO_LARGE.test(error.message)
  )
}

const TOO_LARGE = /too large to be represented as a JavaScript number/
