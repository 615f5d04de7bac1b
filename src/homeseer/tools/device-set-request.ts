/**
 * Device set request: derives from the arguments of `hs4.devices.set` the one command for HomeSeer, or the reason why
 * there is none.
 *
 *   control_value  value | label | controlUse (+ value) | text ─▶ control
 *   set_status     maps clearly onto a control pair ─▶ control (auto-switch)
 *                  otherwise ─▶ store: HomeSeer's memory is rewritten, no hardware moves, and the answer says so
 */
import type { Fault } from '../../core/fault.ts'
import { omitUndefined, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import {
  chooseControlPair,
  describeControls,
  type DeviceControlChoice,
  type DeviceControlFault,
  type DeviceControlRequest,
} from '../catalog/control-choice-and-read-back.ts'
import type { HomeseerDevice } from '../catalog/device.ts'
import type { ControlPair } from '../wire/device.ts'
import { parseControlUseName, CONTROL_USES } from '../wire/control-use.ts'
import { createHomeseerArgumentFault, type SuggestedToolCall } from './faults.ts'

export type DeviceSetMode = 'control_value' | 'set_status'

/** `value` and `statusText` are the contract's; the others name a control as people and HomeSeer do. */
export interface DeviceSetRequest {
  readonly mode: DeviceSetMode
  readonly value?: number
  readonly label?: string
  readonly controlUse?: string
  readonly text?: string
  readonly statusText?: string
}

/** What will be sent: a control for the hardware, or a change of HomeSeer's memory. */
export type DeviceSetMethod = HardwareControlMethod | StatusOnlyMethod

export interface HardwareControlMethod {
  readonly kind: 'control'
  readonly choice: DeviceControlChoice
  /** Why the hardware is controlled although only the status was to be written. */
  readonly autoSwitch: string | undefined
}

export interface StatusOnlyMethod {
  readonly kind: 'store'
  readonly value: number | undefined
  readonly text: string | undefined
}

export function chooseDeviceSetMethod(
  device: HomeseerDevice,
  controls: readonly ControlPair[],
  request: DeviceSetRequest,
): Result<DeviceSetMethod, Fault> {
  if (request.mode === 'set_status') return chooseStatusMethod(controls, request)
  const wanted = toDeviceControlRequest(request)
  if (!wanted.ok) return wanted
  const choice = chooseControlPair(controls, wanted.value)
  return choice.ok
    ? ok({ kind: 'control', choice: choice.value, autoSwitch: undefined })
    : fail(noControl(device, choice.fault, request))
}

/** A control only if value and text clearly mean the same pair. */
function chooseStatusMethod(
  controls: readonly ControlPair[],
  request: DeviceSetRequest,
): Result<DeviceSetMethod, Fault> {
  const { value, statusText = request.label } = request
  if (request.controlUse !== undefined || request.text !== undefined)
    return fail(
      createHomeseerArgumentFault('mode', 'set_status takes value or statusText; use control_value for the rest'),
    )
  if (value === undefined && statusText === undefined)
    return fail(createHomeseerArgumentFault('value', 'set_status needs value or statusText'))
  const choice = findUnambiguousControl(controls, value, statusText)
  if (choice === undefined) return ok({ kind: 'store', value, text: statusText })
  const autoSwitch = `set_status only rewrites what HomeSeer remembers; ${choice.pair.label} is a control of this device, so it was told that instead.`
  return ok({ kind: 'control', choice, autoSwitch })
}

/** The only control that both the value and the text mean, if there is one. */
export function findUnambiguousControl(
  controls: readonly ControlPair[],
  value: number | undefined,
  text: string | undefined,
): DeviceControlChoice | undefined {
  const byValue = value === undefined ? undefined : chooseControlPair(controls, { kind: 'value', value })
  const byLabel = text === undefined ? undefined : chooseControlPair(controls, { kind: 'label', label: text })
  if (byValue?.ok === false || byLabel?.ok === false) return undefined
  if (byValue !== undefined && byLabel !== undefined && byValue.value.value !== byLabel.value.value) return undefined
  return byValue?.value ?? byLabel?.value
}

/** The requested control, however it is named. */
export function toDeviceControlRequest({
  value,
  label,
  statusText,
  controlUse,
  text,
}: Omit<DeviceSetRequest, 'mode'>): Result<DeviceControlRequest, Fault> {
  // With control_value a status text can only mean the control that shows it.
  const wantedLabel = label ?? statusText
  const ways = [wantedLabel, controlUse, text].filter((way) => way !== undefined)
  if (ways.length > 1 || (value !== undefined && (wantedLabel !== undefined || text !== undefined)))
    return fail(createHomeseerArgumentFault('value', ONE_WAY))
  if (controlUse !== undefined) {
    const use = parseControlUseName(controlUse)
    if (use === undefined || use === 'None')
      return fail(createHomeseerArgumentFault('controlUse', `is none of ${CONTROL_USES.slice(1).join(', ')}`))
    return ok({ kind: 'use', use, value })
  }
  if (wantedLabel !== undefined) return ok({ kind: 'label', label: wantedLabel })
  if (text !== undefined) return ok({ kind: 'text', text })
  return value === undefined ? fail(createHomeseerArgumentFault('value', ONE_WAY)) : ok({ kind: 'value', value })
}

const ONE_WAY = 'give one of value, label, controlUse (with value where it spans a range) or text'

/** Each fault lists what the device accepts, so that the next attempt can be right. */
function noControl(device: HomeseerDevice, fault: DeviceControlFault, request: DeviceSetRequest): Fault {
  const details: JsonObject = { ref: device.ref, ...('offers' in fault ? { offers: [...fault.offers] } : {}) }
  switch (fault.kind) {
    case 'no-controls':
      return createHomeseerArgumentFault('ref', `${device.name} (${device.ref}) cannot be told anything itself`, {
        details: { ...details, children: [...device.childRefs] },
        next: nextForRoot(device, request),
      })
    case 'too-many-decimals':
      return createHomeseerArgumentFault(
        'value',
        `${fault.value} has more than the ${fault.decimals} decimals that it takes`,
        {
          details,
        },
      )
    case 'no-such-value':
      return createHomeseerArgumentFault('value', `${device.name} does not take ${fault.value}`, {
        details,
        ...nearest(device, fault.value),
      })
    case 'no-such-label':
      return createHomeseerArgumentFault('label', `${device.name} has no ${JSON.stringify(fault.label)}`, { details })
    case 'several-labels':
      return createHomeseerArgumentFault(
        'label',
        `${JSON.stringify(fault.label)} means several things here; give the value`,
        {
          details,
        },
      )
    case 'no-such-use':
      return createHomeseerArgumentFault('controlUse', `${device.name} has no ${fault.use}`, { details })
    case 'value-needed':
      return createHomeseerArgumentFault('value', `${fault.use} needs a value`, { details })
    default:
      return createHomeseerArgumentFault('text', `${device.name} takes no text`, { details })
  }
}

/** The features of a root, each with the caller's request; the caller has to choose one. */
function nextForRoot({ childRefs, ref }: HomeseerDevice, request: DeviceSetRequest): readonly SuggestedToolCall[] {
  if (childRefs.length === 0) return [{ name: 'hs4.devices.get', args: { refs: [ref], includeControls: true } }]
  return (
    childRefs
      // Enough to see the pattern; hs4.devices.get has all of them.
      .slice(0, 5)
      .map((child) => ({
        name: 'hs4.devices.set',
        args: { ref: child, ...toDeviceSetArguments(request), dryRun: true },
      }))
  )
}

/** Models often request 100 from a dimmer whose range ends at 99. */
function nearest(device: HomeseerDevice, value: number): { readonly next: readonly SuggestedToolCall[] } {
  const ends = device.controls.flatMap(({ range, value: own }) =>
    range === undefined ? (own === undefined ? [] : [own]) : [range.start, range.end],
  )
  const near = ends.toSorted((left, right) => Math.abs(left - value) - Math.abs(right - value))[0]
  const get: SuggestedToolCall = { name: 'hs4.devices.get', args: { refs: [device.ref], includeControls: true } }
  return near === undefined
    ? { next: [get] }
    : { next: [{ name: 'hs4.devices.set', args: { ref: device.ref, value: near, dryRun: true } }, get] }
}

/** The request as arguments, without defaults, for calls that are suggested or prepared. */
export function toDeviceSetArguments(request: DeviceSetRequest): JsonObject {
  const { mode, value, label, controlUse, text, statusText } = request
  return {
    ...(mode === 'control_value' ? {} : { mode }),
    ...omitUndefined({ value, label, controlUse, text, statusText }),
  }
}

/** What will be sent, for the approver. */
export function toDeviceSetMethodJson(path: DeviceSetMethod, controls: readonly ControlPair[]): JsonObject {
  if (path.kind === 'store')
    return { path: 'status_only', value: path.value ?? null, text: path.text ?? null, movesHardware: false }
  const { pair, value, text } = path.choice
  return {
    path: 'control',
    label: pair.label,
    ...omitUndefined({ value, text }),
    movesHardware: true,
    // What else the device accepts; limited, because thermostats have hundreds of set points.
    choices: describeControls(controls).slice(0, 32),
  }
}
