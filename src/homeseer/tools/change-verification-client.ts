/**
 * Change verification: checks whether a device reached the requested state.
 *
 *   send ─▶ [push or pause ▸ fresh read] × attempts ─▶ there? ─▶ settle ▸ read again ─▶ still there ─▶ matched
 *
 * The device's own report counts, read again from HomeSeer. A push of the change, and a newer time of the last change,
 * are reported as evidence that the report is not an old one. A device that falls back is found by reading twice. A
 * device that is moving gets more time. One that rests at a number that belongs to no button, with a push or a newer
 * time as a proof that it moved, has arrived: it shows another number than the command's.
 *
 *   reached       it has the requested state
 *   still_moving  it moved, and is not there yet
 *   unreported    a slow device has not reported yet
 *   elsewhere     it is where it was, or somewhere else
 *   unread        HomeSeer could not be asked, or did not answer about it
 *
 * Does I/O (through the mirror).
 */
import type { LateChangeOutcome } from '../../bus/call.ts'
import type { Clock } from '../../core/clock.ts'
import { setTimeout as wait } from 'node:timers/promises'
import type { HomeseerLinkFault } from '../wire/link-fault.ts'
import type { HomeseerConfig } from '../../config/homeseer.ts'
import {
  chooseVerificationTiming,
  isValueOutsideControls,
  compareWithExpectation,
  type ControlExpectation,
  type DeviceObservation,
  type VerificationTiming,
} from '../catalog/control-choice-and-read-back.ts'
import type { HomeseerDevice } from '../catalog/device.ts'
import type { HomeseerDeviceCatalog } from '../catalog/device-catalog-and-event-consequences.ts'
import type { DeviceMirrorClient } from '../wire/device-mirror-client.ts'
import type { MirroredValue, DeviceMirrorEntry } from '../wire/device-mirror.ts'

/** The parts of one HomeSeer that a verification needs. */
interface VerificationContext {
  readonly link: { readonly mirror: DeviceMirrorClient }
  readonly config: Pick<HomeseerConfig, 'verifyAttempts' | 'verifyIntervalMs' | 'verifyWaitSeconds'>
  readonly arrivals: LateDeviceChangeTracker
  readonly clock: Pick<Clock, 'now'>
}

export type ChangeVerificationOutcome = 'reached' | 'still_moving' | 'unreported' | 'elsewhere' | 'unread'

export interface DevicePushSubscription {
  /** Whether a push reported it since the watch began. */
  readonly pushHeard: () => boolean
  readonly end: () => void
}

export interface DeviceChangeVerificationResult {
  readonly matched: boolean
  readonly outcome: ChangeVerificationOutcome
  readonly attempts: number
  readonly observed: MirroredValue | undefined
  readonly lastChangeMoved: boolean
  readonly pushHeard: boolean
  /** Why the last read failed, if it did. */
  readonly fault: HomeseerLinkFault | undefined
}

/** A moving device gets this many times more reads. */
const MOVING_FACTOR = 3
/** After this many reads of the same number, the device is at rest. */
const REST_LOOKS = 3
/** The pause between two reads of a slow device; a push ends it at once. */
const SLOW_INTERVAL_MS = 500
/** A relay that falls back does so within this time, which a person does not notice. */
const SETTLE_MS = 200

/** Only pushes count as evidence: a read that shows the value may be an echo of our own write. */
export function watchForDevicePush(mirror: DeviceMirrorClient, ref: number): DevicePushSubscription {
  let received = false
  const end = mirror.subscribe((changes) => {
    received ||= changes.some((one) => one.ref === ref && isPushed(one.live))
  })
  return { pushHeard: () => received, end }
}

/** How long to wait for devices that react at once. */
export function computeVerificationWaitMs({ config }: Pick<VerificationContext, 'config'>): number {
  return config.verifyAttempts * config.verifyIntervalMs
}

export function chooseConfiguredVerificationTiming(
  context: Pick<VerificationContext, 'config'>,
  device: HomeseerDevice,
  catalog: HomeseerDeviceCatalog,
): VerificationTiming {
  const longestMs = context.config.verifyWaitSeconds * 1_000
  return chooseVerificationTiming(device, catalog, { usualMs: computeVerificationWaitMs(context), longestMs })
}

export interface ChangeVerificationTask {
  readonly ref: number
  readonly expected: ControlExpectation
  readonly before: MirroredValue
  readonly timing: VerificationTiming
  readonly watch: DevicePushSubscription
  readonly signal: AbortSignal
}

