/**
 * HomeSeer attempts: one call that should change nothing, and what of it can be seen: what reached the simulated
 * HomeSeer, whether the ledger has it, and what it says that the call would have reached.
 */
import type { Caller } from '../src/bus/call.ts'
import type { JsonObject } from '../src/core/json.ts'
import { readEntryTextField, readEntryTextListFieldOrEmpty } from '../src/ledger/entry.ts'
import type { LedgerEntry } from '../src/ledger/entry.ts'
import type { House, World } from './homeseer-rig.ts'

export interface Attempt {
  readonly how: string
  readonly tool: string
  readonly args: JsonObject
  readonly caller?: Caller
}

/** What reached HomeSeer, and what is not on record; empty where the attempt came to nothing. */
export async function reachedBy(
  house: House,
  { simulator }: World,
  attempt: Attempt,
  mustName: readonly string[] = [],
): Promise<readonly unknown[]> {
  const { how, tool, args, caller } = attempt
  const before = simulator.system.deeds.length
  const from = house.gateway.ledger.size()
  const answer = await house.call(tool, args, caller)
  const deeds = simulator.system.deeds.slice(before)
  const entries = house.gateway.ledger.entries(from, 100).map(({ entry }) => entry)
  const isRecorded = entries.some(({ kind, tool: recorded }) => kind === 'call.enter' && recorded === tool)
  const reached = reachedIn(entries)
  const isNamed = mustName.every((name) => reached.includes(name))
  return [
    ...(deeds.length === 0 ? [] : [{ how, answer, deeds }]),
    ...(isRecorded ? [] : [{ how, answer, recorded: entries }]),
    ...(isNamed ? [] : [{ how, mustName, reached, answer }]),
  ]
}

/** What the ends of calls name: what is acted on, what that sets in motion, and how much more it may be. */
function reachedIn(entries: readonly LedgerEntry[]): readonly string[] {
  return entries
    .filter(({ kind }) => kind === 'call.exit')
    .flatMap((end) => [
      readEntryTextField(end, 'target'),
      ...readEntryTextListFieldOrEmpty(end, 'touches'),
      ...readEntryTextListFieldOrEmpty(end, 'may_touch'),
      typeof end['may_touch_count'] === 'number' ? ANYTHING : undefined,
    ])
    .filter((name) => name !== undefined)
}

/** More than a list would help with: nobody could read what it does. */
export const ANYTHING = 'anything'
export const LOCK_TARGET = 'homeseer:ref:141'
