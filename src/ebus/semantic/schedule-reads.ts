/**
 * Schedule reads: which telegrams it takes to know the weekly programs of a regulator, and what they say together.
 */
import type { PlannedRead } from './read-plan.ts'
import type { ReadKey } from './read-key.ts'
import { TIMER_CONFIG, TIMER_COUNTS, TIMER_SLOT, timerKey700, timerKey } from './read-key.ts'
import type { ProgramChannel, DaySlot, ProgramConfig, ProgramId } from './schedule.ts'
import {
  PROGRAM_CHANNELS,
  NO_ZONE,
  SLOTS_PER_DAY_700,
  WEEKDAYS,
  decodeProgramConfig,
  decodeDay700,
  decodeSlot,
  decodeSlotCounts,
  encodeSelector700,
} from './schedule.ts'
import type { RegisterShadow } from './shadow.ts'
import type { KnownRegulator, HeatingTopology } from './topology.ts'

export interface KnownProgram extends ProgramId {
  readonly config: ProgramConfig | undefined
  readonly counts: readonly number[] | undefined
  /** A day of which not every slot was read yet is `undefined`. */
  readonly days: readonly (readonly DaySlot[] | undefined)[]
  /** Keys that it was made of. */
  readonly keys: readonly ReadKey[]
}

const ZONED: readonly ProgramChannel[] = ['heating', 'cooling']
const SHARED: readonly ProgramChannel[] = ['dhw', 'circulation', 'silent']

export function listProgramIds(topology: HeatingTopology): readonly ProgramId[] {
  return [
    ...topology.zones().flatMap((zone) => ZONED.map((channel) => ({ zone, channel }))),
    ...SHARED.map((channel) => ({ zone: NO_ZONE, channel })),
  ]
}

export function planProgramReads(topology: HeatingTopology, shadow: RegisterShadow): readonly PlannedRead[] {
  const { regulator } = topology
  if (regulator === undefined || regulator.timers === undefined || regulator.timers === 'none') return []
  return listProgramIds(topology).flatMap((id) =>
    regulator.timers === 'b555' ? longReads(regulator.address, id, shadow) : shortReads(regulator.address, id),
  )
}

/** The one key under which a 700 keeps a day; `undefined` for a program it has no place for. */
export function programDayKey700(address: number, id: ProgramId, weekday: number): ReadKey | undefined {
  const selector = encodeSelector700(id)
  return selector === undefined ? undefined : timerKey700(address, [...selector, weekday])
}

export function configKey(address: number, { zone, channel }: ProgramId): ReadKey {
  return timerKey(address, [TIMER_CONFIG, zone, PROGRAM_CHANNELS.indexOf(channel)])
}

export function countsKey(address: number, { zone, channel }: ProgramId): ReadKey {
  return timerKey(address, [TIMER_COUNTS, zone, PROGRAM_CHANNELS.indexOf(channel)])
}

/** Of the first `count` slots of a day. */
export function slotKeys(
  address: number,
  { zone, channel }: ProgramId,
  { weekday, count }: { readonly weekday: number; readonly count: number },
): readonly ReadKey[] {
  const program = [TIMER_SLOT, zone, PROGRAM_CHANNELS.indexOf(channel), weekday]
  return Array.from({ length: count }, (_, slot) => timerKey(address, [...program, slot]))
}

/** What is known of a program; `undefined` when the regulator does not have it, or nobody asked yet. */
export function readKnownProgram(
  regulator: KnownRegulator,
  id: ProgramId,
  shadow: RegisterShadow,
): KnownProgram | undefined {
  return regulator.timers === 'b555'
    ? longProgram(regulator.address, id, shadow)
    : shortProgram(regulator.address, id, shadow)
}

function longReads(address: number, id: ProgramId, shadow: RegisterShadow): readonly PlannedRead[] {
  const reads: PlannedRead[] = [{ key: configKey(address, id), freshness: 'discovery' }]
  if (answered(shadow, configKey(address, id), decodeProgramConfig) === undefined) return reads
  reads.push({ key: countsKey(address, id), freshness: 'config' })
  const counts = answered(shadow, countsKey(address, id), decodeSlotCounts) ?? []
  for (const [weekday, count] of counts.entries())
    for (const key of slotKeys(address, id, { weekday, count })) reads.push({ key, freshness: 'discovery' })
  return reads
}

function shortReads(address: number, id: ProgramId): readonly PlannedRead[] {
  const selector = encodeSelector700(id)
  if (selector === undefined) return []
  return WEEKDAYS.map((_, weekday) => ({ key: timerKey700(address, [...selector, weekday]), freshness: 'discovery' }))
}

function longProgram(address: number, id: ProgramId, shadow: RegisterShadow): KnownProgram | undefined {
  const config = answered(shadow, configKey(address, id), decodeProgramConfig)
  if (config === undefined) return undefined
  const counts = answered(shadow, countsKey(address, id), decodeSlotCounts)
  const keys = [configKey(address, id), countsKey(address, id)]
  const days = WEEKDAYS.map((_, weekday) => {
    const slots = slotKeys(address, id, { weekday, count: counts?.[weekday] ?? 0 })
    keys.push(...slots)
    const read = slots.map((key) => answered(shadow, key, decodeSlot))
    return counts === undefined || read.includes(undefined) ? undefined : read.filter((slot) => slot !== undefined)
  })
  return { ...id, config, counts, days, keys }
}

function shortProgram(address: number, id: ProgramId, shadow: RegisterShadow): KnownProgram | undefined {
  const selector = encodeSelector700(id)
  if (selector === undefined) return undefined
  const keys = WEEKDAYS.map((_, weekday) => timerKey700(address, [...selector, weekday]))
  const days = keys.map((key) => answered(shadow, key, decodeDay700))
  if (days.every((day) => day === undefined)) return undefined
  return {
    ...id,
    keys,
    days,
    counts: days.some((day) => day === undefined) ? undefined : days.map((day) => day?.length ?? 0),
    config: {
      maxSlots: SLOTS_PER_DAY_700,
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
  key: ReadKey,
  decode: (payload: Uint8Array) => Value | undefined,
): Value | undefined {
  const entry = shadow.get(key)
  return entry === undefined || entry.state === 'tombstone' ? undefined : decode(entry.payload)
}
