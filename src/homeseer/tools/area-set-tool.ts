/**
 * Area set tool: sets all devices of one kind in a room, on a floor or in the house with one call, about which the
 * guard decides once, with the names of all of them.
 *
 * Reads and writes through the link.
 */
import { omitUndefined } from '../../core/json.ts'
import { z } from 'zod'
import type { Call, Outcome } from '../../bus/call.ts'
import type { Capability } from '../../bus/capability.ts'
import type { Fault } from '../../core/fault.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { HOMESEER_DEVICE_KINDS } from '../../config/homeseer.ts'
import {
  chooseControlPair,
  compareWithExpectation,
  createDeviceControlHttpRequest,
  computeControlExpectation,
  type DeviceControlChoice,
} from '../catalog/control-choice-and-read-back.ts'
import type { HomeseerDevice } from '../catalog/device.ts'
import { mayHomeseerHaveActed } from '../wire/link-fault.ts'
import type { DeviceMirrorEntry } from '../wire/device-mirror.ts'
import { explainEmptyArea, listDevicesInArea } from './area.ts'
import {
  assessDeviceWriteConsequences,
  toConsequencesJson,
  addConsequencesToLabel,
  toDeviceChangeAssessment,
  type AssessedConsequences,
} from './consequence-assessment-client.ts'
import { createHomeseerOutcome } from './homeseer-envelope.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { formatDeviceLabel, readHomeseerDeviceCatalog } from './catalog-reader.ts'
import { createHomeseerArgumentFault, createHomeseerReadFault, createHs4Fault } from './faults.ts'
import {
  BASE_GUARD_ARGUMENT_SCHEMAS,
  toHomeseerDeviceTarget,
  defineHomeseerChange,
  type HomeseerAssessment,
  createTolerantInputSchema,
} from './homeseer-change.ts'
import {
  awaitLateDeviceChange,
  readLastPolledValue,
  chooseConfiguredVerificationTiming,
  type LateDeviceChangeTask,
} from './change-verification-client.ts'
import { toDeviceControlRequest } from './device-set-request.ts'

/** More than the lamps on one floor of a house, because an approver has to read their names. */
const MAX_DEVICES = 60

const input = createTolerantInputSchema({
  kind: z.enum(HOMESEER_DEVICE_KINDS).describe('What kind of devices: light, blind, …'),
  location1: z.string().max(200).exactOptional().describe('The room; absent: every room.'),
  location2: z.string().max(200).exactOptional().describe('The floor; absent: every floor.'),
  value: z.number().exactOptional().describe('The number of a control, or one within its range.'),
  label: z.string().min(1).max(200).exactOptional().describe('The label of a control, such as Off.'),
  controlUse: z.string().min(1).max(50).exactOptional().describe('What the control is for, such as Off.'),
  ...BASE_GUARD_ARGUMENT_SCHEMAS,
})
type AreaInput = z.output<typeof input>

interface Plan {
  readonly members: readonly { readonly device: HomeseerDevice; readonly choice: DeviceControlChoice }[]
  /** Devices of that kind and in that place that have no control for the request. */
  readonly skipped: readonly HomeseerDevice[]
  readonly assessed: AssessedConsequences
}

export function createAreaSetTool(homeseer: HomeseerToolContext): Capability {
  return defineHomeseerChange(homeseer.rules, {
    name: 'hs4.areas.set',
    title: 'Set all devices of a kind',
    description:
      'Tells all devices of one kind in a room, on a floor or in the house the same thing, one after the other, and says what each shows then. All of them are named before anything happens, those that cannot be told so as well.',
    input,
    effect: 'writes',
    lock: 'homeseer:areas',
    timeoutSeconds: 120,
    plan: (request) => planArea(homeseer, request),
    assess: assessArea,
    act: (plan, _request, call) => actArea(homeseer, plan, call),
  })
}

async function planArea(homeseer: HomeseerToolContext, request: AreaInput): Promise<Result<Plan, Fault>> {
  const catalog = await readHomeseerDeviceCatalog(homeseer)
  if (!catalog.ok) return catalog
  const found = listDevicesInArea(catalog.value, request)
  if (found.length === 0) return fail(nothingThere(request))
  if (found.length > MAX_DEVICES)
    return fail(
      createHomeseerArgumentFault('location1', `${found.length} devices are more than the ${MAX_DEVICES} of one call`),
    )
  const wanted = toDeviceControlRequest(request)
  if (!wanted.ok) return wanted
  const members = found.map((device) => ({ device, choice: chooseControlPair(device.controls, wanted.value) }))
  const able = members.flatMap(({ device, choice }) => (choice.ok ? [{ device, choice: choice.value }] : []))
  const skipped = members.filter(({ choice }) => !choice.ok).map(({ device }) => device)
  if (able.length === 0)
    return fail(
      createHomeseerArgumentFault(
        'value',
        `none of them accepts this command: ${skipped.map(formatDeviceLabel).join(', ')}`,
      ),
    )
  const assessed = await assessDeviceWriteConsequences(
    homeseer,
    able.map(({ device }) => device.ref),
  )
  if (!assessed.ok) return assessed
  return ok({ members: able, skipped, assessed: assessed.value })
}

function nothingThere(area: AreaInput): Fault {
  return createHs4Fault('NOT_FOUND', explainEmptyArea(area), {
    next: [{ name: 'hs4.devices.list', args: { capability: area.kind, limit: 50 } }],
  })
}

