/**
 * Bus poller: asks who is there and reads what is worth reading, one question at a time, for as long as the bus can be
 * used.
 *
 *   devices ▸ values ▸ devices ▸ values ▸ … ▸ nothing is due: rest
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import type { EbusConnection, EbusRequest, EbusStatus } from './adapter/ebus-connection.ts'
import type { HeatingInstallation } from './heating-installation.ts'
import type { DiscoveryMode, DiscoveryProbe, DiscoveryProbeOutcome } from './registry/discovery.ts'
import { DiscoveryProbeScheduler } from './registry/discovery.ts'
import { VAILLANT_MANUFACTURER_CODE, encodeSerialRequest } from './wire/device-identity.ts'
import type { HeatingPlaneName } from './semantic/planes.ts'
import { listAffectedPlanes } from './semantic/planes.ts'
import { toIdentityReadKey } from './semantic/read-key.ts'
import type { PlannedRead } from './semantic/read-plan.ts'
import {
  computePollIntervalMs,
  isReadMissing,
  findNextRequestedRead,
  findNextDueRead,
  planReads,
} from './semantic/read-plan.ts'
import type { RegisterReader } from './semantic/register-reader.ts'

export interface BusPollerOptions {
  readonly installation: HeatingInstallation
  readonly scheduler: RegisterReader
  readonly discovery: DiscoveryMode
  readonly clock: Clock
  readonly logger: Logger
  readonly status: () => EbusStatus
  /** Sends on the bus; `undefined` before there is one. */
  readonly send: (...telegram: Parameters<EbusConnection['send']>) => ReturnType<EbusConnection['send']> | undefined
  /** After something was read. */
  readonly afterRead: () => void
}

const IDLE_MS = 200
const DEADLINE_MS = 2_000
/** The pause between two of our requests, so that a poll never looks like a flood. */
const SPACING_MS = 10
/** The read plan changes with what is found; other reasons can wait a second. */
const PLAN_MS = 1_000

export class BusPoller {
  readonly #options: BusPollerOptions
  readonly #discovery: DiscoveryProbeScheduler
  #planned: { readonly plan: readonly PlannedRead[]; readonly revision: number; readonly atMs: number } | undefined
  #probesDevices = true
  /** Planes that callers wait for, with their number. */
  readonly #waitedFor = new Map<HeatingPlaneName, number>()
  #step: PromiseWithResolvers<void> | undefined

  constructor(options: BusPollerOptions) {
    this.#options = options
    this.#discovery = new DiscoveryProbeScheduler(options.discovery)
  }

  plan(): readonly PlannedRead[] {
    const { topology, shadow } = this.#options.installation
    const nowMs = this.#options.clock.monotonic()
    const { revision } = topology
    const known = this.#planned
    if (known !== undefined && known.revision === revision && nowMs - known.atMs < PLAN_MS) return known.plan
    const plan = planReads(topology, shadow, this.#options.clock.now())
    shadow.pin(plan.map(({ key }) => key))
    this.#planned = { plan, revision, atMs: nowMs }
    return plan
  }

  /** Whether every planned value was read at least once, or no device can be asked. */
  isThrough(): boolean {
    const { installation, scheduler } = this.#options
    const { shadow, topology, registry } = installation
    if (!this.#isUsable()) return false
    const answered = ({ key }: PlannedRead): boolean => shadow.get(key) !== undefined || scheduler.isResting(key)
    return this.#discovery.isThrough(registry) && (topology.regulator === undefined || this.plan().every(answered))
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let worked = false
      try {
        worked = this.#isUsable() && (await this.#once(signal))
      } catch (error) {
        this.#options.logger.error({ err: error }, 'reading the heating failed because of an internal error')
      }
      this.#step?.resolve()
      this.#step = undefined
      await rest(worked ? SPACING_MS : IDLE_MS, signal)
    }
  }

  #isUsable(): boolean {
    const { connected, signal, source } = this.#options.status()
    return connected && signal && source === 'admitted'
  }

