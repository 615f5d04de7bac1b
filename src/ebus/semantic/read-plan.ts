/**
 * Read plan: all values that are read on this bus, by importance, and which of them are due.
 *
 *   regulator? ▸ what there is (zones, circuits) ▸ the essential values of every plane ▸ one read of the rest
 *     ▸ state ▸ configuration ▸ weekly programs
 *
 * A value that another initiator has read counts as read, so only other values are requested.
 */
import {
  BOILER_CONFIG_REGISTERS,
  BOILER_DIAGNOSTIC_REGISTERS,
  BOILER_STATE_REGISTERS,
  decodeBoilerValue,
} from './boiler-register-map.ts'
import type { BoilerRegister } from './boiler-register-map.ts'
import { readBusTime } from './bus-clock.ts'
import { listEnergySelectors } from './energy-selector.ts'
import { isFm5Interpretable } from './fm5-module.ts'
import { HEAT_PUMP_REGISTERS, HEAT_PUMP_STATE_BLOCK_NUMBER } from './heat-pump-register-map.ts'
import type { HeatPumpRegister } from './heat-pump-register-map.ts'
import type { RegisterReadKey } from './read-key.ts'
import {
  CURRENT_ERRORS_SELECTOR,
  ERROR_KIND_SELECTORS,
  READ_KEY_KINDS,
  TIMER_PROGRAM_LIMITS_OPCODE,
  toBoilerReadKey,
  decodeReadKeyBytes,
  toEnergyReadKey,
  toErrorsReadKey,
  toHeatPumpReadKey,
  decodeReadKeyKind,
  toRegisterReadKey,
  toStatusReadKey,
} from './read-key.ts'
import type { FreshnessClass, RegulatorRegister } from './register.ts'
import {
  CIRCUIT_REGISTERS,
  CYLINDER_REGISTERS,
  HOT_WATER_REGISTERS,
  MAX_INSTANCE_COUNT,
  REMOTE_REGISTER_GROUP_NUMBERS,
  SOLAR_REGISTERS,
  SYSTEM_REGISTERS,
  ZONE_REGISTERS,
  requireRemoteDeviceRegisters,
} from './regulator-register-map.ts'
import { planTimerProgramReads } from './schedule-reads.ts'
import type { ShadowEntry, RegisterShadow } from './register-shadow.ts'
import { SHADOW_CLOCK_SLACK_MS } from './register-shadow.ts'
import type { HeatingTopology } from './topology.ts'
import { DHW_CIRCUIT_INSTANCE } from './topology.ts'

export interface PlannedRead {
  readonly key: RegisterReadKey
  readonly freshness: FreshnessClass
  /** Whether a plane is useless without it. */
  readonly essential?: boolean
}

/** In multiples of the owner's poll interval. */
const CADENCE: Readonly<Record<FreshnessClass, number>> = {
  state_fast: 1,
  state_slow: 2,
  config: 5,
  discovery: 30,
  debug: 30,
}
/** Absent things are read this many times less often. */
const TOMBSTONE_FACTOR = 10
const CYLINDERS = 2

export function computePollIntervalMs(freshness: FreshnessClass, pollMs: number): number {
  return CADENCE[freshness] * pollMs
}

/** A value that is older than this has missed more than two reads. */
export function computeStaleAfterMs(freshness: FreshnessClass, pollMs: number): number {
  return 3 * computePollIntervalMs(freshness, pollMs)
}

