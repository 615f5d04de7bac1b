/**
 * Timer programs: the regulator's week, over B555 (720 family) and over B524 03/04 (700 family).
 *
 *   A3 what a program can hold   A4 slots per day   A5 read a slot   A6 write a slot
 */
import type { SimulatedTimerSlot, SimulatedWeekProgram } from '../house-state.ts'
import type { SimulatedPlant } from './simulated-plant.ts'
import { patchSimulatedZone } from './simulated-plant.ts'

/** Codes of an A6 answer; the first and third are also at the beginning of other answers. */
const OK = 0x00
const OUT_OF_RANGE = 0x01
const UNAVAILABLE = 0x03
const INVALID = 0x06

const NO_TEMPERATURE = 0xffff
const DHW_ZONE = 0xff
const MAX_ZONE_SLOTS = 12
const MAX_SHORT_SLOTS = 3
/** End of the day in ten-minute steps, which also marks an unused slot. */
const TTM_END = 0x90

interface Program {
  readonly kind: 'heating' | 'dhw' | 'circulation'
  readonly maxSlots: number
  /** In whole degrees; absent for a program without temperatures. */
  readonly limits: readonly [min: number, max: number] | undefined
  readonly week: SimulatedWeekProgram
  readonly store: (week: SimulatedWeekProgram) => void
}

function findProgram(plant: SimulatedPlant, zone: number, channel: number): Program | undefined {
  const { dhw, zones } = plant.house
  const found = zones[zone]
  if (channel === 0 && found !== undefined)
    return {
      kind: 'heating',
      maxSlots: MAX_ZONE_SLOTS,
      limits: [5, 30],
      week: found.program,
      store: (program) => patchSimulatedZone(plant, zone, { program }),
    }
  // Hot water has no zone, and also accepts 0.
  if (zone !== DHW_ZONE && zone !== 0) return undefined
  const short = { maxSlots: MAX_SHORT_SLOTS } as const
  if (channel === 2)
    return {
      ...short,
      kind: 'dhw',
      limits: [35, 65],
      week: dhw.program,
      store: (program) => (plant.house = { ...plant.house, dhw: { ...plant.house.dhw, program } }),
    }
  if (channel === 3)
    return {
      ...short,
      kind: 'circulation',
      limits: undefined,
      week: dhw.circulation,
      store: (circulation) => (plant.house = { ...plant.house, dhw: { ...plant.house.dhw, circulation } }),
    }
  return undefined
}

/** Answers service B555; `undefined` for an unknown request. */
export function answerTimerProgram(plant: SimulatedPlant, data: Uint8Array): Uint8Array | undefined {
  const [operation = 0, zone = 0, channel = 0, day = 0, index = 0] = data
  const program = findProgram(plant, zone, channel)
  if (operation === 0xa3 && data.length === 3) return configuration(program)
  if (operation === 0xa4 && data.length === 3) return slotCounts(program)
  if (operation === 0xa5 && data.length === 5) return readSlot(plant, program, { day, index })
  if (operation === 0xa6 && data.length === 12) return Uint8Array.of(writeSlot(plant, program, data))
  return undefined
}

/** Status, slots, resolution and least duration in minutes, whether and how many temperatures, °C from and to. */
function configuration(program: Program | undefined): Uint8Array {
  if (program === undefined) return Uint8Array.of(UNAVAILABLE, 0, 0, 0, 0, 0, 0, 0, 0)
  const { kind, maxSlots, limits } = program
  const temperatures = kind === 'heating' ? maxSlots : kind === 'dhw' ? 1 : 0
  return Uint8Array.of(
    OK,
    maxSlots,
    10,
    5,
    Number(limits !== undefined),
    temperatures,
    limits?.[0] ?? 0,
    limits?.[1] ?? 0,
    0,
  )
}

function slotCounts(program: Program | undefined): Uint8Array {
  if (program === undefined) return Uint8Array.of(UNAVAILABLE, 0, 0, 0, 0, 0, 0, 0, 0)
  return Uint8Array.of(OK, ...program.week.map((slots) => slots.length), 0)
}

function readSlot(
  plant: SimulatedPlant,
  program: Program | undefined,
  at: { readonly day: number; readonly index: number },
): Uint8Array {
  const slot = program?.week[at.day]?.[at.index]
  if (program === undefined || slot === undefined) return Uint8Array.of(UNAVAILABLE, 0, 0, 0, 0, 0xff, 0xff)
  // Hot water has one temperature for all slots: the setpoint itself.
  const celsius = program.kind === 'dhw' ? plant.house.dhw.targetCelsius : slot.celsius
  const tenths = celsius === undefined ? NO_TEMPERATURE : Math.round(celsius * 10)
  return Uint8Array.of(OK, ...clock(slot.startMinute), ...clock(slot.endMinute), tenths & 0xff, tenths >> 8)
}

