/**
 * Area set: all devices of one kind in a room, on a floor or in the house, told the same thing, with one decision that
 * names every one of them.
 *
 * Reads and writes through the link.
 */
import { z } from 'zod'
import type { Call, Outcome } from '../../bus/call.ts'
import type { Capability } from '../../bus/capability.ts'
import type { Fault } from '../../core/fault.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { HOMESEER_DEVICE_KINDS } from '../../config/homeseer.ts'
import {
  chooseControlPair,
  createControlExchange,
  type ControlChoice,
  type ControlRequest,
} from '../catalog/control.ts'
import type { HomeseerDevice } from '../catalog/device.ts'
import { expectControl, compareWithExpectation } from '../catalog/control.ts'
import { parseControlUse } from '../wire/control-use.ts'
import type { MirrorEntry } from '../wire/mirror.ts'
import { listDevicesInArea, type AreaQuery } from './area.ts'
import {
  assessWrite,
  consequencesJson,
  doubtfulTargets,
  labelWithConsequences,
  listReachedTargets,
  listTouched,
  type AssessedConsequences,
} from './consequence-client.ts'
import { homeseerAnswer, type HomeseerTools } from './homeseer-tools.ts'
import { deviceLabel, readCatalog } from './catalog-reader.ts'
import { homeseerArgumentFault, hs4Fault } from './faults.ts'
import {
  BASE_GUARD_SCHEMAS,
  homeseerDeviceTarget,
  GUARDED_OUTPUT_SCHEMA,
  defineHomeseerChange,
  type HomeseerAssessment,
  createTolerantInputSchema,
} from './homeseer-change.ts'

/** More than a house has lamps on one floor; a person has to read their names. */
const MAX_DEVICES = 60

const input = createTolerantInputSchema({
  kind: z.enum(HOMESEER_DEVICE_KINDS).describe('What kind of devices: light, blind, …'),
  location1: z.string().max(200).exactOptional().describe('The room; absent: every room.'),
  location2: z.string().max(200).exactOptional().describe('The floor; absent: every floor.'),
  value: z.number().exactOptional().describe('The number of a control, or one within its range.'),
  label: z.string().min(1).max(200).exactOptional().describe('The label of a control, such as Off.'),
  controlUse: z.string().min(1).max(50).exactOptional().describe('What the control is for, such as Off.'),
  ...BASE_GUARD_SCHEMAS,
})
type AreaInput = z.output<typeof input>

interface Plan {
  readonly members: readonly { readonly device: HomeseerDevice; readonly choice: ControlChoice }[]
  /** Of that kind and in that place, without a control for this wish. */
  readonly skipped: readonly HomeseerDevice[]
  readonly assessed: AssessedConsequences
}

export function createAreaSetTool(homeseer: HomeseerTools): Capability {
  return defineHomeseerChange(homeseer.rules, {
    name: 'hs4.areas.set',
    title: 'Set all devices of a kind',
    description:
      'Tells all devices of one kind in a room, on a floor or in the house the same thing, one after the other, and says what each shows then. All of them are named before anything happens, those that cannot be told so as well.',
    input,
    output: GUARDED_OUTPUT_SCHEMA,
    effect: 'writes',
    lock: 'homeseer:areas',
    timeoutSeconds: 120,
    plan: (wish) => planArea(homeseer, wish),
    assess: assessArea,
    act: (plan, wish, call) => actArea(homeseer, plan, { wish, call }),
  })
}

async function planArea(homeseer: HomeseerTools, wish: AreaInput): Promise<Result<Plan, Fault>> {
  const house = await readCatalog(homeseer)
  if (!house.ok) return house
  const found = listDevicesInArea(house.value, areaOf(wish))
  if (found.length === 0) return fail(nothingThere(wish))
  if (found.length > MAX_DEVICES)
    return fail(
      homeseerArgumentFault('location1', `${found.length} devices are more than the ${MAX_DEVICES} of one call`),
    )
  const wanted = controlWish(wish)
  if (!wanted.ok) return wanted
  const members = found.map((device) => ({ device, choice: chooseControlPair(device.controls, wanted.value) }))
  const able = members.flatMap(({ device, choice }) => (choice.ok ? [{ device, choice: choice.value }] : []))
  const skipped = members.filter(({ choice }) => !choice.ok).map(({ device }) => device)
  if (able.length === 0)
    return fail(homeseerArgumentFault('value', `none of them can be told so: ${skipped.map(deviceLabel).join(', ')}`))
  const assessed = await assessWrite(
    homeseer,
    able.map(({ device }) => device.ref),
  )
  if (!assessed.ok) return assessed
  return ok({ members: able, skipped, assessed: assessed.value })
}

function areaOf({ kind, location1, location2 }: AreaInput): AreaQuery {
  return { kind, location1, location2 }
}

