/**
 * Uncommitted tail: which groups are valid after a crash. The log is durable before the tables commit. A group that
 * changed rows and that the tables do not have was not confirmed to any caller; it and what follows it are cut off.
 * Groups that changed no rows count as they are.
 *
 * What was signed is never cut: a database that lacks it is an older copy.
 */
import type { TailContents } from './tail-reader-store.ts'

export interface AppliedAndSignedSizes {
  /** Entries up to the last group that the tables have committed. */
  readonly size: number
  /** Entries that a signature covers. */
  readonly signed: number
}

export function dropUncommittedGroups(read: TailContents, { size, signed }: AppliedAndSignedSizes): TailContents {
  for (const [place, segment] of read.segments.entries()) {
    const index = segment.groups.findIndex(({ first, changedRows }) => changedRows && first >= size)
    if (index < 0) continue
    if ((segment.groups[index]?.first ?? 0) < signed) return read
    const groups = segment.groups.slice(0, index)
    const whole = groups.at(-1)?.end ?? segment.headBytes
    return { ...read, segments: [...read.segments.slice(0, place), { ...segment, groups, whole }], torn: 0 }
  }
  return read
}
