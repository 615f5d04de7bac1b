/**
 * Device set tool: sends one command to a device and reports the outcome.
 *
 * A control is never replaced by a write of HomeSeer's memory: if the hardware cannot be controlled, the answer says
 * that it was not.
 *
 * Reads and writes through the link.
 */
import { z } from 'zod'
import type { Call, Outcome } from '../../bus/call.ts'
import type { Capability } from '../../bus/capability.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import {
  computeControlExpectation,
  createDeviceControlHttpRequest,
  isValueOutsideControls,
  type ControlExpectation,
} from '../catalog/control-choice-and-read-back.ts'
import type { HomeseerDevice } from '../catalog/device.ts'
import type { MirroredValue } from '../wire/device-mirror.ts'
import type { ControlPair } from '../wire/device.ts'
import { createStoredStatusWriteRequest } from '../wire/json-requests.ts'
import { mayHomeseerHaveActed } from '../wire/link-fault.ts'
import { createNoDeviceFault, findHomeseerDevice, formatDeviceLabel, readMirroredDevice } from './catalog-reader.ts'
import {
  computeVerificationWaitMs,
  awaitLateDeviceChange,
  readLastPolledValue,
  chooseConfiguredVerificationTiming,
  verifyDeviceChange,
  watchForDevicePush,
  type DevicePushSubscription,
} from './change-verification-client.ts'
import {
  addConsequencesToLabel,
  assessDeviceWriteConsequences,
  toConsequencesJson,
  toDeviceChangeAssessment,
  type AssessedConsequences,
} from './consequence-assessment-client.ts'
import { refArgument } from './device-arguments.ts'
import {
  createLostSetAnswerFault,
  createRefusedSetFault,
  createUnchangedDeviceFault,
  createUnverifiedSetFault,
  suggestStatusRead,
  toChosenControlJson,
  toSetDeviceResultJson,
  toPendingDeviceSetJson,
  toWantedStatusJson,
  toVerificationJson,
} from './device-set-answer.ts'
import {
  chooseDeviceSetMethod,
  findUnambiguousControl,
  toDeviceSetMethodJson,
  type HardwareControlMethod,
  type DeviceSetMethod,
  type StatusOnlyMethod,
} from './device-set-request.ts'
import { createHomeseerReadFault, createHomeseerWriteFault, extendHs4Fault } from './faults.ts'
import {
  BASE_GUARD_ARGUMENT_SCHEMAS,
  createTolerantInputSchema,
  defineHomeseerChange,
  toHomeseerDeviceTarget,
  type HomeseerAssessment,
} from './homeseer-change.ts'
import { createHomeseerOutcome } from './homeseer-envelope.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'

/** The arguments for the requested state, shared with the intents. */
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

/** Everything that the change needs, found before the guard decides; an approver sees `shown` as `before`. */
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
    effect: 'writes',
    // One call at a time per device: the second would otherwise be verified against the effect of the first.
    lock: ({ ref }) => (typeof ref === 'number' ? toHomeseerDeviceTarget(ref) : undefined),
    // Locks and blinds take tens of seconds, and verification waits for them.
    timeoutSeconds: 60,
    plan: (request) => planSet(homeseer, request),
    assess: assessSet,
    act: (plan, request, call) => actSet(homeseer, plan, { request, call }),
  })
}

async function planSet(homeseer: HomeseerToolContext, request: SetInput): Promise<Result<Plan, Fault>> {
  const found = await findMethod(homeseer, request)
  if (!found.ok) return found
  const assessed = await assessDeviceWriteConsequences(homeseer, [found.value.device.ref])
  return assessed.ok ? ok({ ...found.value, assessed: assessed.value }) : assessed
}

