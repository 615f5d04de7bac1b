/**
 * Planes: the semantic planes by name, and which of them a value belongs to.
 */
import { boilerStatusPlane } from './boiler-status.ts'
import { circuitsPlane } from './circuits.ts'
import { energyPlane } from './energy.ts'
import { heatPumpPlane } from './heat-pump.ts'
import { dhwPlane } from './hot-water.ts'
import type { SemanticPlane, PlaneParts } from './plane-reader.ts'
import type { ReadKey } from './read-key.ts'
import { READ_KEY_KIND, readKeyBytes, readKeyKind } from './read-key.ts'
import { radioDevicesPlane } from './remote-slots.ts'
import { schedulesPlane } from './schedules.ts'
import { cylindersPlane, fm5ModePlane, solarPlane } from './solar.ts'
import { systemPlane } from './system-plane.ts'
import { zonesPlane } from './zones.ts'

/** Those that are read off the bus; two more are about the gateway itself. */
export const HEATING_PLANES = [
  'zones',
  'dhw',
  'energy_totals',
  'boiler_status',
  'system',
  'circuits',
  'radio_devices',
  'fm5_mode',
  'solar',
  'cylinders',
  'schedules',
  'heat_pump',
] as const
export type HeatingPlane = (typeof HEATING_PLANES)[number]

/** In the order in which `semantic.snapshot.get` answers. */
export const SEMANTIC_PLANES = ['runtime_status', ...HEATING_PLANES, 'adapter_info'] as const
export type SemanticPlaneName = (typeof SEMANTIC_PLANES)[number]

/** What `semantic.snapshot.get` answers when nobody says which: the contract's own. */
export const CONTRACT_PLANES: readonly SemanticPlaneName[] = SEMANTIC_PLANES.filter((name) => name !== 'heat_pump')

const PROJECTIONS: Readonly<Record<HeatingPlane, (parts: PlaneParts, nowMs: number) => SemanticPlane>> = {
  zones: zonesPlane,
  dhw: dhwPlane,
  energy_totals: energyPlane,
  boiler_status: boilerStatusPlane,
  system: systemPlane,
  circuits: circuitsPlane,
  radio_devices: radioDevicesPlane,
  fm5_mode: fm5ModePlane,
  solar: solarPlane,
  cylinders: cylindersPlane,
  schedules: schedulesPlane,
  heat_pump: heatPumpPlane,
}

/** `nowMs` is the wall clock, for what is only said while it is fresh. */
export function projectPlane(name: HeatingPlane, parts: PlaneParts, nowMs: number): SemanticPlane {
  return PROJECTIONS[name](parts, nowMs)
}

const BY_GROUP: ReadonlyMap<number, readonly HeatingPlane[]> = new Map<number, readonly HeatingPlane[]>([
  [0x00, ['system', 'energy_totals', 'circuits', 'fm5_mode', 'solar', 'cylinders']],
  [0x01, ['dhw', 'boiler_status']],
  [0x02, ['circuits', 'zones', 'boiler_status']],
  [0x03, ['zones', 'schedules']],
  [0x04, ['solar']],
  [0x05, ['cylinders']],
])
const REMOTE: readonly HeatingPlane[] = ['radio_devices', 'fm5_mode', 'zones', 'circuits', 'solar', 'cylinders']
const BOILER: readonly HeatingPlane[] = ['boiler_status']
const STATUS: readonly HeatingPlane[] = ['boiler_status', 'heat_pump']
const HEAT_PUMP: readonly HeatingPlane[] = ['heat_pump']
const TIMER: readonly HeatingPlane[] = ['schedules']
const ENERGY: readonly HeatingPlane[] = ['energy_totals']
const CLOCK: readonly HeatingPlane[] = ['system', 'energy_totals']
const NONE: readonly HeatingPlane[] = []

/** Planes that may look different after this value has changed; the very same list for values of one kind. */
export function planesAffectedBy(key: ReadKey): readonly HeatingPlane[] {
  switch (readKeyKind(key)) {
    case READ_KEY_KIND.register: {
      const [opcode, group] = readKeyBytes(key)
      return opcode === 0x06 ? REMOTE : (BY_GROUP.get(group) ?? NONE)
    }
    case READ_KEY_KIND.heatPump:
      return HEAT_PUMP
    case READ_KEY_KIND.status:
      return STATUS
    case READ_KEY_KIND.boiler:
    case READ_KEY_KIND.errors:
      return BOILER
    case READ_KEY_KIND.timer:
    case READ_KEY_KIND.shortTimer:
      return TIMER
    case READ_KEY_KIND.energy:
      return ENERGY
    case READ_KEY_KIND.clock:
      return CLOCK
    default:
      return NONE
  }
}
