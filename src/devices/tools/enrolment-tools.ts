/**
 * Enrolment tools: with these an admin decides which devices belong to the house. The CLI calls them; no model sees
 * them.
 *
 *   devices.enrolment.list · approve · revoke · rotate · forget · approve_tools
 *
 * They are capabilities on the bus, so that every decision takes the same five stages and is on record.
 *
 * Pure, given the running devices service.
 */
import { z } from 'zod'
import type { Call, Outcome } from '../../bus/call.ts'
import { toCallerKey } from '../../bus/caller.ts'
import type { CallAssessment, Capability } from '../../bus/capability.ts'
import { defineChange, defineTool } from '../../bus/capability-definition.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import type { EnrolmentFault, EnrolledDevice } from '../enrol/enrolment.ts'
import { parseDeviceId } from '../wire/device-id.ts'
import { devicesFamilyEnvelope } from './devices-envelope.ts'
import { deviceArgumentSchema } from './list-tools.ts'
import type { RunningDevicesService, RunningDevicesAccess } from './running-devices-service.ts'
import { withRunningDevicesService, createUnknownDeviceFault } from './running-devices-service.ts'
import { toRefusedDevicesJson, refusedDeviceSchema } from './refused-devices-resource.ts'
import { listAdminOnlyRefusalReasons } from './visibility.ts'
import { sanitizeLine } from '../../core/untrusted-text.ts'
import { formatIsoTimeOrNull } from '../../toolbox/iso-time.ts'
import { toPendingDeviceJson, pendingDeviceSchema } from './pending-devices-resource.ts'

export interface EnrolmentToolDependencies extends RunningDevicesAccess {
  readonly transports: readonly string[]
}

const enrolledView = z.object({
  device: z.string().describe('Its short name.'),
  id: z.string(),
  client_id: z.string(),
  name: z.string(),
  state: z.enum(['approved', 'revoked']),
  transport: z.string(),
  board: z.string(),
  firmware: z.string(),
  approved_at: z.string().nullable(),
  approved_by: z.string(),
  booted_at: z.string().nullable(),
})

const common = { family: devicesFamilyEnvelope, face: { kind: 'service' }, trustRequired: 'self' } as const
/** The device is named in the record, so that a later reader knows which device the decision was about. */
function deciding({ caller }: Call, label: string | undefined): CallAssessment {
  return { effect: 'admin', reasons: listAdminOnlyRefusalReasons(caller), ...(label === undefined ? {} : { label }) }
}
// Address and UUID are all that a device presents in order to get credentials (ADR 13), and records may be read by
// others.
const secrets = ['client_id']
const decision = { ...common, effect: 'admin', idempotent: false, secrets } as const
const oneDevice = {
  ...decision,
  input: z.strictObject({ device: deviceArgumentSchema }),
  output: enrolledView,
  plan: () => ok(undefined),
  assess: (_plan: undefined, { device }: { readonly device: string }, call: Call) => deciding(call, device),
} as const

const list = defineTool({
  ...common,
  effect: 'reads',
  assess: (_input, { caller }): CallAssessment => ({ effect: 'reads', reasons: listAdminOnlyRefusalReasons(caller) }),
  name: 'devices.enrolment.list',
  title: 'Enrolment',
  description:
    'Lists devices that wait with a code, those that were let in or revoked, and who was turned away lately.',
  input: z.strictObject({}),
  output: z.object({
    pending: z.array(pendingDeviceSchema),
    devices: z.array(enrolledView.extend({ online: z.boolean(), withheld: z.int() })),
    refused: z.array(refusedDeviceSchema),
    ota: z.string().describe('What to type into a device.'),
    local_only: z.boolean().describe('Whether only this machine can reach that address.'),
    public_url: z.boolean().describe('Whether that address is the owner’s (devices.publicUrl).'),
  }),
})

const approveInput = z.strictObject({
  code: z.string().regex(/^\d{6}$/, 'the six digits that the device shows'),
  name: z.string().min(1).max(64).exactOptional().describe('What people call it; by default the board’s name.'),
  transport: z
    .enum(['websocket', 'mqtt', 'mqtt-broker'])
    .exactOptional()
    .describe('The transport that it connects over.'),
})

const approve = (parts: EnrolmentToolDependencies) =>
  defineChange({
    ...decision,
    name: 'devices.enrolment.approve',
    title: 'Let a device in',
    description:
      'Approves the device that shows this code. It gets its credentials the next time it asks, in seconds. Over MQTT it then connects; over WebSocket it connects when somebody wakes it.',
    input: approveInput,
    output: enrolledView,
    plan: ({ code, name }) => {
      const waiting = parts.service()?.gateway.registrar.pending() ?? []
      const board = waiting.find((device) => device.code === code)?.board
      return ok({ device: name ?? (board === undefined ? undefined : sanitizeLine(board, 64)) })
    },
    assess: ({ device }, _wanted, call) => deciding(call, device),
    act: (_plan, wanted, call) =>
      withRunningDevicesService(parts, (service) => approved({ parts, service, call }, wanted)),
  })

const revoke = {
  ...oneDevice,
  name: 'devices.enrolment.revoke',
  title: 'Turn a device away',
  description: 'Ends every credential of the device, hangs up, and takes its tools off the bus.',
} as const

const rotate = {
  ...oneDevice,
  name: 'devices.enrolment.rotate',
  title: 'New credentials',
  description: 'Ends every credential of the device; it gets new ones at its next boot.',
} as const