async function findMethod(
  homeseer: HomeseerToolContext,
  request: SetInput,
): Promise<Result<Omit<Plan, 'assessed'>, Fault>> {
  const found = await findHomeseerDevice(homeseer, request.ref)
  if (!found.ok) return found
  const device = found.value
  const shown = readMirroredDevice(homeseer, device.ref)?.live
  const path = chooseDeviceSetMethod(device, device.controls, request)
  if (path.ok && device.controlsKnown) return ok({ device, controls: device.controls, path: path.value, shown })
  // The owner may have changed the controls since they were read, so they are requested once before a refusal.
  const fresh = await homeseer.catalog.freshControls(device.ref)
  if (!fresh.ok) return path.ok ? fail(createHomeseerReadFault(fresh.fault, 'reading the controls')) : path
  // Classified again, because the sensitivity depends on what the device can do now.
  const renewed = await findHomeseerDevice(homeseer, request.ref)
  if (!renewed.ok) return renewed
  const again = chooseDeviceSetMethod(renewed.value, fresh.value, request)
  return again.ok ? ok({ device: renewed.value, controls: fresh.value, path: again.value, shown }) : again
}

function assessSet({ device, controls, path, shown, assessed }: Plan): HomeseerAssessment {
  return {
    ...toDeviceChangeAssessment([device], assessed),
    target: toHomeseerDeviceTarget(device.ref),
    label: addConsequencesToLabel(formatDeviceLabel(device), assessed),
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

interface Act extends Plan {
  readonly request: SetInput
  readonly call: Call
  readonly before: MirroredValue
  readonly watch: DevicePushSubscription
}

async function actSet(homeseer: HomeseerToolContext, plan: Plan, job: Pick<Act, 'request' | 'call'>): Promise<Outcome> {
  const { mirror } = homeseer.link
  const { ref } = plan.device
  // Read again just before, because only that shows whether the device has changed.
  const read = await mirror.read([ref], job.call.signal)
  if (!read.ok) return fail(createHomeseerReadFault(read.fault, `reading ${plan.device.name}`))
  const entry = read.value.get(ref)
  if (entry === undefined) return fail(createNoDeviceFault(ref))
  const before = readLastPolledValue(entry)
  // Subscribed before sending, because the push may arrive before the answer.
  const watching = watchForDevicePush(mirror, ref)
  try {
    const act: Act = { ...plan, ...job, before, watch: watching }
    return plan.path.kind === 'control'
      ? await control(homeseer, act, plan.path)
      : await store(homeseer, act, plan.path)
  } finally {
    watching.end()
  }
}

async function control(homeseer: HomeseerToolContext, act: Act, path: HardwareControlMethod): Promise<Outcome> {
  const { device, request, call } = act
  homeseer.arrivals.supersede(device.ref)
  const sent = await homeseer.link.json.call(createDeviceControlHttpRequest(path.choice), call.signal)
  // HomeSeer refused, or was never reached: nothing moved, so nothing has to be verified.
  if (!sent.ok && !mayHomeseerHaveActed(sent.fault)) return fail(createRefusedSetFault(device, sent.fault))
  const rawBefore = sent.ok ? sent.value.shown?.raw : undefined
  if (sent.ok && !request.verify)
    return createHomeseerOutcome(toSetDeviceResultJson(act, { path, rawBefore, verification: { performed: false } }))
  const { value: sentValue } = path.choice
  const { arrivals } = homeseer
  const learned = sentValue === undefined ? undefined : arrivals.shownFor(device.ref, sentValue)
  const expected = { ...computeControlExpectation(path.choice, act.controls), shown: learned }
  const timing = chooseConfiguredVerificationTiming(homeseer, device, act.assessed.deviceCatalog)
  const { before, watch } = act
  const { ref } = device
  const checked = await verifyDeviceChange(homeseer, { ref, expected, before, timing, watch, signal: call.signal })
  const verification = toVerificationJson(checked, { wanted: toChosenControlJson(path.choice), before })
  const shown = checked.observed?.value
  if (checked.matched && sentValue !== undefined && isValueOutsideControls(expected, shown) && shown !== undefined)
    arrivals.learnShown(device.ref, sentValue, shown)
  // The verification continues after the caller was answered.
  if (!checked.matched) {
    const late = { ref, expected, before, windowMs: timing.windowMs, wanted: path.choice.pair.label }
    void awaitLateDeviceChange(homeseer, late).then((outcome) => call.recordLateOutcome?.(outcome))
  }
  // A lost answer only counts as a success if the device shows a state that it did not have before.
  if (!sent.ok && !(checked.matched && (checked.lastChangeMoved || checked.pushHeard)))
    return fail(createLostSetAnswerFault(device, sent.fault, verification))
  const raw = homeseer.link.mirror.entries.get(ref)?.record.raw
  const answer = toSetDeviceResultJson(act, { path, raw, rawBefore, verification })
  if (checked.matched) return createHomeseerOutcome(answer)
  // Not having arrived yet is neither a failure nor a success: the caller learns which state it is, and until when the
  // device may still arrive.
  if (checked.outcome === 'still_moving' || checked.outcome === 'unreported')
    return createHomeseerOutcome({
      ...answer,
      ...toPendingDeviceSetJson(checked.outcome, homeseer.clock.now() + timing.windowMs),
    })
  if (checked.outcome === 'unread') return fail(createUnverifiedSetFault(device, checked.fault, verification))
  if (showsNothing(act)) return createHomeseerOutcome({ ...answer, note: SHOWS_NOTHING })
  return fail(createUnchangedDeviceFault(act, 'control_value', verification))
}

/** A device with a single button, such as a scene, has no second state that could show whether it was pressed. */
function showsNothing({ controls }: Act): boolean {
  return new Set(controls.map(({ value, range }) => (range === undefined ? value : Number.NaN))).size === 1
}

const SHOWS_NOTHING = 'HomeSeer took the command; this device has no state that would show it.'

/**
 * Writes HomeSeer's memory. If HomeSeer does not keep it, and a control means the same, the device is controlled once.
 */
async function store(homeseer: HomeseerToolContext, act: Act, path: StatusOnlyMethod): Promise<Outcome> {
  const { device, request, call } = act
  const { value, text } = path
  const sent = await homeseer.link.json.call(
    createStoredStatusWriteRequest({ ref: device.ref, value, text, source: request.source }),
    call.signal,
  )
  if (!sent.ok)
    return fail(
      createHomeseerWriteFault(sent.fault, `writing the status of ${device.name}`, suggestStatusRead(device.ref)),
    )
  if (!request.verify)
    return createHomeseerOutcome(toSetDeviceResultJson(act, { path, verification: { performed: false } }))
  const { before, watch } = act
  const { ref } = device
  const expected = storedExpectation(path)
  const timing = { waitMs: computeVerificationWaitMs(homeseer), windowMs: 0, slow: false }
  const checked = await verifyDeviceChange(homeseer, { ref, expected, before, timing, watch, signal: call.signal })
  const verification = toVerificationJson(checked, { wanted: toWantedStatusJson(path), before })
  if (checked.matched) return createHomeseerOutcome(toSetDeviceResultJson(act, { path, verification }))
  // If the result could not be read, the device is not controlled.
  if (checked.outcome === 'unread') return fail(createUnverifiedSetFault(device, checked.fault, verification))
  return recover(homeseer, act, { path, verification })
}

async function recover(
  homeseer: HomeseerToolContext,
  act: Act,
  { path, verification }: { readonly path: StatusOnlyMethod; readonly verification: JsonObject },
): Promise<Outcome> {
  const fresh = await homeseer.catalog.freshControls(act.device.ref)
  const choice = fresh.ok ? findUnambiguousControl(fresh.value, path.value, path.text) : undefined
  const renewed = await findHomeseerDevice(homeseer, act.device.ref)
  // A device that turns out to be a lock by now was not assessed as one.
  const isAsAssessed = renewed.ok && (isOrdinary(renewed.value) || !isOrdinary(act.device))
  if (!fresh.ok || choice === undefined || !isAsAssessed)
    return fail(createUnchangedDeviceFault(act, 'set_status', verification))
  // Contract: "one control_value recovery path when a matching control pair is available", never a second one.
  const controlPath = { kind: 'control', choice, autoSwitch: undefined } as const
  const recovered = await control(homeseer, { ...act, controls: fresh.value }, controlPath)
  const fallback = { from: 'set_status', to: 'control_value', reason: 'The status did not hold.', verification }
  return recovered.ok
    ? createHomeseerOutcome({ ...(recovered.value.data as JsonObject), fallback })
    : fail(extendHs4Fault(recovered.fault, { details: { fallback } }))
}

/** HomeSeer's memory holds either exactly what was written, or something else. */
function storedExpectation({ value, text }: StatusOnlyMethod): ControlExpectation {
  return value === undefined
    ? { low: undefined, high: undefined, text, restValues: [] }
    : { low: value, high: value, text: undefined, restValues: [] }
}
