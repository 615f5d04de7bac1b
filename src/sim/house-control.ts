/**
 * House control: computes the regulator's targets for each room, circuit and cylinder from programs, modes and the
 * weather.
 */
import type {
  SimulatedCircuit,
  SimulatedHouse,
  SimulatedTimerSlot,
  SimulatedWeekProgram,
  SimulatedZone,
} from './house-state.ts'

const DAY_MS = 86_400_000
const FROST_CELSIUS = 5

/** Returns 0 for Monday; the house keeps its local time as if it were UTC. */
export function computeWeekday(timeMs: number): number {
  return (new Date(timeMs).getUTCDay() + 6) % 7
}

/** Returns the slot that is active now; a slot of length zero is never active. */
export function findActiveSlot(program: SimulatedWeekProgram, timeMs: number): SimulatedTimerSlot | undefined {
  const minute = Math.floor((timeMs % DAY_MS) / 60_000)
  return program[computeWeekday(timeMs)]?.find(
    ({ startMinute, endMinute }) => minute >= startMinute && minute < endMinute,
  )
}

/** The first of these that applies decides the target: off, quick veto, holiday, manual mode, program. */
export function computeZoneTargetCelsius(zone: SimulatedZone, { timeMs, systemOff }: SimulatedHouse): number {
  if (systemOff || zone.mode === 'off') return FROST_CELSIUS
  if (zone.quickVeto !== undefined && zone.quickVeto.untilMs > timeMs) return zone.quickVeto.celsius
  if (zone.holiday !== undefined && zone.holiday.startMs <= timeMs && timeMs < zone.holiday.endMs)
    return zone.holiday.celsius
  if (zone.mode === 'manual') return zone.dayCelsius
  const slot = findActiveSlot(zone.program, timeMs)
  return slot === undefined ? zone.nightCelsius : (slot.celsius ?? zone.dayCelsius)
}

/**
 * Computes the flow temperature from the heating curve, raised by what the rooms lack; the pump stops when all rooms
 * are warm enough or the summer limit is exceeded.
 */
export function computeCircuitPumpAndFlow(
  circuit: SimulatedCircuit,
  index: number,
  house: SimulatedHouse,
): Pick<SimulatedCircuit, 'pumpOn' | 'flowSetCelsius'> {
  const zones = house.zones.filter((zone) => zone.circuit === index)
  // A hysteresis of 0.4 K (on below, off above) keeps the pump from switching on and off all the time.
  const needed = zones.filter((zone) => zone.roomCelsius < zone.targetCelsius + (circuit.pumpOn ? 0.25 : -0.15))
  const { outsideCelsius, averageCelsius } = house.weather
  const summer = averageCelsius > circuit.summerLimitCelsius
  if (needed.length === 0 || summer || house.systemOff) return { pumpOn: false, flowSetCelsius: 0 }
  const target = Math.max(...needed.map((zone) => zone.targetCelsius))
  const lack = Math.max(...needed.map((zone) => zone.targetCelsius - zone.roomCelsius))
  // The regulator's heating curve in its simplest form, plus 3 K for every degree that the coldest room lacks.
  const curve = target + 2 + circuit.curve * 0.95 * Math.max(0, target - outsideCelsius) + Math.max(0, lack) * 3
  return {
    pumpOn: true,
    flowSetCelsius: Math.max(circuit.flowMinCelsius, Math.min(circuit.flowMaxCelsius, curve)),
  }
}

/**
 * The cylinder is charged within its program once it has cooled by the hysteresis, until it is hot; a boost charges it
 * at once.
 */
export function isDhwDemanded({ dhw, timeMs, systemOff }: SimulatedHouse): boolean {
  const hot = dhw.topCelsius >= dhw.targetCelsius
  if (systemOff || dhw.mode === 'off' || hot) return false
  const allowed = dhw.boost || dhw.mode === 'manual' || findActiveSlot(dhw.program, timeMs) !== undefined
  return allowed && (dhw.charging || dhw.boost || dhw.topCelsius < dhw.targetCelsius - dhw.hysteresisK)
}