export function planReads(topology: HeatingTopology, shadow: RegisterShadow, nowMs: number): readonly PlannedRead[] {
  const { regulator, boiler } = topology
  const plan: PlannedRead[] = []
  const read = (key: RegisterReadKey, freshness: FreshnessClass, essential = false): void => {
    plan.push({ key, freshness, essential })
  }
  if (regulator === undefined) {
    for (const address of topology.candidates())
      read(toRegisterReadKey(address, SYSTEM_REGISTERS.outdoorTemperature), 'state_fast')
  } else {
    const { address } = regulator
    const add = (registers: Iterable<RegulatorRegister>, instance = 0): void => {
      for (const register of registers)
        if (register.secret !== true)
          read(toRegisterReadKey(address, register, instance), register.freshness, ESSENTIAL.has(register))
    }
    // Eight of them; see FIRST_LOOK.
    add([SYSTEM_REGISTERS.systemScheme, SYSTEM_REGISTERS.moduleConfiguration])
    for (let instance = 0; instance < 3; instance++) add([ZONE_REGISTERS.index, CIRCUIT_REGISTERS.type], instance)
    if (topology.lacksZoneIndex)
      for (let instance = 0; instance < 3; instance++) add([ZONE_REGISTERS.operatingMode], instance)
    for (const instance of topology.zones()) add(Object.values(ZONE_REGISTERS), instance)
    add(Object.values(HOT_WATER_REGISTERS))
    for (const instance of topology.circuits())
      add(
        instance === DHW_CIRCUIT_INSTANCE
          ? [CIRCUIT_REGISTERS.flowTemperature, CIRCUIT_REGISTERS.calculatedFlow]
          : Object.values(CIRCUIT_REGISTERS),
        instance,
      )
    add(Object.values(SYSTEM_REGISTERS))
    for (const group of REMOTE_REGISTER_GROUP_NUMBERS)
      for (const instance of topology.slotsToLookInto(group)) {
        const registers = requireRemoteDeviceRegisters(group)
        add([registers.connected], instance)
        if (topology.slotConnected(group, instance) === true) add(Object.values(registers), instance)
      }
    if (isFm5Interpretable(topology, shadow)) {
      add(Object.values(SOLAR_REGISTERS))
      for (let instance = 0; instance < CYLINDERS; instance++) add(Object.values(CYLINDER_REGISTERS), instance)
    }
    plan.push(...planTimerProgramReads(topology, shadow))
    const date = readBusTime(shadow, nowMs)
    if (date !== undefined) for (const selector of listEnergySelectors(date)) read(toEnergyReadKey(selector), 'config')
    for (let instance = 3; instance < MAX_INSTANCE_COUNT; instance++)
      add([ZONE_REGISTERS.index, CIRCUIT_REGISTERS.type], instance)
  }
  if (boiler?.registers === 'bai') {
    for (const kind of Object.values(ERROR_KIND_SELECTORS))
      read(toErrorsReadKey(boiler.address, [CURRENT_ERRORS_SELECTOR, kind]), 'state_slow', true)
    for (const part of [BOILER_STATE_REGISTERS, BOILER_CONFIG_REGISTERS, BOILER_DIAGNOSTIC_REGISTERS])
      for (const register of Object.values<BoilerRegister>(part))
        for (const number of boilerNumbers(boiler.address, register, shadow))
          read(toBoilerReadKey(boiler.address, number), register.freshness, ESSENTIAL.has(register))
  }
  const { heatPump } = topology
  if (heatPump?.registers === 'hmu') {
    read(toStatusReadKey(heatPump.address, HEAT_PUMP_STATE_BLOCK_NUMBER), 'state_fast', true)
    for (const register of Object.values<HeatPumpRegister>(HEAT_PUMP_REGISTERS))
      read(toHeatPumpReadKey(heatPump.address, register), register.freshness, ESSENTIAL.has(register))
  }
  return inOrder(unique(plan))
}

/** The fallback register is only read if the register itself has answered without a usable value. */
function boilerNumbers(address: number, register: BoilerRegister, shadow: RegisterShadow): readonly number[] {
  const { number, fallback } = register
  const entry = shadow.get(toBoilerReadKey(address, number))
  if (fallback === undefined || entry === undefined) return [number]
  return decodeBoilerValue(register, entry.payload) === undefined ? [number, fallback] : [number]
}

/** The most important values: temperatures, setpoints, whether it heats, and errors. */
const ESSENTIAL: ReadonlySet<RegulatorRegister | BoilerRegister | HeatPumpRegister> = new Set<
  RegulatorRegister | BoilerRegister | HeatPumpRegister
>([
  ZONE_REGISTERS.roomTemperature,
  ZONE_REGISTERS.currentSetpoint,
  ZONE_REGISTERS.operatingMode,
  ZONE_REGISTERS.specialFunction,
  ZONE_REGISTERS.daySetpoint,
  ZONE_REGISTERS.namePart1,
  ZONE_REGISTERS.namePart2,
  HOT_WATER_REGISTERS.current,
  HOT_WATER_REGISTERS.target,
  HOT_WATER_REGISTERS.operatingMode,
  HOT_WATER_REGISTERS.specialFunction,
  CIRCUIT_REGISTERS.flowTemperature,
  CIRCUIT_REGISTERS.state,
  SYSTEM_REGISTERS.outdoorTemperature,
  SYSTEM_REGISTERS.waterPressure,
  SYSTEM_REGISTERS.gasHeatingTotal,
  SYSTEM_REGISTERS.electricHeatingTotal,
  SOLAR_REGISTERS.collector,
  CYLINDER_REGISTERS.temperature,
  BOILER_STATE_REGISTERS.flow_temperature_c,
  BOILER_STATE_REGISTERS.flame_active,
  BOILER_STATE_REGISTERS.water_pressure_bar,
  HEAT_PUMP_REGISTERS.flow,
  HEAT_PUMP_REGISTERS.environmentPower,
  HEAT_PUMP_REGISTERS.electricPower,
  HEAT_PUMP_REGISTERS.compressorUse,
])

