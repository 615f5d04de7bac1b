/**
 * Regulator: the device at 10/15 that controls the heating. It answers B524, B555, B516 and its identification;
 * broadcasts the time, the weather and the meters; and sets the boiler every ten seconds.
 *
 * Pure, but for the plant it is given.
 */
import { requireNumberDatatype } from '../../ebus/wire/datatype-parser.ts'
import type { Telegram } from '../../ebus/wire/telegram.ts'
import type { SimulatedHouse } from '../house-state.ts'
import { computeWeekday } from '../house-control.ts'
import { encodeClockBytes } from './clock-bytes.ts'
import { encodeEnergyAnswer, encodeEnergyBroadcast, listBroadcastEnergySelectors } from './energy-telegram.ts'
import type { SimulatedBusDeviceIdentity } from './identity.ts'
import { answerIdentity } from './identity.ts'
import type { SimulatedPlant } from './simulated-plant.ts'
import { F32 } from './register.ts'
import type { SimulatedRegulatorFamily } from './regulator-registers.ts'
import { findSimulatedExtendedRegister } from './regulator-registers.ts'
import type { BusStationAnswer } from './bus-station.ts'
import { answerTimerProgram700, answerTimerProgram } from './timer-programs.ts'
import { readUnusedExtendedRegister } from './unused-registers.ts'

const IDENTITIES: Readonly<Record<SimulatedRegulatorFamily, SimulatedBusDeviceIdentity>> = {
  '720': { id: 'BASV2', software: 0x0507, hardware: 0x1704, serial: '21213400202609140938006369N4' },
  '700': { id: '70000', software: 0x0614, hardware: 0x6903, serial: '21172100201844130082014286N1' },
}

const EMPTY = new Uint8Array()
const CIRCUITS = 0x02
const ZONES = 0x03
/** Of the first three of each, two are installed; the third exists and is unused. */
const INSTALLED: ReadonlySet<number> = new Set([0, 1])
/** Ten-minute steps end at 8F. */
const NO_TIME = 0x90
/** Marks an unused value. */
const UNUSED = 0x00
/** Under this number ebusd’s definitions of a BASV2 read and write it, too (Z1DayTemp). */
const EARLIER_DAY_SETPOINT = 0x07
const DAY_SETPOINT = 0x22
/** Five places without a number. */
const NO_ERRORS = new Uint8Array(10).fill(0xff)
const OUTSIDE = requireNumberDatatype('D2B')
const HALF_DEGREES = requireNumberDatatype('D1C')

export function answerRegulator(
  plant: SimulatedPlant,
  family: SimulatedRegulatorFamily,
  telegram: Telegram,
): BusStationAnswer {
  const { primary, secondary, data } = telegram
  const identity = answerIdentity(IDENTITIES[family], telegram)
  if (identity !== undefined) return identity
  if (primary !== 0xb5) return undefined
  switch (secondary) {
    case 0x04:
      return data[0] === 0x00
        ? Uint8Array.from([0x03, ...encodeClockBytes(plant.house), ...outsideBytes(plant.house)])
        : EMPTY
    case 0x03:
      return NO_ERRORS
    // It has no B509 registers except its serial number, which `answerIdentity` has handled.
    case 0x09:
      return EMPTY
    case 0x16:
      return encodeEnergyAnswer(plant.house, data) ?? EMPTY
    case 0x24:
      return answerExtended(plant, family, data)
    case 0x55:
      return family === '720' ? (answerTimerProgram(plant, data) ?? 'refuse') : 'refuse'
    default:
      return undefined
  }
}

