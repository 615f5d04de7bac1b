/**
 * Schedule reads: which telegrams it takes to know the weekly programs of a regulator, and what they say together.
 */
import type { PlannedRead } from './read-plan.ts'
import type { RegisterReadKey } from './read-key.ts'
import {
  TIMER_PROGRAM_LIMITS_OPCODE,
  TIMER_SLOT_COUNTS_OPCODE,
  TIMER_SLOT_READ_OPCODE,
  toB524TimerReadKey,
  toB555TimerReadKey,
} from './read-key.ts'
import type { TimerProgramChannel, TimerSlot, TimerProgramLimits, TimerProgramId } from './timer-program.ts'
import {
  TIMER_PROGRAM_CHANNELS,
  NO_ZONE_NUMBER,
  B524_SLOTS_PER_DAY,
  WEEKDAYS,
  decodeTimerProgramLimits,
  decodeB524Day,
  decodeTimerSlot,
  decodeTimerSlotCounts,
  encodeB524ProgramSelector,
} from './timer-program.ts'
import type { RegisterShadow } from './register-shadow.ts'
import type { KnownRegulator, HeatingTopology } from './topology.ts'

export interface PartlyReadTimerProgram extends TimerProgramId {
  readonly config: TimerProgramLimits | undefined
  readonly counts: readonly number[] | undefined
  /** A day of which not every slot was read yet is `undefined`. */
  readonly days: readonly (readonly TimerSlot[] | undefined)[]
  /** Keys that it was made of. */
  readonly keys: readonly RegisterReadKey[]
}

const ZONED: readonly TimerProgramChannel[] = ['heating', 'cooling']
const SHARED: readonly TimerProgramChannel[] = ['dhw', 'circulation', 'silent']

export function listTimerProgramIds(topology: HeatingTopology): readonly TimerProgramId[] {
  return [
    ...topology.zones().flatMap((zone) => ZONED.map((channel) => ({ zone, channel }))),
    ...SHARED.map((channel) => ({ zone: NO_ZONE_NUMBER, channel })),
  ]
}

export function planTimerProgramReads(topology: HeatingTopology, shadow: RegisterShadow): readonly PlannedRead[] {
  const { regulator } = topology
  if (regulator === undefined || regulator.timers === undefined || regulator.timers === 'none') return []
  return listTimerProgramIds(topology).flatMap((id) =>
    regulator.timers === 'b555' ? longReads(regulator.address, id, shadow) : shortReads(regulator.address, id),
  )
}

/** The one key under which a 700 keeps a day. */
export function toB524ProgramDayReadKey(address: number, id: TimerProgramId, weekday: number): RegisterReadKey {
  return toB524TimerReadKey(address, [...encodeB524ProgramSelector(id), weekday])
}

export function toTimerProgramLimitsReadKey(address: number, { zone, channel }: TimerProgramId): RegisterReadKey {
  return toB555TimerReadKey(address, [TIMER_PROGRAM_LIMITS_OPCODE, zone, TIMER_PROGRAM_CHANNELS.indexOf(channel)])
}

export function toTimerSlotCountsReadKey(address: number, { zone, channel }: TimerProgramId): RegisterReadKey {
  return toB555TimerReadKey(address, [TIMER_SLOT_COUNTS_OPCODE, zone, TIMER_PROGRAM_CHANNELS.indexOf(channel)])
}

/** Of the first `count` slots of a day. */
export function listTimerSlotReadKeys(
  address: number,
  { zone, channel }: TimerProgramId,
  { weekday, count }: { readonly weekday: number; readonly count: number },
): readonly RegisterReadKey[] {
  const program = [TIMER_SLOT_READ_OPCODE, zone, TIMER_PROGRAM_CHANNELS.indexOf(channel), weekday]
  return Array.from({ length: count }, (_, slot) => toB555TimerReadKey(address, [...program, slot]))
}

/** What is known of a program; `undefined` when the regulator does not have it, or nobody asked yet. */
export function readPartlyKnownTimerProgram(
  regulator: KnownRegulator,
  id: TimerProgramId,
  shadow: RegisterShadow,
): PartlyReadTimerProgram | undefined {
  return regulator.timers === 'b555'
    ? longProgram(regulator.address, id, shadow)
    : shortProgram(regulator.address, id, shadow)
}

function longReads(address: number, id: TimerProgramId, shadow: RegisterShadow): readonly PlannedRead[] {
  const reads: PlannedRead[] = [{ key: toTimerProgramLimitsReadKey(address, id), freshness: 'discovery' }]
  if (answered(shadow, toTimerProgramLimitsReadKey(address, id), decodeTimerProgramLimits) === undefined) return reads
  reads.push({ key: toTimerSlotCountsReadKey(address, id), freshness: 'config' })
  const counts = answered(shadow, toTimerSlotCountsReadKey(address, id), decodeTimerSlotCounts) ?? []
  for (const [weekday, count] of counts.entries())
    for (const key of listTimerSlotReadKeys(address, id, { weekday, count }))
      reads.push({ key, freshness: 'discovery' })
  return reads
}

function shortReads(address: number, id: TimerProgramId): readonly PlannedRead[] {
  return WEEKDAYS.map((_, weekday) => ({
    key: toB524ProgramDayReadKey(address, id, weekday),
    freshness: 'discovery',
  }))
}

function longProgram(address: number, id: TimerProgramId, shadow: RegisterShadow): PartlyReadTimerProgram | undefined {
  const config = answered(shadow, toTimerProgramLimitsReadKey(address, id), decodeTimerProgramLimits)
  if (config === undefined) return undefined
  const counts = answered(shadow, toTimerSlotCountsReadKey(address, id), decodeTimerSlotCounts)
  const keys = [toTimerProgramLimitsReadKey(address, id), toTimerSlotCountsReadKey(address, id)]
  const days = WEEKDAYS.map((_, weekday) => {
    const slots = listTimerSlotReadKeys(address, id, { weekday, count: counts?.[weekday] ?? 0 })
    keys.push(...slots)
    const read = slots.map((key) => answered(shadow, key, decodeTimerSlot))
    return counts === undefined || read.includes(undefined) ? undefined : read.filter((slot) => slot !== undefined)
  })
  return { ...id, config, counts, days, keys }
}

function shortProgram(address: number, id: TimerProgramId, shadow: RegisterShadow): PartlyReadTimerProgram | undefined {
  const keys = WEEKDAYS.map((_, weekday) => toB524ProgramDayReadKey(address, id, weekday))
  const days = keys.map((key) => answered(shadow, key, decodeB524Day))
  if (days.every((day) => day === undefined)) return undefined
  return {
    ...id,
    keys,
    days,
    counts: days.some((day) => day === undefined) ? undefined : days.map((day) => day?.length ?? 0),
    config: {
      maxSlots: B524_SLOTS_PER_DAY,
      resolutionMinutes: 10,
      minMinutes: 10,
      hasTemperature: false,
      temperatureSlots: 0,
      minCelsius: undefined,
      maxCelsius: undefined,
    },
  }
}

/** What was read and is still believed; what somebody changed since is not. */
function answered<Value>(
  shadow: RegisterShadow,
  key: RegisterReadKey,
  decode: (payload: Uint8Array) => Value | undefined,
): Value | undefined {
  const entry = shadow.get(key)
  return entry === undefined || entry.state === 'tombstone' ? undefined : decode(entry.payload)
}