  #nextRequested(): PlannedRead | undefined {
    if (this.#waitedFor.size === 0) return undefined
    const { installation, scheduler } = this.#options
    return findNextRequestedRead(this.plan(), installation.shadow, {
      isAsked: (key) => listAffectedPlanes(key).some((plane) => this.#waitedFor.has(plane)),
      isOpen: (key) => scheduler.isResting(key),
    })
  }

  /**
   * A caller waits for these planes: their missing values are read before everything else, until `done` returns true or
   * the signal aborts. Resolves at once if waiting is useless: no device can be asked, or everything was read.
   */
  async readFirst(planes: readonly HeatingPlaneName[], done: () => boolean, signal: AbortSignal): Promise<void> {
    for (const plane of planes) this.#waitedFor.set(plane, (this.#waitedFor.get(plane) ?? 0) + 1)
    try {
      while (!signal.aborted && this.#canHope(planes) && !done()) await this.#nextStep(signal)
    } finally {
      for (const plane of planes) {
        const others = (this.#waitedFor.get(plane) ?? 1) - 1
        if (others > 0) this.#waitedFor.set(plane, others)
        else this.#waitedFor.delete(plane)
      }
    }
  }

  /** Whether the most important values of these planes were read, or cannot be. */
  hasEssentials(planes: readonly HeatingPlaneName[]): boolean {
    const { installation, scheduler } = this.#options
    return this.plan()
      .filter(
        ({ key, essential }) => essential === true && listAffectedPlanes(key).some((plane) => planes.includes(plane)),
      )
      .every(({ key }) => !isReadMissing(installation.shadow, key) || scheduler.isResting(key))
  }

  /**
   * Whether a device can be asked, and there is either something left to read for these planes, or an unknown device.
   */
  #canHope(planes: readonly HeatingPlaneName[]): boolean {
    const { installation, scheduler } = this.#options
    const { connected, signal, source } = this.#options.status()
    const willSpeak = source === 'admitted' || source === 'listening' || source === 'probing'
    if (!connected || !signal || !willSpeak) return false
    if (!this.#discovery.isThrough(installation.registry)) return true
    const isLeft = ({ key }: PlannedRead): boolean =>
      isReadMissing(installation.shadow, key) &&
      !scheduler.isResting(key) &&
      (installation.topology.regulator === undefined || listAffectedPlanes(key).some((plane) => planes.includes(plane)))
    return this.plan().some(isLeft)
  }

  /** Waits until something was read, or some time has passed without a read. */
  #nextStep(signal: AbortSignal): Promise<unknown> {
    this.#step ??= Promise.withResolvers<void>()
    return Promise.race([this.#step.promise, rest(IDLE_MS, signal)])
  }

  /** Devices and values take turns, so that a long scan does not delay values. */
  async #once(signal: AbortSignal): Promise<boolean> {
    // A value that a caller waits for comes before a device, except for devices without which the plane would be empty.
    const knowsDevices = this.#discovery.isThrough(this.#options.installation.registry)
    if (knowsDevices && this.#nextRequested() !== undefined) return this.#readDue(signal)
    this.#probesDevices = !this.#probesDevices
    return this.#probesDevices
      ? (await this.#probeDevice()) || (await this.#readDue(signal))
      : (await this.#readDue(signal)) || (await this.#probeDevice())
  }

  async #probeDevice(): Promise<boolean> {
    const { installation, clock, status, send } = this.#options
    const probe = this.#discovery.next(installation.registry, status().address, clock.monotonic())
    if (probe === undefined) return false
    // Sent once: an absent device is asked again later, and most of the usual addresses are unused.
    const sent = await send(requestOf(probe), { deadlineMs: DEADLINE_MS, caller: 'poll', repeatable: false })
    if (sent === undefined) return false
    this.#discovery.settle(probe, outcomeOf(sent), clock.monotonic())
    if (probe.kind === 'identity' && sent.ok && sent.value.response !== undefined)
      installation.learn(toIdentityReadKey(probe.address), sent.value.response, {
        atMs: clock.now(),
        nowMs: clock.monotonic(),
        source: 'poll',
      })
    return true
  }

  async #readDue(signal: AbortSignal): Promise<boolean> {
    const { installation, scheduler, clock, afterRead } = this.#options
    const { shadow, pollMs } = installation
    const isOpen = (key: number): boolean => scheduler.isResting(key)
    const due = this.#nextRequested() ?? findNextDueRead(this.plan(), shadow, { pollMs, nowMs: clock.now(), isOpen })
    if (due === undefined) return false
    // A value of the last run does not count as read, however recent it is.
    const maxAgeMs = shadow.get(due.key)?.source === 'cache' ? 0 : computePollIntervalMs(due.freshness, pollMs)
    await scheduler.read(due.key, { maxAgeMs, source: 'poll', deadlineMs: DEADLINE_MS, caller: 'poll', signal })
    afterRead()
    return true
  }
}

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await pause(ms, undefined, { signal })
  } catch {
    // The signal aborted.
  }
}

function requestOf(probe: DiscoveryProbe): EbusRequest {
  const { address: target } = probe
  if (probe.kind === 'identity') return { target, primary: 0x07, secondary: 0x04, data: new Uint8Array() }
  return { target, primary: VAILLANT_MANUFACTURER_CODE, secondary: 0x09, data: encodeSerialRequest(probe.chunk) }
}

function outcomeOf(sent: Awaited<ReturnType<EbusConnection['send']>>): DiscoveryProbeOutcome {
  if (sent.ok || sent.fault.kind === 'refused') return 'answered'
  return sent.fault.kind === 'no-answer' ? 'absent' : 'unclear'
}
