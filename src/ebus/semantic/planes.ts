/**
 * Planes: the semantic planes by name, and which of them a value belongs to.
 */
import { buildBoilerStatusPlane } from './boiler-status-plane.ts'
import { buildCircuitsPlane } from './circuits-plane.ts'
import { buildEnergyPlane } from './energy-plane.ts'
import { buildHeatPumpPlane } from './heat-pump-plane.ts'
import { buildDhwPlane } from './hot-water-plane.ts'
import type { SemanticPlane, PlaneSources } from './plane-reader.ts'
import type { RegisterReadKey } from './read-key.ts'
import { READ_KEY_KINDS, decodeReadKeyBytes, decodeReadKeyKind } from './read-key.ts'
import { buildRadioDevicesPlane } from './radio-devices-plane.ts'
import { buildSchedulesPlane } from './schedules-plane.ts'
import { buildCylindersPlane, buildFm5ModePlane, buildSolarPlane } from './solar-planes.ts'
import { buildSystemPlane } from './system-plane.ts'
import { buildZonesPlane } from './zones-plane.ts'

/** The planes that are read from the bus; two more are about the gateway itself. */
export const HEATING_PLANE_NAMES = [
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
export type HeatingPlaneName = (typeof HEATING_PLANE_NAMES)[number]

/** In the order of the answer of `semantic.snapshot.get`. */
export const SEMANTIC_PLANE_NAMES = ['runtime_status', ...HEATING_PLANE_NAMES, 'adapter_info'] as const
export type SemanticPlaneName = (typeof SEMANTIC_PLANE_NAMES)[number]

/** The contract's own planes, which `semantic.snapshot.get` answers by default. */
export const CONTRACT_PLANE_NAMES: readonly SemanticPlaneName[] = SEMANTIC_PLANE_NAMES.filter(
  (name) => name !== 'heat_pump',
)

const PROJECTIONS: Readonly<Record<HeatingPlaneName, (parts: PlaneSources, nowMs: number) => SemanticPlane>> = {
  zones: buildZonesPlane,
  dhw: buildDhwPlane,
  energy_totals: buildEnergyPlane,
  boiler_status: buildBoilerStatusPlane,
  system: buildSystemPlane,
  circuits: buildCircuitsPlane,
  radio_devices: buildRadioDevicesPlane,
  fm5_mode: buildFm5ModePlane,
  solar: buildSolarPlane,
  cylinders: buildCylindersPlane,
  schedules: buildSchedulesPlane,
  heat_pump: buildHeatPumpPlane,
}

/** `nowMs` is the wall clock, for values that are only shown while they are recent. */
export function buildPlaneByName(name: HeatingPlaneName, parts: PlaneSources, nowMs: number): SemanticPlane {
  return PROJECTIONS[name](parts, nowMs)
}

const BY_GROUP: ReadonlyMap<number, readonly HeatingPlaneName[]> = new Map<number, readonly HeatingPlaneName[]>([
  [0x00, ['system', 'energy_totals', 'circuits', 'fm5_mode', 'solar', 'cylinders']],
  [0x01, ['dhw', 'boiler_status']],
  [0x02, ['circuits', 'zones', 'boiler_status']],
  [0x03, ['zones', 'schedules']],
  [0x04, ['solar']],
  [0x05, ['cylinders']],
])
const REMOTE: readonly HeatingPlaneName[] = ['radio_devices', 'fm5_mode', 'zones', 'circuits', 'solar', 'cylinders']
const BOILER: readonly HeatingPlaneName[] = ['boiler_status']
const STATUS: readonly HeatingPlaneName[] = ['boiler_status', 'heat_pump']
const HEAT_PUMP: readonly HeatingPlaneName[] = ['heat_pump']
const TIMER: readonly HeatingPlaneName[] = ['schedules']
const ENERGY: readonly HeatingPlaneName[] = ['energy_totals']
const CLOCK: readonly HeatingPlaneName[] = ['system', 'energy_totals']
const NONE: readonly HeatingPlaneName[] = []

/** Planes that may change with this value; the same list object for values of one kind. */
export function listAffectedPlanes(key: RegisterReadKey): readonly HeatingPlaneName[] {
  switch (decodeReadKeyKind(key)) {
    case READ_KEY_KINDS.register: {
      const [opcode, group] = decodeReadKeyBytes(key)
      return opcode === 0x06 ? REMOTE : (BY_GROUP.get(group) ?? NONE)
    }
    case READ_KEY_KINDS.heatPump:
      return HEAT_PUMP
    case READ_KEY_KINDS.status:
      return STATUS
    case READ_KEY_KINDS.boiler:
    case READ_KEY_KINDS.errors:
      return BOILER
    case READ_KEY_KINDS.timer:
    case READ_KEY_KINDS.shortTimer:
      return TIMER
    case READ_KEY_KINDS.energy:
      return ENERGY
    case READ_KEY_KINDS.clock:
      return CLOCK
    default:
      return NONE
  }
}
