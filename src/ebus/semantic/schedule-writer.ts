/**
 * Schedule writer: replaces one day of a weekly program, and looks afterwards whether that is what the regulator keeps.
 *
 *   read the day ▸ write its slots ▸ read it again ─▶ as wanted: done
 *                        │                        └▶ otherwise ▸ write back what was there ▸ read ─▶ restored, or not
 *                        └ refused, or no answer ──────▲
 *
 * An acknowledge proves nothing: regulators were seen to take every slot of a day and to keep the first.
 *
 * Pure, given somebody who talks to the regulator.
 */
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { BusRequest } from '../adapter/bus.ts'
import type { ReadKey } from './read-key.ts'
import type { DaySlot, ProgramId } from './schedule.ts'
import {
  decodeDay700,
  decodeSlot,
  decodeSlotCounts,
  encodeDay700,
  encodeSlotWrite,
  isSameDay,
  encodeSelector700,
  encodeTimerRequest,
} from './schedule.ts'
import { countsKey, programDayKey700, slotKeys } from './schedule-reads.ts'
import type { ReadFault } from './read-scheduler.ts'
import type { KnownRegulator } from './topology.ts'

export interface RegulatorLink {
  /** From the bus, not from memory. */
  readonly read: (key: ReadKey) => Promise<Result<Uint8Array, ReadFault>>
  readonly write: (request: BusRequest) => Promise<Result<Uint8Array, ReadFault>>
  readonly pause: (ms: number) => Promise<void>
}

export interface DayPlace {
  readonly regulator: KnownRegulator
  readonly id: ProgramId
  readonly weekday: number
  /** What a slot that stands for nothing says; `undefined` where saying none is taken and keeps what is set. */
  readonly idleCelsius: number | undefined
}

export interface SlotResult {
  readonly index: number
  readonly accepted: boolean
  /** What the regulator answered; `undefined` when it did not. */
  readonly code: number | undefined
  readonly fault: ReadFault | undefined
}

export type DayOutcome =
  | {
      readonly kind: 'written'
      readonly before: readonly DaySlot[]
      readonly results: readonly SlotResult[]
      readonly readBack: readonly DaySlot[]
    }
  /** The day is as it was. */
  | {
      readonly kind: 'unchanged'
      readonly before: readonly DaySlot[]
      readonly results: readonly SlotResult[]
      readonly restored: boolean
      readonly found: readonly DaySlot[] | undefined
    }
  /** Nobody knows what the day is now. */
  | {
      readonly kind: 'unknown'
      readonly before: readonly DaySlot[]
      readonly results: readonly SlotResult[]
      readonly found: readonly DaySlot[] | undefined
    }

/** The internet gateway leaves 190 to 300 ms between two slots, and its days are kept. */
const SPACING_MS = 200
const REFUSED_BYTES = 1

export async function writeDay(
  talk: RegulatorLink,
  place: DayPlace,
  slots: readonly DaySlot[],
): Promise<Result<DayOutcome, ReadFault>> {
  const before = await readDay(talk, place)
  // Without knowing what is there, nothing could be put back.
  if (!before.ok) return before
  const results = await writeSlots(talk, place, slots)
  const found = await readDay(talk, place)
  if (found.ok && isSameDay(slots, found.value) && results.every(({ accepted }) => accepted))
    return ok({ kind: 'written', before: before.value, results, readBack: found.value })
  const seen = found.ok ? found.value : undefined
  if (seen !== undefined && isAsBefore(before.value, seen))
    return ok({ kind: 'unchanged', before: before.value, results, restored: false, found: seen })
  await writeSlots(talk, place, before.value)
  const restored = await readDay(talk, place)
  if (restored.ok && isAsBefore(before.value, restored.value))
    return ok({ kind: 'unchanged', before: before.value, results, restored: true, found: seen })
  return ok({ kind: 'unknown', before: before.value, results, found: restored.ok ? restored.value : seen })
}

/** The day as the regulator keeps it now. */
export async function readDay(
  talk: RegulatorLink,
  { regulator, id, weekday }: DayPlace,
): Promise<Result<readonly DaySlot[], ReadFault>> {
  if (regulator.timers !== 'b555') {
    const key = programDayKey700(regulator.address, id, weekday)
    const answer = key === undefined ? fail(NO_PROGRAM) : await talk.read(key)
    if (!answer.ok) return answer
    const day = decodeDay700(answer.value)
    return day === undefined ? fail(NO_PROGRAM) : ok(day)
  }
  const counts = await talk.read(countsKey(regulator.address, id))
  if (!counts.ok) return counts
  const count = decodeSlotCounts(counts.value)?.[weekday]
  if (count === undefined) return fail(NO_PROGRAM)
  const slots: DaySlot[] = []
  for (const key of slotKeys(regulator.address, id, { weekday, count })) {
    const answer = await talk.read(key)
    if (!answer.ok) return answer
    const slot = decodeSlot(answer.value)
    if (slot === undefined) return fail(NO_PROGRAM)
    slots.push(slot)
  }
  return ok(slots)
}

/** A program that the regulator has in one telegram and not in the next. */
const NO_PROGRAM: ReadFault = { kind: 'refused' }

/** Stops at the first slot that is not taken: what follows would make it worse. */
async function writeSlots(
  talk: RegulatorLink,
  place: DayPlace,
  slots: readonly DaySlot[],
): Promise<readonly SlotResult[]> {
  const results: SlotResult[] = []
  for (const [index, request] of writeRequests(place, slots).entries()) {
    if (index > 0) await talk.pause(SPACING_MS)
    const answer = await talk.write(request)
    const code = answer.ok ? codeOf(answer.value) : undefined
    const result = { index, code, accepted: code === 0, fault: answer.ok ? undefined : answer.fault }
    results.push(result)
    if (!result.accepted) break
  }
  return results
}

/** Nothing at all, or one byte that is 00, means taken. */
function codeOf(answer: Uint8Array): number {
  return answer.length === REFUSED_BYTES ? (answer[0] ?? 0) : 0
}

/** A day without slots is written as one of no length: B555 knows no number of slots below one. */
function writeRequests(
  { regulator, id, weekday, idleCelsius }: DayPlace,
  slots: readonly DaySlot[],
): readonly BusRequest[] {
  const { timers, address } = regulator
  if (timers !== 'b555') {
    const selector = encodeSelector700(id)
    return selector === undefined ? [] : [encodeTimerRequest('b524', address, encodeDay700(selector, weekday, slots))]
  }
  const written = slots.length > 0 ? slots : [{ startMinute: 0, endMinute: 0, celsius: idleCelsius }]
  return written.map((slot, index) =>
    encodeTimerRequest('b555', address, encodeSlotWrite(id, { weekday, index, count: written.length }, slot)),
  )
}

/** Here temperatures count: they are part of what was there. */
function isAsBefore(before: readonly DaySlot[], now: readonly DaySlot[]): boolean {
  return isSameDay(before, now) && isSameDay(now, before)
}
