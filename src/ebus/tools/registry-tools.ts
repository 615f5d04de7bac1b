/**
 * Registry tools: the devices on the bus and their methods.
 *
 * Pure, given its house.
 */
import { z } from 'zod'
import type { Call } from '../../bus/call.ts'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import type { Fault } from '../../core/fault.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import type { MethodSummary } from '../methods/device-method.ts'
import type { MethodPlane } from '../methods/method-plane.ts'
import { addressArgument, viewArguments } from './arguments.ts'
import type { BusDeviceView } from './device-view.ts'
import {
  toBusDeviceJson,
  busDeviceOutputSchema,
  toMethodDetailJson,
  methodDetailOutputSchema,
  toMethodPlaneJson,
  methodPlaneOutputSchema,
} from './device-view.ts'
import { createEbusOutputSchema, ebusFamilyEnvelope } from './ebus-envelope.ts'
import { createEbusArgumentFault, createEbusNotFoundFault } from './faults.ts'
import type { EbusToolContext, ResolvedEbusView, EbusViewRequest } from './ebus-tool-context.ts'
import { resolveEbusView, createViewHandler } from './ebus-tool-context.ts'
import { toResidentSettingJson } from './resident-setting-view.ts'

const METHODS = 100
const MAX_METHODS = 1_000

const common = { effect: 'reads', family: ebusFamilyEnvelope } as const
/** Shared by both names of the list. */
export const devicesListDefinition = {
  title: 'List the devices on the bus',
  description:
    'Every device that was heard or asked on the bus: what it is, under which addresses it answers, how certain that is, and what can be asked of it.',
  input: z.strictObject(viewArguments),
  output: createEbusOutputSchema(z.array(busDeviceOutputSchema)),
} as const

export const devicesListTool = defineTool({
  ...common,
  ...devicesListDefinition,
  name: 'ebus.v1.registry.devices.list',
})

const devicesGet = defineTool({
  ...common,
  name: 'ebus.v1.registry.devices.get',
  title: 'Read one device',
  description: 'One device by any of its addresses, with how that very address was found.',
  input: z.strictObject({ address: addressArgument, ...viewArguments }),
  output: createEbusOutputSchema(busDeviceOutputSchema),
})

const planesList = defineTool({
  ...common,
  name: 'ebus.v1.registry.planes.list',
  title: 'List the planes of a device',
  description: 'Groups of methods of one device; only those of routable planes can be called with rpc.invoke.',
  input: z.strictObject({ address: addressArgument, ...viewArguments }),
  output: createEbusOutputSchema(z.array(methodPlaneOutputSchema)),
})

const methodsList = defineTool({
  ...common,
  name: 'ebus.v1.registry.methods.list',
  title: 'List the methods of a plane',
  description:
    'What can be asked of a device with rpc.invoke and what each method takes (`params_schema`), which of it changes something and which of that is dangerous. For the regulator (plane system) also everything that can be set in this house: room setpoints, hot water temperature, modes, with limits and an example call each (`settings`). A plane by definition (planes.list: `defined_by`) has a `get_` for each message that can be read and a `set_` for each that can be written, with its access level; narrow it with `query`.',
  input: z.strictObject({
    address: addressArgument,
    plane: z.string().trim().min(1).max(64),
    query: z.string().trim().max(200).exactOptional().describe('Words in name or comment.'),
    limit: z.int().min(1).max(MAX_METHODS).default(METHODS).describe('For planes by definition.'),
    offset: z.int().min(0).default(0).describe('How many to leave out at the beginning.'),
    ...viewArguments,
  }),
  output: createEbusOutputSchema(z.array(methodDetailOutputSchema)),
})

export function createDeviceRegistryTools(context: EbusToolContext): readonly Capability[] {
  return [
    devicesListTool.handledBy(
      createViewHandler(context, (view) => view.devices().map((device) => toBusDeviceJson(device))),
    ),

    devicesGet.handledBy(async (request, call) => {
      const found = findDevice(context, request, call)
      if (!found.ok) return found
      const { device, answer } = found.value
      return ok({ data: answer(toBusDeviceJson(device, request.address)) })
    }),

    planesList.handledBy(async (request, call) => {
      const found = findDevice(context, request, call)
      if (!found.ok) return found
      const { device, answer } = found.value
      return ok({ data: answer(device.planes.map(toMethodPlaneJson)) })
    }),

    methodsList.handledBy(async ({ address, plane, query, limit, offset, ...request }, call) => {
      const found = findDevice(context, { address, ...request }, call)
      if (!found.ok) return found
      const { device, view, answer } = found.value
      const chosen = findMethodPlane(device, plane)
      if (!chosen.ok) return chosen
      const bus = context.buses.length > 1 ? view.busId : undefined
      const settings = view.settings().filter((setting) => device.addresses.includes(setting.address))
      const shown = settings.map((setting) => toResidentSettingJson(setting, bus))
      const { methods, definedBy } = chosen.value
      const matching = methods.filter((method) => hasWords(method, query))
      const page = definedBy === undefined ? matching : matching.slice(offset, offset + limit)
      const data = page.map((method) => toMethodDetailJson(method, shown))
      const isWhole = page.length === matching.length
      return ok({ data: answer(data, isWhole ? {} : { page: { total: matching.length, offset, count: page.length } }) })
    }),
  ]
}

function hasWords({ name, comment = '' }: MethodSummary, query = ''): boolean {
  const text = `${name} ${comment}`.toLowerCase()
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

/** From the requested view: a snapshot has the devices and labels of its moment. */
function findDevice(
  context: EbusToolContext,
  { address, ...request }: EbusViewRequest & { readonly address: number },
  call: Call,
): Result<ResolvedEbusView & { readonly device: BusDeviceView }, Fault> {
  const looked = resolveEbusView(context, request, call)
  if (!looked.ok) return looked
  // Any address of the device, because callers see addresses in telegrams, not devices.
  const device = looked.value.view.devices().find(({ addresses }) => addresses.includes(address))
  if (device === undefined) return fail(createEbusNotFoundFault(`There is no device at ${address}.`))
  return ok({ ...looked.value, device })
}

/** Lists the existing ones, so that the next call can be right. */
export function findMethodPlane({ planes }: BusDeviceView, name: string): Result<MethodPlane, Fault> {
  const plane = planes.find((each) => each.name === name)
  if (plane !== undefined) return ok(plane)
  return fail(
    createEbusArgumentFault('plane', `the device has ${planes.map((each) => each.name).join(', ') || 'no planes'}`),
  )
}
