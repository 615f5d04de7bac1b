/**
 * Method plane: the methods of a device in groups, which depend on its product.
 */
import type { BusDeviceIdentity } from '../wire/device-identity.ts'
import { VAILLANT_MANUFACTURER_CODE } from '../wire/device-identity.ts'
import type { DeviceMethod, MethodSummary, BuiltInMethodPlaneName } from './device-method.ts'
import { defineUncallableMethod } from './device-method.ts'
import { findHeatingProduct } from '../registry/heating-product.ts'
import { VAILLANT_SYSTEM_METHODS } from './system-methods.ts'
import { TIMER_METHODS } from './timer-methods.ts'

export interface MethodPlane {
  readonly name: string
  readonly routable: boolean
  /** Sorted by name, then by service. */
  readonly methods: readonly MethodSummary[]
  /** The definition file that a plane was made from. */
  readonly definedBy?: string
}

export interface BuiltInMethodPlane extends MethodPlane {
  readonly name: BuiltInMethodPlaneName
  readonly methods: readonly DeviceMethod[]
}

/** Hardware of at least this version counts energy. */
const COUNTS_ENERGY = 0x7603

/** Spec 1: heat-source planes are class-specific modelling. Their values are available from the semantic tools. */
const CLASS_METHODS: Readonly<Record<'heating' | 'dhw' | 'solar', readonly DeviceMethod[]>> = {
  heating: classMethods('heating'),
  dhw: classMethods('dhw'),
  solar: [
    defineUncallableMethod({ plane: 'solar', name: 'get_parameters', secondary: 0x04, readOnly: true }),
    defineUncallableMethod({ plane: 'solar', name: 'get_solar_yield', secondary: 0x04, readOnly: true }),
    defineUncallableMethod({ plane: 'solar', name: 'get_status', secondary: 0x04, readOnly: true }),
  ],
}

function classMethods(plane: 'heating' | 'dhw'): readonly DeviceMethod[] {
  return [
    defineUncallableMethod({ plane, name: 'get_energy_stats', secondary: 0x16, readOnly: true }),
    defineUncallableMethod({ plane, name: 'get_parameters', secondary: 0x04, readOnly: true }),
    defineUncallableMethod({ plane, name: 'get_status', secondary: 0x04, readOnly: true }),
    defineUncallableMethod({ plane, name: 'set_target_temp', secondary: 0x05, readOnly: false }),
  ]
}

/** The planes by name. A device of unknown type has none, because it is unknown what it understands. */
export function listBuiltInMethodPlanes(identity: BusDeviceIdentity | undefined): readonly BuiltInMethodPlane[] {
  if (identity?.manufacturerCode !== VAILLANT_MANUFACTURER_CODE) return []
  const product = findHeatingProduct(identity)
  const counts = Number.parseInt(identity.hardware, 16) >= COUNTS_ENERGY
  // A regulator controls heating and hot water, and the boiler produces them, so both list the planes.
  const heats = product.kind === 'boiler' || product.kind === 'heat-pump' || product.kind === 'regulator'
  const listed = (name: 'heating' | 'dhw' | 'solar'): BuiltInMethodPlane => ({
    name,
    routable: false,
    methods: CLASS_METHODS[name].filter((method) => counts || method.name !== 'get_energy_stats'),
  })
  return [
    ...(heats ? [listed('dhw'), listed('heating')] : []),
    ...(product.kind === 'solar' || product.kind === 'module' ? [listed('solar')] : []),
    { name: 'system', routable: true, methods: sorted(VAILLANT_SYSTEM_METHODS) },
    ...(product.timers === 'b555' ? [{ name: 'timer', routable: true, methods: sorted(TIMER_METHODS) } as const] : []),
  ]
}

/**
 * Includes methods that are only listed, so that a call of one is answered with "cannot be called" and not with
 * "unknown".
 */
const CALLABLE: ReadonlyMap<string, DeviceMethod> = new Map(
  [...VAILLANT_SYSTEM_METHODS, ...TIMER_METHODS, ...Object.values(CLASS_METHODS).flat()].map((method) => [
    `${method.plane}/${method.name}`,
    method,
  ]),
)

/** By name alone, independent of the devices on the bus. */
export function findBuiltInMethod(plane: string, name: string): DeviceMethod | undefined {
  return CALLABLE.get(`${plane}/${name}`)
}

function sorted(methods: readonly DeviceMethod[]): readonly DeviceMethod[] {
  return methods.toSorted(
    (left, right) =>
      left.name.localeCompare(right.name) || left.primary - right.primary || left.secondary - right.secondary,
  )
}