/** A slot and the number of slots that its day has from now on; the other slots below that number are kept. */
function writeSlot(plant: SimulatedPlant, program: Program | undefined, data: Uint8Array): number {
  const [, zone = 0, , day = 0, index = 0, count = 0, startHour = 0, startMinute = 0, endHour = 0, endMinute = 0] = data
  const tenths = (data[10] ?? 0) | ((data[11] ?? 0) << 8)
  if (program === undefined) return UNAVAILABLE
  if (day > 6 || !isClock(startHour, startMinute) || !isClock(endHour, endMinute)) return OUT_OF_RANGE
  if (count < 1 || count > program.maxSlots || index >= count) return INVALID
  const refusal = refuseTemperature(program, tenths)
  if (refusal !== undefined) return refusal
  const slot: SimulatedTimerSlot = {
    startMinute: startHour * 60 + startMinute,
    endMinute: endHour * 60 + endMinute,
    celsius: program.kind === 'heating' ? tenths / 10 : undefined,
  }
  const wholeDay = slot.startMinute === 0 && slot.endMinute === 1_440
  // Real 720 controllers accept a whole day with a temperature for zone 0 only.
  if (program.kind === 'dhw' && zone === DHW_ZONE && wholeDay && tenths !== NO_TEMPERATURE) return INVALID
  const before = program.week[day] ?? []
  // A day whose slots are written one by one has empty ones in between.
  const unused: SimulatedTimerSlot = { startMinute: 0, endMinute: 0, celsius: slot.celsius }
  const after = Array.from({ length: count }, (_, at) => (at === index ? slot : (before[at] ?? unused)))
  program.store(program.week.map((slots, at) => (at === day ? after : slots)))
  if (program.kind === 'dhw' && tenths !== NO_TEMPERATURE)
    plant.house = { ...plant.house, dhw: { ...plant.house.dhw, targetCelsius: tenths / 10 } }
  return OK
}

function refuseTemperature({ kind, limits }: Program, tenths: number): number | undefined {
  if (tenths === NO_TEMPERATURE) return kind === 'heating' ? OUT_OF_RANGE : undefined
  if (limits === undefined) return OUT_OF_RANGE
  return tenths < limits[0] * 10 || tenths > limits[1] * 10 ? OUT_OF_RANGE : undefined
}

const clock = (minutes: number): readonly [number, number] => [Math.floor(minutes / 60), minutes % 60]
const isClock = (hour: number, minute: number): boolean => minute < 60 && (hour < 24 || (hour === 24 && minute === 0))

/** 700 family, after the opcode: `S1 S2 S3 WD`, in a write followed by three pairs of ten-minute steps. */
export function answerTimerProgram700(
  plant: SimulatedPlant,
  opcode: number,
  selector: Uint8Array,
): Uint8Array | undefined {
  const [group = 0, zone = 0, channel = 0, day = 0] = selector
  const program = shortProgram(plant, group, zone, channel)
  if (program === undefined || day > 6) return undefined
  if (opcode === 0x03) {
    const slots = program.week[day] ?? []
    const pairs = Array.from({ length: MAX_SHORT_SLOTS }, (_, at) => {
      const slot = slots[at]
      return slot === undefined ? [TTM_END, TTM_END] : [slot.startMinute / 10, slot.endMinute / 10].map(Math.floor)
    })
    // The first byte says whether the day has any slot.
    return Uint8Array.from([Number(slots.length > 0), ...pairs.flat()])
  }
  const steps = selector.subarray(4)
  if (opcode !== 0x04 || steps.length !== 2 * MAX_SHORT_SLOTS || steps.some((step) => step > TTM_END)) return undefined
  const slots: SimulatedTimerSlot[] = []
  for (let at = 0; at < steps.length; at += 2) {
    const [start = TTM_END, end = TTM_END] = steps.subarray(at)
    if (start < end) slots.push({ startMinute: start * 10, endMinute: end * 10, celsius: undefined })
  }
  program.store(program.week.map((before, at) => (at === day ? slots : before)))
  return new Uint8Array()
}

function shortProgram(plant: SimulatedPlant, group: number, zone: number, channel: number): Program | undefined {
  if (group === 0x03 && channel === 0x02) return findProgram(plant, zone, 0)
  if (group !== 0x01 || zone !== 0) return undefined
  if (channel === 0x01) return findProgram(plant, DHW_ZONE, 2)
  return channel === 0x02 ? findProgram(plant, DHW_ZONE, 3) : undefined
}