function answerExtended(plant: SimulatedPlant, family: SimulatedRegulatorFamily, data: Uint8Array): BusStationAnswer {
  const [opcode = 0, verb = 0, group = 0, instance = 0, low = 0, high = 0] = data
  if (opcode === 0x00) return directory(verb)
  if (opcode === 0x03 || opcode === 0x04)
    return family === '700' ? (answerTimerProgram700(plant, opcode, data.subarray(1)) ?? EMPTY) : unusedTimer(opcode)
  if ((opcode !== 0x02 && opcode !== 0x06) || data.length < 6) return 'refuse'
  const number = (high << 8) | low
  const isDayOf720 = family === '720' && group === ZONES && number === EARLIER_DAY_SETPOINT
  const register = findSimulatedExtendedRegister(family, [opcode, group, isDayOf720 ? DAY_SETPOINT : number])
  const unused = opcode === 0x02 && verb === 0x00 ? readUnusedExtendedRegister(group, instance, number) : undefined
  // An answer without bytes means that this controller does not know the register.
  if (register === undefined || instance > 0x0a)
    return unused === undefined ? EMPTY : Uint8Array.from([UNUSED, group, low, high, ...unused])
  if (verb === 0x00) {
    const value = register.read(plant, instance)
    const isAbsent = value === undefined && group >= CIRCUITS && !INSTALLED.has(instance)
    if (isAbsent && unused !== undefined) return Uint8Array.from([UNUSED, group, low, high, ...unused])
    // Floats have a value for "nothing"; missing whole numbers are not answered at all.
    if (value === undefined && register.type !== F32) return EMPTY
    return Uint8Array.from([register.flags, group, low, high, ...register.type.encode(value)])
  }
  if (verb !== 0x01 || register.write === undefined) return 'refuse'
  const value = register.type.decode(data.subarray(6))
  return value.ok && register.write(plant, value.value, instance) ? EMPTY : 'refuse'
}

/** Three slots that were never set; this controller stores its week elsewhere, and accepts none here. */
function unusedTimer(opcode: number): BusStationAnswer {
  return opcode === 0x03 ? Uint8Array.of(0x00, ...Array.from({ length: 6 }, () => NO_TIME)) : 'refuse'
}

/** The groups that exist; NaN ends the table. */
function directory(group: number): Uint8Array {
  return requireNumberDatatype('EXP').encode(group <= 0x0c ? (group < 0x06 ? group + 1 : 0) : undefined)
}

function outsideBytes({ weather }: SimulatedHouse): Uint8Array {
  return OUTSIDE.encode(weather.outsideCelsius)
}

type BroadcastTelegram = Omit<Telegram, 'source'>
const EVERYBODY = 0xfe
const BOILER = 0x08
const MIXER = 0x26

/** The telegrams that the regulator sends by itself, and their intervals. */
export const REGULATOR_PERIODIC_TELEGRAMS: readonly {
  readonly everyMs: number
  readonly say: (house: SimulatedHouse, turn: number) => BroadcastTelegram
}[] = [
  {
    everyMs: 60_000,
    say: (house) => ({
      target: EVERYBODY,
      primary: 0x07,
      secondary: 0x00,
      // Here Monday is 1.
      data: Uint8Array.from([
        ...outsideBytes(house),
        ...encodeClockBytes(house).with(5, computeWeekday(house.timeMs) + 1),
      ]),
    }),
  },
  { everyMs: 60_000, say: (house) => vaillant(EVERYBODY, 0x16, [0x00, ...encodeClockBytes(house)]) },
  { everyMs: 30_000, say: (house) => vaillant(EVERYBODY, 0x16, [0x01, ...outsideBytes(house)]) },
  {
    everyMs: 15_000,
    say: (house, turn) => {
      const selectors = listBroadcastEnergySelectors(house.timeMs)
      const selector = selectors[turn % selectors.length] ?? new Uint8Array(8)
      return vaillant(EVERYBODY, 0x16, encodeEnergyBroadcast(house, selector))
    },
  },
  { everyMs: 10_000, say: (house) => vaillant(BOILER, 0x10, setMode(house)) },
  { everyMs: 10_000, say: (_, turn) => vaillant(BOILER, 0x11, [turn % 3]) },
  { everyMs: 60_000, say: () => vaillant(BOILER, 0x04, [0x00]) },
  { everyMs: 10_000, say: (_, turn) => vaillant(MIXER, 0x23, [turn % 2 === 0 ? 0x06 : 0x07]) },
]

function vaillant(target: number, secondary: number, data: Iterable<number>): BroadcastTelegram {
  return { target, primary: 0xb5, secondary, data: Uint8Array.from(data) }
}

/** Wanted flow and hot water temperatures in half degrees, and which of the two is not wanted. */
function setMode({ boiler, dhw }: SimulatedHouse): readonly number[] {
  const heating = boiler.mode === 'heating'
  const flow = HALF_DEGREES.encode(heating ? Math.round(boiler.flowSetCelsius * 2) / 2 : 0)
  const water = HALF_DEGREES.encode(Math.round(dhw.targetCelsius * 2) / 2)
  // Bit 0: no heating, bit 2: no hot water.
  const off = (heating ? 0 : 0x01) | (dhw.charging ? 0 : 0x04)
  return [0x00, 0x00, ...flow, ...water, 0xff, 0xff, off, 0x00, 0x00]
}