function assessArea({ members, skipped, assessed }: Plan, request: AreaInput): HomeseerAssessment {
  const devices = members.map(({ device }) => device)
  const { reaches = [], ...assessment } = toDeviceChangeAssessment(devices, assessed)
  const { kind, location1 = '', location2 = '' } = request
  const place = [location1, location2].filter((part) => part !== '').join(', ')
  return {
    ...assessment,
    target: `homeseer:area:${kind}:${location1}:${location2}`.toLowerCase().slice(0, 200).toWellFormed(),
    label: addConsequencesToLabel(
      `All ${members.length} of kind ${kind}${place === '' ? '' : ` in ${place}`}`,
      assessed,
    ),
    reaches: [...devices.map(({ ref }) => toHomeseerDeviceTarget(ref)), ...reaches],
    preview: {
      devices: members.map(({ device, choice }) => ({
        ref: device.ref,
        name: formatDeviceLabel(device),
        to: choice.pair.label,
        ...omitUndefined({ value: choice.value }),
        ...(device.sensitivity.length === 0 ? {} : { sensitive: [...device.sensitivity] }),
      })),
      ...(skipped.length === 0
        ? {}
        : { cannot: skipped.map((device) => `${formatDeviceLabel(device)}, ref ${device.ref}`) }),
      ...toConsequencesJson(assessed),
    },
  }
}

interface MemberResult {
  readonly ref: number
  readonly name: string
  readonly told: boolean
  /** Whether the device may have received the command although no answer came. */
  readonly mayHaveActed?: boolean
  readonly fault?: string
}

/**
 * One device after the other: HomeSeer's radio handles them in turn anyway, and the first refusal is reported with what
 * was done before.
 */
async function actArea(
  homeseer: HomeseerToolContext,
  { members, skipped, assessed }: Plan,
  call: Call,
): Promise<Outcome> {
  const { mirror, json } = homeseer.link
  const refs = members.map(({ device }) => device.ref)
  // The states just before, because only they show whether a device has changed.
  const before = await mirror.read(refs, call.signal)
  if (!before.ok) return fail(createHomeseerReadFault(before.fault, 'reading the devices'))
  const results: MemberResult[] = []
  for (const { device, choice } of members) {
    homeseer.arrivals.supersede(device.ref)
    const sent = await json.call(createDeviceControlHttpRequest(choice), call.signal)
    const refused = sent.ok
      ? {}
      : { fault: sent.fault.kind, ...(mayHomeseerHaveActed(sent.fault) ? { mayHaveActed: true } : {}) }
    results.push({ ref: device.ref, name: formatDeviceLabel(device), told: sent.ok, ...refused })
  }
  const read = await mirror.read(refs, call.signal)
  const shown: ReadonlyMap<number, DeviceMirrorEntry> = read.ok ? read.value : new Map<number, DeviceMirrorEntry>()
  const late: LateDeviceChangeTask[] = []
  const devices = results.map((result, index) => {
    const record = shown.get(result.ref)?.record
    const member = members[index]
    const matched = record !== undefined && member !== undefined && isThere(member, record)
    const start = before.value.get(result.ref)
    const mayArrive = result.told || result.mayHaveActed === true
    if (member !== undefined && start !== undefined && mayArrive && !matched)
      late.push({
        ref: result.ref,
        expected: computeControlExpectation(member.choice, member.device.controls),
        before: readLastPolledValue(start),
        wanted: member.choice.pair.label,
        windowMs: chooseConfiguredVerificationTiming(homeseer, member.device, assessed.deviceCatalog).windowMs,
      })
    return { ...result, matched, value: record?.value ?? null, status: record?.status ?? null }
  })
  if (late.length > 0) void recordLateArrivals(homeseer, late, call)
  const unsent = devices.filter(({ told }) => !told).length
  const isLost = devices.some(({ mayHaveActed = false, matched }) => mayHaveActed && !matched)
  if (isLost) return fail(createHs4Fault('UNKNOWN', LOST_ANSWERS, { details: { devices } }))
  if (unsent === devices.length)
    return fail(createHs4Fault('HS4_ERROR', 'HomeSeer took none of these commands.', { details: { devices } }))
  return createHomeseerOutcome({
    applied: unsent === 0,
    told: devices.length - unsent,
    devices,
    skipped: skipped.map((device) => ({ ref: device.ref, name: formatDeviceLabel(device) })),
    // Read once, at the end: a blind that was commanded last is still moving then, and the answer says so.
    verification: { performed: read.ok, matched: devices.every(({ matched }) => matched) },
    ...(devices.every(({ matched }) => matched) ? {} : { note: NOT_ALL_THERE }),
  })
}

const LOST_ANSWERS =
  'HomeSeer did not answer all of these commands: those with `mayHaveActed` may or may not have been told. Check their state before trying again.'

const NOT_ALL_THERE =
  'Those with `matched: false` were told and do not show it yet. Read them again later; lastCommand says when they have arrived.'

/** Writes one entry for the call when all have arrived or their time is over. */
async function recordLateArrivals(
  homeseer: HomeseerToolContext,
  late: readonly LateDeviceChangeTask[],
  call: Call,
): Promise<void> {
  const outcomes = await Promise.all(late.map((task) => awaitLateDeviceChange(homeseer, task)))
  const missing = outcomes.filter(({ outcome }) => outcome === 'not-reached').length
  await call.recordLateOutcome?.({
    outcome: missing === 0 ? 'reached' : 'not-reached',
    source: missing > 0 ? 'timeout' : outcomes.every(({ source }) => source === 'push') ? 'push' : 'read',
    observed: late.map(({ ref }, index) => ({ ref, ...outcomes[index] })),
    message:
      missing === 0
        ? `The ${late.length} that were on their way have arrived.`
        : `${missing} of the ${late.length} that were on their way have not arrived.`,
  })
}

function isThere({ device, choice }: Plan['members'][number], { value, status }: DeviceMirrorEntry['record']): boolean {
  const now = { value, status: status ?? '' }
  return compareWithExpectation(computeControlExpectation(choice, device.controls), now, now) === 'reached'
}
