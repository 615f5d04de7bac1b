/**
 * Device set answer: the answer of `hs4.devices.set`: what was sent, what the device shows since, or why the outcome is
 * unknown.
 */
import type { Fault } from '../../core/fault.ts'
import { omitUndefined, type Json, type JsonObject } from '../../core/json.ts'
import { formatIsoTimeOrNull } from '../../toolbox/iso-time.ts'
import type { DeviceControlChoice } from '../catalog/control-choice-and-read-back.ts'
import type { HomeseerDevice } from '../catalog/device.ts'
import type { MirroredValue } from '../wire/device-mirror.ts'
import type { HomeseerLinkFault } from '../wire/link-fault.ts'
import type { DeviceChangeVerificationResult } from './change-verification-client.ts'
import type { DeviceSetMethod, DeviceSetMode, StatusOnlyMethod } from './device-set-request.ts'
import { createHomeseerWriteFault, createHs4Fault, extendHs4Fault, type SuggestedToolCall } from './faults.ts'

interface RequestedSet {
  readonly device: HomeseerDevice
  readonly request: { readonly mode: DeviceSetMode; readonly source?: string }
}

interface DoneSet {
  readonly path: DeviceSetMethod
  /** The record as HomeSeer shows it now. */
  readonly raw?: Json | undefined
  /** HomeSeer's answer to the command, which usually shows the state before it. */
  readonly rawBefore?: Json | undefined
  readonly verification: JsonObject
}

export function toSetDeviceResultJson(
  { device, request: { mode: requestedMode, source } }: RequestedSet,
  { path, raw = null, rawBefore, verification }: DoneSet,
): JsonObject {
  const isControl = path.kind === 'control'
  return {
    // A change of HomeSeer's memory is not an applied change (ADR 22).
    applied: isControl,
    ref: device.ref,
    name: device.name,
    mode: isControl ? 'control_value' : 'set_status',
    requestedMode,
    controlPath: isControl ? 'hardware' : 'status_only',
    ...(isControl ? toChosenControlJson(path.choice) : toWantedStatusJson(path)),
    ...omitUndefined({ source, modeAutoSwitch: isControl ? path.autoSwitch : undefined }),
    ...(isControl ? {} : { stored: true, note: STORED_NOTE }),
    raw,
    ...omitUndefined({ rawBefore }),
    verification,
  }
}

/** Writing the memory sends nothing to the device, but still sets off events that wait for that value. */
const STORED_NOTE = 'HomeSeer shows this now; the device itself was told nothing.'

export function toChosenControlJson({ pair, value, text }: DeviceControlChoice): JsonObject {
  const controlUse = pair.use === 'None' ? undefined : pair.use
  return { label: pair.label, ...omitUndefined({ value, text, controlUse }) }
}

export function toWantedStatusJson({ value, text }: StatusOnlyMethod): JsonObject {
  return omitUndefined({ value, statusText: text })
}

export function toPendingDeviceSetJson(outcome: 'still_moving' | 'unreported', untilMs: number): JsonObject {
  return {
    applied: outcome === 'still_moving',
    pending: outcome,
    pendingUntil: formatIsoTimeOrNull(untilMs),
    note:
      outcome === 'still_moving'
        ? 'The device is on its way. Read it again later; lastCommand says when it has arrived.'
        : 'HomeSeer took the command and the device has not reported yet. Read it again later; lastCommand tells.',
  }
}

/** Setting a text box changes its text and keeps its number; an unknown text is not compared. */
function isOther(before: MirroredValue, now: MirroredValue): boolean {
  return before.value !== now.value || (before.status ?? now.status) !== (now.status ?? before.status)
}

/** Spec 4's `verification`; `checks` lists what the verdict is based on. */
export function toVerificationJson(
  { matched, outcome, attempts, observed, lastChangeMoved, pushHeard, fault }: DeviceChangeVerificationResult,
  { wanted, before }: { readonly wanted: JsonObject; readonly before: MirroredValue },
): JsonObject {
  return {
    performed: true,
    matched,
    outcome,
    attempts,
    expected: wanted,
    before: { value: before.value ?? null, status: before.status ?? null },
    observed:
      observed === undefined
        ? null
        : {
            value: observed.value ?? null,
            status: observed.status ?? null,
            lastChange: formatIsoTimeOrNull(observed.lastChangeMs),
            source: observed.source,
          },
    checks: {
      deviceFound: observed !== undefined,
      valueMatch: matched && observed?.value === wanted['value'],
      changed: observed !== undefined && isOther(before, observed),
      lastChangeMoved,
      pushHeard,
    },
    ...(fault === undefined ? {} : { lastReadFailed: fault.kind }),
  }
}

/** HomeSeer mostly refuses a device because of rights, so the fault says who may use it. */
export function createRefusedSetFault(device: HomeseerDevice, fault: HomeseerLinkFault): Fault {
  const { ref, name, userAccess } = device
  if (fault.kind !== 'refused') return createHomeseerWriteFault(fault, `telling ${name}`)
  return createHs4Fault('HS4_ERROR', `HomeSeer refused to tell ${name} (${ref}): ${fault.text}`, {
    details: { ref, applied: false, userAccess },
    next: [{ name: 'hs4.devices.get', args: { refs: [ref], includeControls: true } }, { name: 'hs4.selftest.run' }],
  })
}

/** UNKNOWN, with what was seen since: the caller decides, because we do not send twice. */
export function createLostSetAnswerFault(
  { ref, name }: HomeseerDevice,
  fault: HomeseerLinkFault,
  verification: JsonObject,
): Fault {
  const lost = createHomeseerWriteFault(fault, `telling ${name}`, suggestStatusRead(ref))
  return extendHs4Fault(lost, { details: { ref, verification } })
}

export function createUnchangedDeviceFault(
  { device: { ref, name }, request }: RequestedSet,
  executedMode: DeviceSetMode,
  verification: JsonObject,
): Fault {
  const expected = verification['expected'] ?? null
  return createHs4Fault('HS4_ERROR', `HomeSeer took the command, but ${name} (${ref}) did not change as requested.`, {
    details: { ref, requestedMode: request.mode, executedMode, expected, verification },
    fixHint: 'Look at the device: it may be slow, stuck or out of reach.',
    next: suggestStatusRead(ref),
  })
}

/** HomeSeer accepted the command, but its effect is unknown. */
export function createUnverifiedSetFault(
  { ref, name }: HomeseerDevice,
  fault: HomeseerLinkFault | undefined,
  verification: JsonObject,
): Fault {
  const why = fault === undefined ? 'HomeSeer no longer lists it' : `HomeSeer’s answers cannot be read: ${fault.kind}`
  return createHs4Fault(
    'UNKNOWN',
    `HomeSeer took the command, but the state of ${name} (${ref}) could not be read since then (${why}). Check the state before trying again.`,
    { details: { ref, verification }, next: suggestStatusRead(ref) },
  )
}

export function suggestStatusRead(ref: number): readonly SuggestedToolCall[] {
  return [{ name: 'hs4.devices.status.get', args: { refs: [ref], fresh: true } }]
}