export async function verifyDeviceChange(
  { link: { mirror }, config }: VerificationContext,
  task: ChangeVerificationTask,
): Promise<DeviceChangeVerificationResult> {
  const { ref, expected, before, timing, signal } = task
  const intervalMs = timing.slow ? Math.max(SLOW_INTERVAL_MS, config.verifyIntervalMs) : config.verifyIntervalMs
  const maxAttempts = Math.max(1, Math.round(timing.waitMs / intervalMs))
  const start = observationOf(before)
  // The device had the requested state already, so there is no arrival to wait for, and no state to fall back to.
  const wasThere = compareWithExpectation(expected, start, start) === 'reached'
  let observed: MirroredValue | undefined
  let fault: HomeseerLinkFault | undefined
  let attempts = 0
  let last: DeviceLook['outcome'] = 'unread'
  let looksAtRest = 0
  for (let left = maxAttempts; left > 0 && !signal.aborted; left--) {
    // A push ends the wait early; without push this is the pause between two reads.
    await mirror.waitFor(ref, isReached(task), { timeoutMs: intervalMs, signal })
    attempts++
    const look = await lookAt(mirror, task)
    looksAtRest = look.live !== undefined && look.live.value === observed?.value ? looksAtRest + 1 : 1
    observed = look.live ?? observed
    fault = look.fault
    last = look.outcome
    // Rest at an unknown number can be an arrival; but a bolt that rests between its ends is stuck.
    const isResting = look.outcome === 'moving' && looksAtRest >= REST_LOOKS && !timing.slow
    if (isResting && isValueOutsideControls(expected, observed?.value) && hasMoved(task, observed))
      return toResult(task, { outcome: 'reached', attempts, observed, fault })
    // Reads of a moving device do not count, up to the factor: a garage door needs longer than a lamp, but a stuck one
    // must end.
    if (look.outcome === 'moving' && !timing.slow && attempts < maxAttempts * MOVING_FACTOR) left++
    // If the mirror shows the state already, nothing else delays the next read, and HomeSeer may be restarting.
    if (look.live === undefined) await wait(intervalMs, undefined, { signal }).catch(() => undefined)
    if (look.outcome !== 'reached') continue
    if (wasThere) return toResult(task, { outcome: 'reached', attempts, observed, fault })
    await wait(SETTLE_MS, undefined, { signal }).catch(() => undefined)
    const second = await lookAt(mirror, task)
    observed = second.live ?? observed
    fault = second.fault
    last = second.outcome
    if (second.outcome === 'reached')
      return toResult(task, { outcome: 'reached', attempts: attempts + 1, observed, fault })
  }
  const isUnmoved = observed !== undefined && observed.value === before.value
  const unreported = timing.slow && isUnmoved && !hasMoved(task, observed) ? 'unreported' : 'elsewhere'
  const outcome = last === 'moving' ? 'still_moving' : last === 'unread' ? 'unread' : unreported
  return toResult(task, { outcome, attempts, observed, fault })
}

export interface LateDeviceChangeTask extends Pick<ChangeVerificationTask, 'ref' | 'expected' | 'before'> {
  /** The requested state in the caller's words. */
  readonly wanted: string
  readonly windowMs: number
}

/**
 * After the caller was answered: watches whether the device still arrives within its time. A newer command to the
 * device ends this, because the device should then show something else.
 */
export async function awaitLateDeviceChange(
  { link: { mirror }, arrivals, clock }: VerificationContext,
  task: LateDeviceChangeTask,
): Promise<LateChangeOutcome> {
  const { ref, wanted, windowMs } = task
  const command = { wanted, atMs: clock.now(), outcome: 'pending' } as const
  const superseded = arrivals.begin(ref, command)
  const entry = await mirror.waitFor(ref, isReached(task), { timeoutMs: windowMs, signal: superseded })
  const live = mirror.entries.get(ref)?.live
  const observed = { value: live?.value ?? null, status: live?.status ?? null }
  if (superseded.aborted)
    return {
      outcome: 'not-reached',
      source: 'read',
      observed,
      message: `A newer command came before ${wanted} was seen.`,
    }
  const arrived = entry !== undefined
  const afterMs = clock.now() - command.atMs
  arrivals.end(ref, { ...command, outcome: arrived ? 'arrived' : 'not-arrived', afterMs })
  const seconds = Math.round(afterMs / 1_000)
  return {
    outcome: arrived ? 'reached' : 'not-reached',
    source: !arrived ? 'timeout' : live !== undefined && isPushed(live) ? 'push' : 'read',
    observed,
    message: arrived ? `It shows ${wanted} ${seconds} s later.` : `It does not show ${wanted} ${seconds} s later.`,
  }
}

