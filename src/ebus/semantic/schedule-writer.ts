/**
 * Schedule writer: replaces one day of a weekly program, and looks afterwards whether that is what the regulator keeps.
 *
 *   read the day ▸ write its slots ▸ read it again ─▶ as wanted: done
 *                        │                        └▶ otherwise ▸ write back what was there ▸ read ─▶ restored, or not
 *                        └ refused, or no answer ──────▲
 *
 * An acknowledge proves nothing: regulators were seen to take every slot of a day and to keep the first.
 */
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { EbusRequest } from '../adapter/ebus-connection.ts'
import type { RegisterReadKey } from './read-key.ts'
import type { TimerSlot, TimerProgramId } from './timer-program.ts'
import {
  decodeB524Day,
  decodeTimerSlot,
  decodeTimerSlotCounts,
  encodeB524DayWrite,
  encodeTimerSlotWrite,
  isSameDaySchedule,
  encodeB524ProgramSelector,
  createTimerBusRequest,
} from './timer-program.ts'
import { toTimerSlotCountsReadKey, toB524ProgramDayReadKey, listTimerSlotReadKeys } from './schedule-reads.ts'
import type { RegisterReadFault } from './register-reader.ts'
import type { KnownRegulator } from './topology.ts'

export interface RegulatorAccess {
  /** From the bus, not from memory. */
  readonly read: (key: RegisterReadKey) => Promise<Result<Uint8Array, RegisterReadFault>>
  readonly write: (request: EbusRequest) => Promise<Result<Uint8Array, RegisterReadFault>>
  readonly pause: (ms: number) => Promise<void>
}

export interface ProgramDayLocation {
  readonly regulator: KnownRegulator
  readonly id: TimerProgramId
  readonly weekday: number
  /** What a slot that stands for nothing says; `undefined` where saying none is taken and keeps what is set. */
  readonly idleCelsius: number | undefined
}

export interface TimerSlotWriteResult {
  readonly index: number
  readonly accepted: boolean
  /** What the regulator answered; `undefined` when it did not. */
  readonly code: number | undefined
  readonly fault: RegisterReadFault | undefined
}

export type DayWriteOutcome =
  | {
      readonly kind: 'written'
      readonly before: readonly TimerSlot[]
      readonly results: readonly TimerSlotWriteResult[]
      readonly readBack: readonly TimerSlot[]
    }
  /** The day is as it was. */
  | {
      readonly kind: 'unchanged'
      readonly before: readonly TimerSlot[]
      readonly results: readonly TimerSlotWriteResult[]
      readonly restored: boolean
      readonly found: readonly TimerSlot[] | undefined
    }
  /** Nobody knows what the day is now. */
  | {
      readonly kind: 'unknown'
      readonly before: readonly TimerSlot[]
      readonly results: readonly TimerSlotWriteResult[]
      readonly found: readonly TimerSlot[] | undefined
    }

/** The internet gateway leaves 190 to 300 ms between two slots, and its days are kept. */
const SPACING_MS = 200
const REFUSED_BYTES = 1

export async function writeProgramDay(
  talk: RegulatorAccess,
  place: ProgramDayLocation,
  slots: readonly TimerSlot[],
): Promise<Result<DayWriteOutcome, RegisterReadFault>> {
  const before = await readProgramDay(talk, place)
  // Without knowing what is there, nothing could be put back.
  if (!before.ok) return before
  const results = await writeSlots(talk, place, slots)
  const found = await readProgramDay(talk, place)
  if (found.ok && isSameDaySchedule(slots, found.value) && results.every(({ accepted }) => accepted))
    return ok({ kind: 'written', before: before.value, results, readBack: found.value })
  const seen = found.ok ? found.value : undefined
  if (seen !== undefined && isAsBefore(before.value, seen))
    return ok({ kind: 'unchanged', before: before.value, results, restored: false, found: seen })
  await writeSlots(talk, place, before.value)
  const restored = await readProgramDay(talk, place)
  if (restored.ok && isAsBefore(before.value, restored.value))
    return ok({ kind: 'unchanged', before: before.value, results, restored: true, found: seen })
  return ok({ kind: 'unknown', before: before.value, results, found: restored.ok ? restored.value : seen })
}

/** The day as the regulator keeps it now. */
export async function readProgramDay(
  talk: RegulatorAccess,
  { regulator, id, weekday }: ProgramDayLocation,
): Promise<Result<readonly TimerSlot[], RegisterReadFault>> {
  if (regulator.timers !== 'b555') {
    const answer = await talk.read(toB524ProgramDayReadKey(regulator.address, id, weekday))
    if (!answer.ok) return answer
    const day = decodeB524Day(answer.value)
    return day === undefined ? fail(NO_PROGRAM) : ok(day)
  }
  const counts = await talk.read(toTimerSlotCountsReadKey(regulator.address, id))
  if (!counts.ok) return counts
  const count = decodeTimerSlotCounts(counts.value)?.[weekday]
  if (count === undefined) return fail(NO_PROGRAM)
  const slots: TimerSlot[] = []
  for (const key of listTimerSlotReadKeys(regulator.address, id, { weekday, count })) {
    const answer = await talk.read(key)
    if (!answer.ok) return answer
    const slot = decodeTimerSlot(answer.value)
    if (slot === undefined) return fail(NO_PROGRAM)
    slots.push(slot)
  }
  return ok(slots)
}

/** A program that the regulator has in one telegram and not in the next. */
const NO_PROGRAM: RegisterReadFault = { kind: 'refused' }

/** Stops at the first slot that is not taken: what follows would make it worse. */
async function writeSlots(
  talk: RegulatorAccess,
  place: ProgramDayLocation,
  slots: readonly TimerSlot[],
): Promise<readonly TimerSlotWriteResult[]> {
  const results: TimerSlotWriteResult[] = []
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
  { regulator, id, weekday, idleCelsius }: ProgramDayLocation,
  slots: readonly TimerSlot[],
): readonly EbusRequest[] {
  const { timers, address } = regulator
  if (timers !== 'b555')
    return [createTimerBusRequest('b524', address, encodeB524DayWrite(encodeB524ProgramSelector(id), weekday, slots))]
  const written = slots.length > 0 ? slots : [{ startMinute: 0, endMinute: 0, celsius: idleCelsius }]
  return written.map((slot, index) =>
    createTimerBusRequest('b555', address, encodeTimerSlotWrite(id, { weekday, index, count: written.length }, slot)),
  )
}

/** Here temperatures count: they are part of what was there. */
function isAsBefore(before: readonly TimerSlot[], now: readonly TimerSlot[]): boolean {
  return isSameDaySchedule(before, now) && isSameDaySchedule(now, before)
}