/**
 * What exists has to be known before its state; settings can wait. In between, slots and programs are read once,
 * without which whole planes are empty.
 */
function stageOf({ freshness, essential, key }: PlannedRead): number {
  if (essential === true) return 1
  if (isFirstSight(key)) return 2
  return STAGE[freshness]
}
const STAGE: Readonly<Record<FreshnessClass, number>> = {
  state_fast: 3,
  state_slow: 3,
  config: 4,
  discovery: 5,
  debug: 5,
}

/** Whether a slot is used, and what a program can hold. */
function isFirstSight(key: RegisterReadKey): boolean {
  const [first, , , high, low] = decodeReadKeyBytes(key)
  if (decodeReadKeyKind(key) === READ_KEY_KINDS.timer) return first === TIMER_PROGRAM_LIMITS_OPCODE
  return decodeReadKeyKind(key) === READ_KEY_KINDS.register && first === 0x06 && high === 0x00 && low === 0x01
}

/** Scheme, module, and the first three zones and circuits. */
const FIRST_LOOK = 8

function inOrder(plan: readonly PlannedRead[]): readonly PlannedRead[] {
  const first = plan.slice(0, FIRST_LOOK)
  return [...first, ...plan.slice(FIRST_LOOK).toSorted((left, right) => stageOf(left) - stageOf(right))]
}

/** Never read, or no longer valid. */
export function isReadMissing(shadow: RegisterShadow, key: RegisterReadKey): boolean {
  const entry = shadow.get(key)
  return entry === undefined || entry.state === 'invalidated'
}

/** For a plane that a caller waits for: the next unknown value, essential ones first. */
export function findNextRequestedRead(
  plan: readonly PlannedRead[],
  shadow: RegisterShadow,
  {
    isAsked,
    isOpen,
  }: { readonly isAsked: (key: RegisterReadKey) => boolean; readonly isOpen: (key: RegisterReadKey) => boolean },
): PlannedRead | undefined {
  const isUnread = ({ key }: PlannedRead): boolean => isReadMissing(shadow, key) && isAsked(key) && !isOpen(key)
  return plan.find((read) => read.essential === true && isUnread(read)) ?? plan.find(isUnread)
}

/** The most important read that is due: values that were never read, in the plan's order, then the most overdue one. */
export function findNextDueRead(
  plan: readonly PlannedRead[],
  shadow: RegisterShadow,
  {
    pollMs,
    nowMs,
    isOpen,
  }: { readonly pollMs: number; readonly nowMs: number; readonly isOpen: (key: RegisterReadKey) => boolean },
): PlannedRead | undefined {
  let best: PlannedRead | undefined
  let bestLateness = 1
  for (const read of plan) {
    if (isOpen(read.key)) continue
    const entry = shadow.get(read.key)
    if (entry === undefined) return read
    const everyMs = computePollIntervalMs(read.freshness, pollMs) * (entry.state === 'tombstone' ? TOMBSTONE_FACTOR : 1)
    const lateness = latenessOf(entry, everyMs, nowMs)
    if (lateness < bestLateness) continue
    best = read
    bestLateness = lateness
    if (lateness === Infinity) return best
  }
  return best
}

/** A lateness of 1 means that it is due just now. */
function latenessOf(entry: ShadowEntry, everyMs: number, nowMs: number): number {
  // It was changed, or is from the last run: it is shown, and read again.
  if (entry.state === 'invalidated' || entry.source === 'cache') return Infinity
  // Its time is in the future: the clock was set back, and its age is unknown.
  if (entry.atMs - nowMs > SHADOW_CLOCK_SLACK_MS) return Infinity
  return (nowMs - entry.atMs) / everyMs
}

function unique(plan: readonly PlannedRead[]): readonly PlannedRead[] {
  return [...new Map(plan.map((read) => [read.key, read])).values()]
}
