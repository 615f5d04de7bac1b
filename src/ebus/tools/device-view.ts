/**
 * Device view: a device of the registry as clients see it, with its planes and methods.
 */
import { z } from 'zod'
import type { JsonObject } from '../../core/json.ts'
import type { BusDefinitions } from '../definitions/bus-definitions.ts'
import type { HeatingInstallation } from '../heating-installation.ts'
import { createDefinedPlanes } from '../methods/defined-plane.ts'
import type { BusDevice, BusDeviceRegistry } from '../registry/device-registry.ts'
import { DISCOVERY_SOURCES, VERIFICATION_STATES } from '../registry/device-registry.ts'
import type { MethodSummary } from '../methods/device-method.ts'
import type { MethodPlane } from '../methods/method-plane.ts'
import { listBuiltInMethodPlanes } from '../methods/method-plane.ts'
import { findHeatingProduct } from '../registry/heating-product.ts'
import { residentSettingOutputSchema } from './resident-setting-view.ts'

/** `primary` and `secondary` are the two bytes of the service, PB and SB. */
export const methodOutputSchema = z.object({
  name: z.string(),
  read_only: z.boolean(),
  primary: z.int(),
  secondary: z.int(),
  mutability: z.enum(['read_only', 'mutating', 'unknown']),
  danger_level: z.enum(['safe', 'dangerous', 'unknown']),
  routable: z.boolean(),
  level: z
    .string()
    .exactOptional()
    .describe('By definition: the access level that its file names; empty: everybody’s.'),
  comment: z.string().exactOptional(),
})

/** With what it takes: too long for a list of all devices. */
export const methodDetailOutputSchema = methodOutputSchema.extend({
  params_schema: z.record(z.string(), z.unknown()).exactOptional().describe('What `params` takes, as JSON Schema.'),
  settings: z
    .array(residentSettingOutputSchema)
    .exactOptional()
    .describe('With set_ext_register of the regulator: what a resident can set in this house.'),
})

export const methodPlaneOutputSchema = z.object({
  name: z.string(),
  routable: z.boolean(),
  methods: z
    .array(methodOutputSchema)
    .describe('Of a plane by definition only their number is given here: methods.list.'),
  method_count: z.int().exactOptional(),
  defined_by: z.string().exactOptional().describe('The definition file that the plane was made from.'),
})

/** What a device has not said about itself is null; a candidate has said nothing yet. */
export const busDeviceOutputSchema = z.object({
  address: z.int().describe('The address under which it answers.'),
  addresses: z.array(z.int()).describe('All of them.'),
  manufacturer: z.string().nullable(),
  device_id: z.string().nullable().describe('The product id.'),
  software_version: z.string().nullable(),
  hardware_version: z.string().nullable(),
  product: z.string().describe('What it is, in a word or two.'),
  serial_number: z.string().exactOptional(),
  planes: z.array(methodPlaneOutputSchema),
  discovery_source: z.enum(DISCOVERY_SOURCES).exactOptional(),
  verification_state: z.enum(VERIFICATION_STATES).exactOptional(),
})

/** As data, so that a snapshot can keep it and still answer for each address. */
export interface BusDeviceView {
  readonly addresses: readonly number[]
  readonly planes: readonly MethodPlane[]
  /** Without the labels, which belong to an address and not to a device. */
  readonly json: JsonObject
  readonly address: number
  readonly labels: ReadonlyMap<number, JsonObject>
}

/** Of all devices, in the order of their addresses. */
export function listBusDeviceViews({
  registry,
  definitions,
}: Pick<HeatingInstallation, 'registry' | 'definitions'>): readonly BusDeviceView[] {
  return registry.devices().map((device) => deviceView(registry, device, definitions))
}

function deviceView(
  registry: BusDeviceRegistry,
  device: BusDevice,
  definitions: BusDefinitions | undefined,
): BusDeviceView {
  const { address, addresses, identity, serial } = device
  // By what the device said it is: before that it has none.
  const planes: readonly MethodPlane[] = [
    ...listBuiltInMethodPlanes(identity),
    ...createDefinedPlanes(definitions, addresses),
  ]
  const labels = addresses.map((each) => {
    const slot = registry.slot(each)
    return [each, slot === undefined ? {} : { discovery_source: slot.source, verification_state: slot.state }] as const
  })
  return {
    address,
    addresses,
    planes,
    labels: new Map(labels),
    json: {
      address,
      addresses,
      manufacturer: identity?.manufacturer ?? null,
      device_id: identity?.deviceId ?? null,
      software_version: identity?.software ?? null,
      hardware_version: identity?.hardware ?? null,
      product: findHeatingProduct(identity).name,
      ...(serial === undefined ? {} : { serial_number: serial }),
      planes: planes.map(toMethodPlaneJson),
    },
  }
}

/** With the labels of one of its addresses; its main one for a list. */
export function toBusDeviceJson(view: BusDeviceView, address = view.address): JsonObject {
  return { ...view.json, ...view.labels.get(address) }
}

/** A definition file has hundreds of methods, which nobody wants in a list of planes. */
export function toMethodPlaneJson({ name, routable, methods, definedBy }: MethodPlane): JsonObject {
  if (definedBy === undefined) return { name, routable, methods: methods.map(methodJson) }
  return { name, routable, methods: [], method_count: methods.length, defined_by: definedBy }
}

function methodJson(method: MethodSummary): JsonObject {
  const { level, comment } = method
  return {
    name: method.name,
    read_only: method.readOnly,
    primary: method.primary,
    secondary: method.secondary,
    mutability: method.mutability,
    danger_level: method.danger,
    routable: method.routable,
    ...(level === undefined ? {} : { level }),
    ...(comment === undefined ? {} : { comment }),
  }
}

/** `settings` are the settings that the method can change; only one method has any. */
export function toMethodDetailJson(method: MethodSummary, settings: readonly JsonObject[]): JsonObject {
  const schema = method.paramsSchema()
  return {
    ...methodJson(method),
    ...(schema === undefined ? {} : { params_schema: schema }),
    ...(method.name !== 'set_ext_register' || settings.length === 0 ? {} : { settings }),
  }
}