function isPushed({ source }: MirroredValue): boolean {
  return source === 'ascii' || source === 'webhook'
}

/** Whether the mirror shows the expected state. */
function isReached({
  expected,
  before,
}: Pick<ChangeVerificationTask, 'expected' | 'before'>): (entry: DeviceMirrorEntry) => boolean {
  const start = observationOf(before)
  return ({ live }) => compareWithExpectation(expected, start, observationOf(live)) === 'reached'
}

interface DeviceLook {
  readonly outcome: 'reached' | 'moving' | 'elsewhere' | 'unread'
  readonly live: MirroredValue | undefined
  readonly fault: HomeseerLinkFault | undefined
}

async function lookAt(
  mirror: DeviceMirrorClient,
  { ref, expected, before, signal }: ChangeVerificationTask,
): Promise<DeviceLook> {
  const read = await mirror.read([ref], signal)
  // Always HomeSeer's answer, never the mirror's memory, which might contain the expected value.
  const entry = read.ok ? read.value.get(ref) : undefined
  const live = entry === undefined ? undefined : readLastPolledValue(entry)
  const fault = read.ok ? undefined : read.fault
  if (live === undefined) return { outcome: 'unread', live, fault }
  return { outcome: compareWithExpectation(expected, observationOf(before), observationOf(live)), live, fault }
}

function toResult(
  task: ChangeVerificationTask,
  found: Pick<DeviceChangeVerificationResult, 'outcome' | 'attempts' | 'observed' | 'fault'>,
): DeviceChangeVerificationResult {
  return {
    ...found,
    matched: found.outcome === 'reached',
    lastChangeMoved: isNewer(task, found.observed),
    pushHeard: task.watch.pushHeard(),
  }
}

function hasMoved(task: ChangeVerificationTask, observed: MirroredValue | undefined): boolean {
  return task.watch.pushHeard() || isNewer(task, observed)
}

function isNewer({ before }: ChangeVerificationTask, observed: MirroredValue | undefined): boolean {
  return observed?.lastChangeMs !== undefined && observed.lastChangeMs !== before.lastChangeMs
}

/** HomeSeer's last answer to a request, whatever was pushed since, because a push is not authenticated. */
export function readLastPolledValue({ record, live }: DeviceMirrorEntry): MirroredValue {
  const { value, status, lastChangeMs } = record
  return { value, status, lastChangeMs, source: 'read', observedMs: live.observedMs }
}

function observationOf({ value, status }: MirroredValue): DeviceObservation {
  return { value, status: status ?? '' }
}

// Arrivals: the outcome of the last command to each device after its caller was answered, and the number that a device
// shows for each commanded one.
//
//   told ─▶ pending ─▶ arrived (how late) | not-arrived

export interface LastDeviceCommand {
  /** As the caller wished it. */
  readonly wanted: string
  readonly atMs: number
  readonly outcome: 'pending' | 'arrived' | 'not-arrived'
  readonly afterMs?: number
}

const MAX_DEVICES = 1_000

export class LateDeviceChangeTracker {
  readonly #last = new Map<number, LastDeviceCommand>()
  readonly #following = new Map<number, AbortController>()
  readonly #shown = new Map<number, Map<number, number>>()

  last(ref: number): LastDeviceCommand | undefined {
    return this.#last.get(ref)
  }

  /** A new command for the device ends the watch for the earlier one. */
  supersede(ref: number): void {
    this.#following.get(ref)?.abort()
    this.#following.delete(ref)
    this.#last.delete(ref)
  }

  /** The signal aborts when the device gets another command. */
  begin(ref: number, command: LastDeviceCommand): AbortSignal {
    this.supersede(ref)
    storeNewest(this.#last, ref, command)
    const following = new AbortController()
    this.#following.set(ref, following)
    return following.signal
  }

  end(ref: number, command: LastDeviceCommand): void {
    this.#following.delete(ref)
    storeNewest(this.#last, ref, command)
  }

  /** The value that the device showed when this one was commanded before. */
  shownFor(ref: number, sent: number): number | undefined {
    return this.#shown.get(ref)?.get(sent)
  }

  learnShown(ref: number, sent: number, shown: number): void {
    const known = this.#shown.get(ref) ?? new Map<number, number>()
    known.set(sent, shown)
    storeNewest(this.#shown, ref, known)
  }
}

/** The least recently used entry is dropped. */
function storeNewest<Value>(entries: Map<number, Value>, ref: number, value: Value): void {
  entries.delete(ref)
  const [oldest] = entries.keys()
  if (entries.size >= MAX_DEVICES && oldest !== undefined) entries.delete(oldest)
  entries.set(ref, value)
}
