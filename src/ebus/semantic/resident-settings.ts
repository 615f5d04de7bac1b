/**
 * Settings: what a resident can set on the regulator of this house, zone by zone, with what each means.
 *
 *   zone.day_setpoint of Living room: 15 to 30 °C, now 21
 *
 * Only what is there: a zone that nobody has, or a register that this regulator does not know, is not offered.
 */
import { PlaneFieldReader } from './plane-reader.ts'
import type { PlaneSources } from './plane-reader.ts'
import { toRegisterReadKey } from './read-key.ts'
import type { RegulatorRegister, DecodedRegisterValue } from './register.ts'
import { HOT_WATER_REGISTERS, SYSTEM_REGISTERS, ZONE_REGISTERS } from './regulator-register-map.ts'
import { findRegisterNameAndType } from './register-name.ts'
import { findDaySetpointRegister, formatZoneId, readZoneName } from './zones-plane.ts'

export interface ResidentSetting {
  /** Of the regulator. */
  readonly address: number
  /** As telegrams about it are listed: `zone.day_setpoint`. */
  readonly name: string
  /** What a person calls the thing it belongs to. */
  readonly of: string
  /** The name of its zone; `undefined` where it belongs to none. */
  readonly zone: string | undefined
  readonly meaning: string
  readonly unit: string | undefined
  readonly limits: readonly [min: number, max: number]
  /** What the numbers stand for, where they are words. */
  readonly words: Words | undefined
  /** `undefined` until somebody has read it. */
  readonly now: number | undefined
  readonly register: RegulatorRegister
  readonly instance: number
  /** The plane that shows it, and where in there; `undefined` where none does. */
  readonly shown: { readonly plane: 'zones' | 'dhw' | 'system'; readonly path: string } | undefined
}

type Words = Readonly<Record<string, string>>

interface Row {
  readonly register: RegulatorRegister
  /** Where this regulator keeps it, if that is not the same for all. */
  readonly place?: (reader: PlaneFieldReader, instance: number) => RegulatorRegister
  readonly meaning: string
  readonly path?: string
  readonly words?: Words
}

const MODES: Words = { 0: 'off', 1: 'auto, by the weekly program', 2: 'manual, without it' }

const ZONE_ROWS: readonly Row[] = [
  {
    register: ZONE_REGISTERS.daySetpoint,
    place: findDaySetpointRegister,
    meaning: 'Room setpoint: how warm it shall be by day. A slot of the weekly program may have its own.',
    path: 'config.target_temp_c',
  },
  { register: ZONE_REGISTERS.nightSetpoint, meaning: 'How warm it shall be outside the slots of the weekly program.' },
  { register: ZONE_REGISTERS.operatingMode, meaning: 'Mode.', path: 'config.operating_mode', words: MODES },
  {
    register: ZONE_REGISTERS.quickVetoSetpoint,
    meaning: 'How warm it shall be while a quick veto (another setpoint for some hours) runs. Set it before its hours.',
    path: 'config.quick_veto_setpoint_c',
  },
  {
    register: ZONE_REGISTERS.quickVetoHours,
    meaning: 'For how long; setting it starts the quick veto.',
    path: 'config.quick_veto_duration_h',
  },
  {
    register: ZONE_REGISTERS.specialFunction,
    meaning: 'What goes before the mode for a while; 0 ends a quick veto.',
    path: 'state.special_function',
    words: { 0: 'none', 1: 'ventilation', 2: 'party', 3: 'quick veto', 4: 'a day away', 5: 'a day at home' },
  },
  {
    register: ZONE_REGISTERS.holidaySetpoint,
    meaning: 'How warm it shall be on holiday.',
    path: 'config.holiday_setpoint_c',
  },
]

const HOT_WATER_ROWS: readonly Row[] = [
  { register: HOT_WATER_REGISTERS.target, meaning: 'How warm the hot water shall be.', path: 'config.target_temp_c' },
  { register: HOT_WATER_REGISTERS.operatingMode, meaning: 'Mode.', path: 'config.operating_mode', words: MODES },
  {
    register: HOT_WATER_REGISTERS.specialFunction,
    meaning: 'Heats the water once, now.',
    path: 'state.special_function',
    words: { 0: 'no', 6: 'heat it once' },
  },
]

const SYSTEM_ROWS: readonly Row[] = [
  {
    register: SYSTEM_REGISTERS.systemOff,
    meaning: 'Switches heating and hot water off as a whole.',
    path: 'state.system_off',
    words: { 0: 'on', 1: 'off' },
  },
]

/** None before a regulator is known. Bounded by the zones that a regulator can have. */
export function listResidentSettings(parts: PlaneSources): readonly ResidentSetting[] {
  const { topology } = parts
  const address = topology.regulator?.address
  if (address === undefined) return []
  const reader = new PlaneFieldReader(parts)
  const hasWater = reader.isKnown(HOT_WATER_REGISTERS.target)
  return [
    ...topology.zones().flatMap((instance) => {
      const name = readZoneName(reader, instance)
      const place = {
        of: `${name} (${formatZoneId(instance)})`,
        zone: name,
        instance,
        inPlane: `${formatZoneId(instance)}.`,
      }
      return settingsOf(ZONE_ROWS, { ...place, reader, address, plane: 'zones' })
    }),
    ...(hasWater ? settingsOf(HOT_WATER_ROWS, { reader, address, of: 'Hot water', instance: 0, plane: 'dhw' }) : []),
    ...settingsOf(SYSTEM_ROWS, { reader, address, of: 'The whole system', instance: 0, plane: 'system' }),
  ]
}

interface Place extends Pick<ResidentSetting, 'address' | 'of' | 'instance'> {
  readonly reader: PlaneFieldReader
  readonly plane: 'zones' | 'dhw' | 'system'
  readonly inPlane?: string
  readonly zone?: string
}

function settingsOf(rows: readonly Row[], place: Place): readonly ResidentSetting[] {
  const { reader, address, of, zone, instance, plane, inPlane = '' } = place
  return rows
    .map((row) => ({ ...row, register: row.place?.(reader, instance) ?? row.register }))
    .filter(({ register }) => reader.shadow.get(toRegisterReadKey(address, register, instance))?.state !== 'tombstone')
    .map(({ register, meaning, path, words }): ResidentSetting => {
      const named = findRegisterNameAndType(register.opcode, register.group, register.number)
      if (named === undefined || register.user === undefined) throw new Error(`${meaning} is nothing to set`)
      return {
        address,
        name: named.name,
        of,
        zone,
        meaning,
        unit: named.unit,
        limits: register.user,
        words,
        now: numberOf(reader.reading(register, instance)?.value),
        register,
        instance,
        shown: path === undefined ? undefined : { plane, path: `${inPlane}${path}` },
      }
    })
}

function numberOf(value: DecodedRegisterValue | undefined): number | undefined {
  return typeof value === 'boolean' ? Number(value) : typeof value === 'number' ? value : undefined
}