const forget = {
  ...oneDevice,
  name: 'devices.enrolment.forget',
  title: 'Forget a device',
  description: 'Removes everything known about the device: at its next boot it is unknown and shows a code.',
} as const

const approveTools = {
  ...decision,
  name: 'devices.enrolment.approve_tools',
  title: 'Approve changed tools',
  description: 'Takes the tools that are withheld as they are now described.',
  input: z.strictObject({
    device: deviceArgumentSchema,
    digest: z.string().max(64).describe('Digest of the tools that were looked at, from devices.tools.list.'),
  }),
  output: z.object({ device: z.string(), approved: z.array(z.string()) }),
  plan: () => ok(undefined),
  assess: (_plan: undefined, { device }: { readonly device: string }, call: Call) => deciding(call, device),
} as const

export function createEnrolmentTools(parts: EnrolmentToolDependencies): readonly Capability[] {
  const act =
    (kind: 'revoke' | 'rotate' | 'forget') => (_plan: undefined, wanted: { readonly device: string }, call: Call) =>
      withRunningDevicesService(parts, (service) => changed({ parts, service, call }, kind, wanted.device))
  return [
    list.handledBy(() => withRunningDevicesService(parts, (service) => ok({ data: listJson(service) }))),
    approve(parts),
    defineChange({ ...revoke, act: act('revoke') }),
    defineChange({ ...rotate, act: act('rotate') }),
    defineChange({ ...forget, act: act('forget') }),
    defineChange({
      ...approveTools,
      act: (_plan, { device: name, digest }, { caller }) =>
        withRunningDevicesService(parts, async ({ roster }) => {
          const device = roster.find(name)
          if (device === undefined) return fail(createUnknownDeviceFault(name))
          const taken = await roster.approve(device, digest, toCallerKey(caller))
          if (!taken.ok) return taken
          return ok({ data: { device: device.slug, approved: taken.value.map((tool) => sanitizeLine(tool, 256)) } })
        }),
    }),
  ]
}

interface CallScope {
  readonly parts: EnrolmentToolDependencies
  readonly service: RunningDevicesService
  readonly call: Call
}

async function approved(
  { parts, service, call }: CallScope,
  { code, name, transport }: z.output<typeof approveInput>,
): Promise<Outcome> {
  if (transport !== undefined && !parts.transports.includes(transport)) return fail(noTransport(transport, parts))
  const by = toCallerKey(call.caller)
  const options = { by, ...(name === undefined ? {} : { name }), ...(transport === undefined ? {} : { transport }) }
  return settled(service, await service.gateway.registrar.approve(code, options))
}

async function changed({ service, call }: CallScope, kind: 'revoke' | 'rotate' | 'forget', name: string) {
  const { registrar, fleet } = service.gateway
  const deviceId = parseDeviceId(name) ?? service.store.deviceOf(name) ?? service.roster.find(name)?.enrolled.deviceId
  if (deviceId === undefined) return fail(createUnknownDeviceFault(name))
  const slug = slugOf(service, deviceId)
  const result = await registrar[kind](deviceId, toCallerKey(call.caller))
  if (kind === 'forget') fleet.forget(deviceId)
  return settled(service, result, slug)
}

/** Updates the bus before the caller is told that the decision is made. */
async function settled(
  service: RunningDevicesService,
  result: Result<EnrolledDevice, EnrolmentFault>,
  slugBefore?: string,
): Promise<Outcome> {
  if (!result.ok) return fail(enrolFault(result.fault))
  const device = result.value
  await service.roster.sync(device.deviceId)
  const slug = slugBefore ?? slugOf(service, device.deviceId)
  return ok({ data: enrolledJson(device, slug) })
}

function slugOf({ store }: RunningDevicesService, deviceId: string): string {
  return store.slug(deviceId) ?? ''
}

function listJson(service: RunningDevicesService): JsonObject {
  const { registrar, fleet } = service.gateway
  return {
    pending: registrar.pending().map(toPendingDeviceJson),
    devices: registrar.devices().map((device) => ({
      ...enrolledJson(device, slugOf(service, device.deviceId)),
      online: fleet.device(device.deviceId)?.online ?? false,
      withheld: service.roster.find(device.deviceId)?.withheld.length ?? 0,
    })),
    refused: toRefusedDevicesJson(service),
    ota: service.otaUrl,
    local_only: service.localOnly,
    public_url: service.publicUrl,
  }
}

function enrolledJson(device: EnrolledDevice, slug: string): JsonObject {
  return {
    device: slug,
    id: device.deviceId,
    client_id: device.clientId,
    name: sanitizeLine(device.name, 64),
    state: device.state,
    transport: device.transport,
    board: sanitizeLine(device.board, 64),
    firmware: sanitizeLine(device.firmware, 64),
    approved_at: formatIsoTimeOrNull(device.approvedAtMs),
    approved_by: device.approvedBy,
    booted_at: formatIsoTimeOrNull(device.bootedAtMs),
  }
}

function enrolFault(fault: EnrolmentFault): Fault {
  if (fault.kind === 'unknown-device') return createUnknownDeviceFault(fault.device)
  const message = `No device shows the code ${fault.code}. Codes last an hour and end when the gateway restarts; the device shows its new one.`
  return { kind: 'not-found', code: 'unknown_code', message }
}

function noTransport(transport: string, { transports }: EnrolmentToolDependencies): Fault {
  const message = `${transport} is not switched on here; there is ${transports.join(' and ')}.`
  return { kind: 'unsupported', message }
}
