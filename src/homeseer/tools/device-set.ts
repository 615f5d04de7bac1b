/**
 * Device set: tells one device something, and says what became of it.
 *
 * Control is never replaced by a write of HomeSeer's memory: where hardware cannot be told, the answer says that none
 * was.
 *
 * Reads and writes through the link.
 */
import { z } from 'zod'
import type { Call, Outcome } from '../../bus/call.ts'
import type { Capability } from '../../bus/capability.ts'
import type { Fault } from '../../core/fault.ts'
import { omitUndefined, type Json, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { isoTimeOrNull } from '../../toolbox/iso-time.ts'
import {
  createDeviceControlExchange,
  type DeviceControlChoice,
  computeControlExpectation,
  isUnknownValue,
  type ControlExpectation,
  chooseVerificationTiming,
  type VerificationTiming,
} from '../catalog/device-control.ts'
import type { HomeseerDevice } from '../catalog/device.ts'
import type { ControlPair } from '../wire/device.ts'
import { mayHomeseerHaveActed, type HomeseerLinkFault } from '../wire/link-fault.ts'
import type { MirroredValue } from '../wire/device-mirror.ts'
import { createStoredStatusRequest } from '../wire/json-requests.ts'
import {
  assessDeviceWriteConsequences,
  toConsequencesJson,
  listUncertainTargets,
  addConsequencesToLabel,
  listReachedTargets,
  listTouchedThings,
  type AssessedConsequences,
} from './consequence-client.ts'
import type { HomeseerToolContext } from './homeseer-tools.ts'
import { refArgument } from './device-arguments.ts'
import { formatDeviceLabel, findHomeseerDevice, createNoDeviceFault, readMirroredDevice } from './catalog-reader.ts'
import { createHs4Fault, createHomeseerReadFault, createHomeseerWriteFault, type SuggestedToolCall } from './faults.ts'
import {
  BASE_GUARD_ARGUMENT_SCHEMAS,
  toHomeseerDeviceTarget,
  GUARDED_TOOL_OUTPUT_SCHEMA,
  defineHomeseerChange,
  type HomeseerAssessment,
  createTolerantInputSchema,
} from './homeseer-change.ts'
import {
  chooseDeviceSetMethod,
  findUnambiguousControl,
  toDeviceSetMethodJson,
  type DeviceSetMode,
  type DeviceSetMethod,
} from './device-set-request.ts'
import {
  readLastPolledValue,
  followLateArrival,
  toVerificationJson,
  verifyDeviceChange,
  watchDeviceChange,
  type DeviceChangeVerification,
  type DeviceChangeWatch,
  type LateArrivalTask,
} from './change-verification-client.ts'

/** What can be wished for, shared with the intents. */
export const DEVICE_SET_SCHEMAS = {
  mode: z
    .enum(['control_value', 'set_status'])
    .default('control_value')
    .describe('`control_value` tells the device; `set_status` only rewrites what HomeSeer remembers of it.'),
  value: z.number().exactOptional().describe('The number of a control, or one within its range.'),
  label: z.string().min(1).max(200).exactOptional().describe('The label of a control, such as On or Dim 40%.'),
  controlUse: z.string().min(1).max(50).exactOptional().describe('What the control is for, such as On, Off, Dim.'),
  text: z.string().max(1_000).exactOptional().describe('For text boxes and colour pickers.'),
  statusText: z.string().min(1).max(200).exactOptional().describe('With set_status: the text to show.'),
  source: z.string().max(100).exactOptional().describe('Goes to HomeSeer’s log with set_status.'),
}

const input = createTolerantInputSchema({
  ref: refArgument,
  ...DEVICE_SET_SCHEMAS,
  verify: z.boolean().default(true).describe('Look afterwards whether it happened.'),
  ...BASE_GUARD_ARGUMENT_SCHEMAS,
})

type SetInput = z.output<typeof input>

/** Everything the act needs, found before the guard decides; `shown` is what a person who approves sees as `before`. */
interface Plan {
  readonly device: HomeseerDevice
  readonly controls: readonly ControlPair[]
  readonly path: DeviceSetMethod
  readonly shown: MirroredValue | undefined
  readonly assessed: AssessedConsequences
}

export function createDeviceSetTool(homeseer: HomeseerToolContext): Capability {
  return defineHomeseerChange(homeseer.rules, {
    name: 'hs4.devices.set',
    title: 'Set a device',
    description:
      'Tells one device something (by value, label or control use), waits for it to report back and says what it shows then. Values that the device would refuse are refused before they are sent. Locks, doors, alarms, devices with voice confirmation, and whatever sets one of these in motion through HomeSeer’s events need a person’s approval.',
    input,
    output: GUARDED_TOOL_OUTPUT_SCHEMA,
    effect: 'writes',
    // One at a time per device: the second would be verified against what the first one did.
    lock: ({ ref }) => (typeof ref === 'number' ? toHomeseerDeviceTarget(ref) : undefined),
    // Locks and blinds take tens of seconds, and verification waits for them.
    timeoutSeconds: 60,
    plan: (wish) => planSet(homeseer, wish),
    assess: assessSet,
    act: (plan, wish, call) => actSet(homeseer, plan, { wish, call }),
  })
}

async function planSet(homeseer: HomeseerToolContext, wish: SetInput): Promise<Result<Plan, Fault>> {
  const found = await findWish(homeseer, wish)
  if (!found.ok) return found
  const assessed = await assessDeviceWriteConsequences(homeseer, [found.value.device.ref])
  return assessed.ok ? ok({ ...found.value, assessed: assessed.value }) : assessed
}

async function findWish(homeseer: HomeseerToolContext, wish: SetInput): Promise<Result<Omit<Plan, 'assessed'>, Fault>> {
  const found = await findHomeseerDevice(homeseer, wish.ref)
  if (!found.ok) return found
  const device = found.value
  const shown = readMirroredDevice(homeseer, device.ref)?.live
  const path = chooseDeviceSetMethod(device, device.controls, wish)
  if (path.ok && device.controlsKnown) return ok({ device, controls: device.controls, path: path.value, shown })
  // The owner may have changed the controls since they were read: worth one question before saying no.
  const fresh = await homeseer.catalog.freshControls(device.ref)
  if (!fresh.ok) return path.ok ? fail(createHomeseerReadFault(fresh.fault, 'reading the controls')) : path
  // Found anew: what it can do now is what says how careful one must be with it.
  const renewed = await findHomeseerDevice(homeseer, wish.ref)
  if (!renewed.ok) return renewed
  const again = chooseDeviceSetMethod(renewed.value, fresh.value, wish)
  return again.ok ? ok({ device: renewed.value, controls: fresh.value, path: again.value, shown }) : again
}

function assessSet({ device, controls, path, shown, assessed }: Plan): HomeseerAssessment {
  const { refs = [], ...touched } = listTouchedThings(assessed)
  return {
    // By what the device is, never by what is asked of it: locking a door can lock somebody out.
    effect: isOrdinary(device) && assessed.reasons.length === 0 ? 'writes' : 'sensitive',
    target: toHomeseerDeviceTarget(device.ref),
    label: addConsequencesToLabel(formatDeviceLabel(device), assessed),
    touched: { ...touched, refs: [device.ref, ...refs] },
    reaches: listReachedTargets(assessed),
    mayReach: listUncertainTargets(assessed),
    preview: {
      before: { value: shown?.value ?? null, status: shown?.status ?? null },
      device: { ref: device.ref, name: formatDeviceLabel(device), sensitive: [...device.sensitivity] },
      after: toDeviceSetMethodJson(path, controls),
      ...toConsequencesJson(assessed),
    },
  }
}

function isOrdinary({ sensitivity }: HomeseerDevice): boolean {
  return sensitivity.length === 0
}

interface Deed {
  readonly wish: SetInput
  readonly call: Call
}

interface Act extends Deed, Plan {
  readonly before: MirroredValue
  readonly watch: DeviceChangeWatch
}

async function actSet(homeseer: HomeseerToolContext, plan: Plan, deed: Deed): Promise<Outcome> {
  const { mirror } = homeseer.link
  const { ref } = plan.device
  // Read afresh: whether the device changed can only be told from where it was just now.
  const read = await mirror.read([ref], deed.call.signal)
  if (!read.ok) return fail(createHomeseerReadFault(read.fault, `reading ${plan.device.name}`))
  const entry = read.value.get(ref)
  if (entry === undefined) return fail(createNoDeviceFault(ref))
  const before = readLastPolledValue(entry)
  // Before sending: the push may arrive ahead of the answer.
  const watching = watchDeviceChange(mirror, ref)
  try {
    const act: Act = { ...plan, ...deed, before, watch: watching }
    return plan.path.kind === 'control'
      ? await control(homeseer, act, plan.path)
      : await store(homeseer, act, plan.path)
  } finally {
    watching.end()
  }
}

async function control(
  homeseer: HomeseerToolContext,
  act: Act,
  path: DeviceSetMethod & { readonly kind: 'control' },
): Promise<Outcome> {
  const { device, wish, call } = act
  homeseer.arrivals.supersede(device.ref)
  const sent = await homeseer.link.json.call(createDeviceControlExchange(path.choice), call.signal)
  // HomeSeer said no, or was never reached: then nothing moved and nothing has to be looked for.
  if (!sent.ok && !mayHomeseerHaveActed(sent.fault)) return fail(refused(device, sent.fault))
  if (sent.ok && !wish.verify)
    return ok({ data: success(act, { path, rawBefore: sent.value.shown?.raw, verification: { performed: false } }) })
  const { value: told } = path.choice
  const { arrivals } = homeseer
  const learned = told === undefined ? undefined : arrivals.shownFor(device.ref, told)
  const expected = { ...computeControlExpectation(path.choice, act.controls), shown: learned }
  const patience = chooseVerificationTiming(device, act.assessed.house, {
    usualMs: usualWaitMs(homeseer),
    longestMs: homeseer.config.verifyWaitSeconds * 1_000,
  })
  const checked = await look(homeseer, act, { expected, patience })
  const verification = toVerificationJson(checked, { wanted: choiceJson(path.choice), before: act.before })
  const shown = checked.observed?.value
  if (checked.matched && told !== undefined && isUnknownValue(expected, shown) && shown !== undefined)
    arrivals.learnShown(device.ref, told, shown)
  if (!checked.matched)
    recordLateArrival(homeseer, act, { expected, windowMs: patience.windowMs, wanted: path.choice.pair.label })
  // A lost answer is made good only by a state that was not there before.
  if (!sent.ok && !(checked.matched && (checked.lastChangeMoved || checked.pushHeard)))
    return fail(lostAnswer(device, sent.fault, verification))
  const done = {
    path,
    raw: rawNow(homeseer, device.ref),
    rawBefore: sent.ok ? sent.value.shown?.raw : undefined,
    verification,
  }
  if (checked.matched) return ok({ data: success(act, done) })
  const untilMs = homeseer.clock.now() + patience.windowMs
  // Not there yet is not a failure, and no success either: the caller hears which, and until when it may still come.
  if (checked.outcome === 'still_moving' || checked.outcome === 'unreported')
    return ok({ data: { ...success(act, done), ...pendingJson(checked.outcome, untilMs) } })
  if (checked.outcome === 'unread') return fail(unread(act, checked, verification))
  if (showsNothing(act)) return ok({ data: { ...success(act, done), note: SHOWS_NOTHING } })
  return fail(notThere(act, { executedMode: 'control_value', verification }))
}

function usualWaitMs({ config }: HomeseerToolContext): number {
  return config.verifyAttempts * config.verifyIntervalMs
}

function rawNow({ link: { mirror } }: HomeseerToolContext, ref: number): Json | undefined {
  return mirror.entries.get(ref)?.record.raw
}

/** Something with a single button, such as a scene, has no second state that could tell whether it was pressed. */
function showsNothing({ controls }: Act): boolean {
  return new Set(controls.map(({ value, range }) => (range === undefined ? value : Number.NaN))).size === 1
}

const SHOWS_NOTHING = 'HomeSeer took the command; this device has no state that would show it.'

function pendingJson(outcome: 'still_moving' | 'unreported', untilMs: number): JsonObject {
  return {
    applied: outcome === 'still_moving',
    pending: outcome,
    pendingUntil: isoTimeOrNull(untilMs),
    note:
      outcome === 'still_moving'
        ? 'The device is on its way. Read it again later; lastCommand says when it has arrived.'
        : 'HomeSeer took the command and the device has not reported yet. Read it again later; lastCommand tells.',
  }
}

/** Goes on after the caller was answered. */
function recordLateArrival(
  { link: { mirror }, arrivals, clock }: HomeseerToolContext,
  { device: { ref }, before, call }: Act,
  expectation: Pick<LateArrivalTask, 'expected' | 'wanted' | 'windowMs'>,
): void {
  const following = followLateArrival({ mirror, ref, before, arrivals, clock, ...expectation })
  void following.then((late) => call.recordLateOutcome?.(late))
}

/** HomeSeer's memory. If even that does not hold, and a control means the same, the device is told after all, once. */
async function store(
  homeseer: HomeseerToolContext,
  act: Act,
  path: DeviceSetMethod & { readonly kind: 'store' },
): Promise<Outcome> {
  const { device, wish, call } = act
  const { value, text } = path
  const sent = await homeseer.link.json.call(
    createStoredStatusRequest({ ref: device.ref, value, text, source: wish.source }),
    call.signal,
  )
  if (!sent.ok)
    return fail(createHomeseerWriteFault(sent.fault, `writing the status of ${device.name}`, lookNext(device.ref)))
  if (!wish.verify) return ok({ data: success(act, { path, verification: { performed: false } }) })
  const expected = storedExpectation(path)
  const patience = { waitMs: usualWaitMs(homeseer), windowMs: 0, slow: false }
  const checked = await look(homeseer, act, { expected, patience })
  const verification = toVerificationJson(checked, { wanted: storedJson(path), before: act.before })
  if (checked.matched) return ok({ data: success(act, { path, verification }) })
  // What nobody could read is no reason to tell the device.
  if (checked.outcome === 'unread') return fail(unread(act, checked, verification))
  return recover(homeseer, act, { path, verification })
}

async function recover(
  homeseer: HomeseerToolContext,
  act: Act,
  {
    path,
    verification,
  }: { readonly path: DeviceSetMethod & { readonly kind: 'store' }; readonly verification: JsonObject },
): Promise<Outcome> {
  const fresh = await homeseer.catalog.freshControls(act.device.ref)
  const choice = fresh.ok ? findUnambiguousControl(fresh.value, path.value, path.text) : undefined
  const renewed = await findHomeseerDevice(homeseer, act.device.ref)
  // What turns out to be a lock by now was not weighed as one.
  const isAsAssessed = renewed.ok && (isOrdinary(renewed.value) || !isOrdinary(act.device))
  if (!fresh.ok || choice === undefined || !isAsAssessed)
    return fail(notThere(act, { executedMode: 'set_status', verification }))
  // Contract: "one control_value recovery path when a matching control pair is available", never a second one.
  const controlPath = { kind: 'control', choice, autoSwitch: undefined } as const
  const recovered = await control(homeseer, { ...act, controls: fresh.value }, controlPath)
  const fallback = { from: 'set_status', to: 'control_value', reason: 'The status did not hold.', verification }
  return recovered.ok
    ? ok({ data: { ...(recovered.value.data as JsonObject), fallback } })
    : fail({ ...recovered.fault, details: { ...recovered.fault.details, fallback } })
}

/** Between two looks at a device that takes its time; a push ends the wait at once. */
const SLOW_INTERVAL_MS = 500

function look(
  homeseer: HomeseerToolContext,
  act: Act,
  { expected, patience }: { readonly expected: ControlExpectation; readonly patience: VerificationTiming },
): Promise<DeviceChangeVerification> {
  const { verifyIntervalMs } = homeseer.config
  const intervalMs = patience.slow ? Math.max(SLOW_INTERVAL_MS, verifyIntervalMs) : verifyIntervalMs
  const attempts = Math.max(1, Math.round(patience.waitMs / intervalMs))
  return verifyDeviceChange({
    mirror: homeseer.link.mirror,
    ref: act.device.ref,
    expected,
    before: act.before,
    rules: { attempts, intervalMs, slow: patience.slow, mayShowOther: !patience.slow },
    watch: act.watch,
    signal: act.call.signal,
  })
}

/** Memory holds exactly what was written, or it does not. */
function storedExpectation({ value, text }: DeviceSetMethod & { readonly kind: 'store' }): ControlExpectation {
  return value === undefined
    ? { low: undefined, high: undefined, text, restValues: [] }
    : { low: value, high: value, text: undefined, restValues: [] }
}

interface Done {
  readonly path: DeviceSetMethod
  /** As HomeSeer shows it now. */
  readonly raw?: Json | undefined
  /** As HomeSeer answered the command, which is most often the state before it. */
  readonly rawBefore?: Json | undefined
  readonly verification: JsonObject
}

function success({ device, wish }: Act, { path, raw, rawBefore, verification }: Done): JsonObject {
  const executed: DeviceSetMode = path.kind === 'control' ? 'control_value' : 'set_status'
  return {
    // A rewritten memory is not an applied change (ADR 22).
    applied: path.kind === 'control',
    ref: device.ref,
    name: device.name,
    mode: executed,
    requestedMode: wish.mode,
    controlPath: path.kind === 'control' ? 'hardware' : 'status_only',
    ...(path.kind === 'control' ? choiceJson(path.choice) : storedJson(path)),
    ...omitUndefined({ source: wish.source }),
    ...(path.kind === 'control' && path.autoSwitch !== undefined ? { modeAutoSwitch: path.autoSwitch } : {}),
    ...(path.kind === 'store' ? { stored: true, note: STORED_NOTE } : {}),
    raw: raw ?? null,
    ...omitUndefined({ rawBefore }),
    verification,
  }
}

/** A write of the memory tells the device nothing, and sets off what waits for that value all the same. */
const STORED_NOTE = 'HomeSeer shows this now; the device itself was told nothing.'

function choiceJson({ pair, value, text }: DeviceControlChoice): JsonObject {
  return {
    label: pair.label,
    ...omitUndefined({ value, text }),
    ...(pair.use === 'None' ? {} : { controlUse: pair.use }),
  }
}

function storedJson({ value, text }: DeviceSetMethod & { readonly kind: 'store' }): JsonObject {
  return omitUndefined({ value, statusText: text })
}

/** A refusal of one device is most often about rights: who may use it is told with it. */
function refused(device: HomeseerDevice, fault: HomeseerLinkFault): Fault {
  const plain = createHomeseerWriteFault(fault, `telling ${device.name}`)
  if (fault.kind !== 'refused') return plain
  return createHs4Fault('HS4_ERROR', `HomeSeer refused to tell ${device.name} (${device.ref}): ${fault.text}`, {
    details: { ref: device.ref, applied: false, userAccess: device.userAccess },
    next: [
      { name: 'hs4.devices.get', args: { refs: [device.ref], includeControls: true } },
      { name: 'hs4.selftest.run' },
    ],
  })
}

/** UNKNOWN, with what was seen since: the caller decides, we do not send twice. */
function lostAnswer(device: HomeseerDevice, fault: HomeseerLinkFault, verification: JsonObject): Fault {
  const plain = createHomeseerWriteFault(fault, `telling ${device.name}`, lookNext(device.ref))
  return { ...plain, details: { ...plain.details, ref: device.ref, verification } }
}

function notThere(
  { device, wish }: Act,
  { executedMode, verification }: { readonly executedMode: DeviceSetMode; readonly verification: JsonObject },
): Fault {
  return createHs4Fault(
    'HS4_ERROR',
    `HomeSeer took the command, but ${device.name} (${device.ref}) did not change as requested.`,
    {
      details: {
        ref: device.ref,
        requestedMode: wish.mode,
        executedMode,
        expected: verification['expected'] ?? null,
        verification,
      },
      fixHint: 'Look at the device: it may be slow, stuck or out of reach.',
      next: lookNext(device.ref),
    },
  )
}

/** HomeSeer took the command and says no more: neither a success nor a failure. */
function unread({ device }: Act, { fault }: DeviceChangeVerification, verification: JsonObject): Fault {
  const why =
    fault === undefined ? 'HomeSeer no longer tells of it' : `HomeSeer’s answers cannot be read: ${fault.kind}`
  return createHs4Fault(
    'UNKNOWN',
    `HomeSeer took the command, but nobody could see what ${device.name} (${device.ref}) shows since (${why}). Check the state before trying again.`,
    { details: { ref: device.ref, verification }, next: lookNext(device.ref) },
  )
}

function lookNext(ref: number): readonly SuggestedToolCall[] {
  return [{ name: 'hs4.devices.status.get', args: { refs: [ref], fresh: true } }]
}