function controlWish({ value, label, controlUse }: AreaInput): Result<ControlRequest, Fault> {
  if (label !== undefined) return ok({ kind: 'label', label })
  if (controlUse !== undefined) {
    const use = parseControlUse(controlUse)
    return use === undefined
      ? fail(homeseerArgumentFault('controlUse', 'is none that is known'))
      : ok({ kind: 'use', use, value })
  }
  return value === undefined
    ? fail(homeseerArgumentFault('value', 'give value, label or controlUse'))
    : ok({ kind: 'value', value })
}

function nothingThere({ kind, location1, location2 }: AreaInput): Fault {
  const where = [location1, location2].filter((place) => place !== undefined).join(', ')
  return hs4Fault('NOT_FOUND', `There is no ${kind} ${where === '' ? 'in this house' : `in ${where}`}.`, {
    next: [{ name: 'hs4.devices.list', args: { capability: kind, limit: 50 } }],
  })
}

function assessArea({ members, skipped, assessed }: Plan, wish: AreaInput): HomeseerAssessment {
  const { refs = [], ...touched } = listTouched(assessed)
  const own = members.map(({ device }) => device.ref)
  const isSensitive = members.some(({ device }) => device.sensitivity.length > 0) || assessed.reasons.length > 0
  const { kind, location1 = '', location2 = '' } = wish
  const place = [location1, location2].filter((part) => part !== '').join(', ')
  return {
    effect: isSensitive ? 'sensitive' : 'writes',
    target: `homeseer:area:${kind}:${location1}:${location2}`.toLowerCase().slice(0, 200).toWellFormed(),
    label: labelWithConsequences(
      `All ${members.length} of kind ${kind}${place === '' ? '' : ` in ${place}`}`,
      assessed,
    ),
    touched: { ...touched, refs: [...own, ...refs] },
    reaches: [...own.map(homeseerDeviceTarget), ...listReachedTargets(assessed)],
    mayReach: doubtfulTargets(assessed),
    preview: {
      devices: members.map(({ device, choice }) => ({
        ref: device.ref,
        name: deviceLabel(device),
        to: choice.pair.label,
        ...(choice.value === undefined ? {} : { value: choice.value }),
        ...(device.sensitivity.length === 0 ? {} : { sensitive: [...device.sensitivity] }),
      })),
      ...(skipped.length === 0 ? {} : { cannot: skipped.map((device) => `${deviceLabel(device)}, ref ${device.ref}`) }),
      ...consequencesJson(assessed),
    },
  }
}

/** One after the other: HomeSeer's radio takes them in turn anyway, and the first refusal is told with what was done. */
async function actArea(
  homeseer: HomeseerTools,
  { members, skipped }: Plan,
  { call }: { readonly wish: AreaInput; readonly call: Call },
): Promise<Outcome> {
  const results: { readonly ref: number; readonly name: string; readonly told: boolean; readonly fault?: string }[] = []
  for (const { device, choice } of members) {
    const sent = await homeseer.link.json.call(createControlExchange(choice), call.signal)
    const refused = sent.ok ? {} : { fault: sent.fault.kind }
    results.push({ ref: device.ref, name: deviceLabel(device), told: sent.ok, ...refused })
  }
  const refs = members.map(({ device }) => device.ref)
  const read = await homeseer.link.mirror.read(refs, call.signal)
  const shown: ReadonlyMap<number, MirrorEntry> = read.ok ? read.value : new Map<number, MirrorEntry>()
  const devices = results.map((result, index) => {
    const record = shown.get(result.ref)?.record
    const member = members[index]
    const matched = record !== undefined && member !== undefined && isThere(member, record)
    return { ...result, matched, value: record?.value ?? null, status: record?.status ?? null }
  })
  const untold = devices.filter(({ told }) => !told).length
  if (untold === devices.length)
    return fail(hs4Fault('HS4_ERROR', 'HomeSeer took none of these commands.', { details: { devices } }))
  return homeseerAnswer({
    applied: untold === 0,
    told: devices.length - untold,
    devices,
    skipped: skipped.map((device) => ({ ref: device.ref, name: deviceLabel(device) })),
    // Looked at once, at the end: a blind that was told last is on its way then, and the answer says so.
    verification: { performed: read.ok, matched: devices.every(({ matched }) => matched) },
    ...(devices.every(({ matched }) => matched) ? {} : { note: NOT_ALL_THERE }),
  })
}

const NOT_ALL_THERE = 'Those with `matched: false` were told and do not show it yet. Read them again later.'

function isThere({ device, choice }: Plan['members'][number], { value, status }: MirrorEntry['record']): boolean {
  const now = { value, status: status ?? '' }
  return compareWithExpectation(expectControl(choice, device.controls), now, now) === 'reached'
}
