/**
 * Device tool caller: sends a call to a connected device, and waits or fails for one that is not connected.
 *
 *   asleep   ▸ fails at once with a sentence, or waits until the device has reconnected
 *   greeting ▸ waits until the device has listed its tools
 *   ready    ▸ still the tool that was approved? ▸ request ▸ answer
 *
 * A tool that restarts the device is never answered; its result is whether the device boots afterwards.
 *
 * Pure, given its fleet, apart from waiting.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Call, Outcome } from '../../bus/call.ts'
import { toAccountKey } from '../../bus/caller.ts'
import type { Effect } from '../../bus/capability.ts'
import type { Fault, PolicyReason } from '../../core/fault.ts'
import { fail, ok } from '../../core/result.ts'
import { formatIsoTime } from '../../toolbox/iso-time.ts'
import type { DeviceFault } from '../session/device-fault.ts'
import { formatDeviceFault, mayDeviceHaveActed } from '../session/device-fault.ts'
import type { FleetDevice, DeviceFleet } from '../session/fleet.ts'
import type { ToolTimeouts } from '../session/tool-timeout.ts'
import { isRestartTool, resolveToolTimeoutMs } from '../session/tool-timeout.ts'
import type { DeviceTool } from '../wire/tool-list.ts'
import { mapDeviceFaultToCallFault, toDeviceOutcome } from './device-outcome.ts'
import { computeToolDefinitionHash } from './tool-pins.ts'
import { isVoiceBackend } from './voice-backend-tool-calls.ts'
import { DeviceWaiters, MAX_WAITERS_PER_CALLER, MAX_WAITERS_PER_DEVICE } from './device-waiters.ts'

export interface DeviceWaitRules {
  readonly toolTimes: ToolTimeouts
  /** What happens to a call to a sleeping device if its caller does not specify it. */
  readonly whenAsleep: 'fail' | 'queue'
  readonly waitMs: number
  /** When a device last sent its boot request. */
  readonly bootedAtMs: (deviceId: string) => number | undefined
  readonly now: () => number
}

export interface DeviceToolTarget {
  readonly deviceId: string
  readonly slug: string
  readonly tool: DeviceTool
  readonly effect: Effect
}

/** How long a call waits behind other calls; the tool's own time begins when the request is sent. */
const TURN_MS = 60_000
/** How long a restart may take, from the last message before it to the boot request after it. */
const RESTART_MS = 60_000
const LOOK_MS = 200

export class DeviceToolCaller {
  readonly #fleet: Pick<DeviceFleet, 'device' | 'call'>
  readonly #rules: DeviceWaitRules
  readonly #waiters = new DeviceWaiters()

  constructor(fleet: Pick<DeviceFleet, 'device' | 'call'>, rules: DeviceWaitRules) {
    this.#fleet = fleet
    this.#rules = rules
  }

  async call(call: Call, { deviceId, slug, tool, effect }: DeviceToolTarget): Promise<Outcome> {
    if (call.rehearsal) return fail({ kind: 'unsupported', message: 'A device does not support dry runs.' })
    const away = await this.#wakened(deviceId, slug, call)
    if (away !== undefined) return fail(mapDeviceFaultToCallFault(away, { slug, effect }))
    const now = this.#fleet.device(deviceId)?.tools.find(({ name }) => name === tool.name)
    // The device may have reconnected with another definition of the tool, before the bus was updated.
    if (now !== undefined && computeToolDefinitionHash(now) !== computeToolDefinitionHash(tool))
      return fail(createToolWithheldFault(slug, tool.name))
    const timeoutMs = resolveToolTimeoutMs(tool.name, this.#rules.toolTimes)
    const options = { signal: call.signal, waitMs: TURN_MS, timeoutMs, isBackends: isVoiceBackend(call.caller) }
    const calledAtMs = this.#rules.now()
    const result = await this.#fleet.call(deviceId, tool.name, call.body, options)
    if (!result.ok && isRestartTool(tool.name) && mayDeviceHaveActed(result.fault)) {
      const bootedAtMs = await this.#bootAfter(deviceId, calledAtMs, call.signal)
      if (bootedAtMs !== undefined) return restarted(slug, calledAtMs, bootedAtMs)
    }
    return toDeviceOutcome(result, { slug, effect })
  }

  /** When the device sent a boot request after this moment; `undefined` if it did not in time. */
  async #bootAfter(deviceId: string, atMs: number, signal: AbortSignal): Promise<number | undefined> {
    for (let waitedMs = 0; waitedMs <= RESTART_MS && !signal.aborted; waitedMs += LOOK_MS) {
      const bootedAtMs = this.#rules.bootedAtMs(deviceId)
      if (bootedAtMs !== undefined && bootedAtMs >= atMs) return bootedAtMs
      await delay(LOOK_MS, undefined, { ref: false })
    }
    return undefined
  }

  /** Waits until the device can be asked. Resolves to why it still cannot, or to `undefined` when it can. */
  async untilReady(
    deviceId: string,
    waitMs: number,
    { caller, signal }: Pick<Call, 'caller' | 'signal'>,
  ): Promise<DeviceFault | undefined> {
    const isThere = () => this.#phase(deviceId) === 'ready'
    const waited = await this.#waiters.wait({ key: deviceId, caller: toAccountKey(caller), waitMs, signal, isThere })
    if (waited === 'ready') return undefined
    if (waited === 'gone') return { kind: 'unknown-device', device: deviceId }
    if (waited === 'full') return { kind: 'queue-full', limit: MAX_WAITERS_PER_DEVICE }
    if (waited === 'too-many-of-one') return { kind: 'queue-full', limit: MAX_WAITERS_PER_CALLER, ofOne: true }
    if (signal.aborted) return { kind: 'cancelled', sent: false }
    // A device that is connected but not ready is busy with something else.
    return { kind: 'expired', afterMs: waitMs, asleep: this.#fleet.device(deviceId)?.online !== true }
  }

  /** Why a person need not be asked about a call to this device now: it cannot be reached. */
  unreachable(deviceId: string, slug: string): PolicyReason | undefined {
    if (this.#rules.whenAsleep === 'queue' || this.#phase(deviceId) !== 'asleep') return undefined
    return { rule: 'device-asleep', message: formatDeviceFault(this.asleep(deviceId, slug)) }
  }

  asleep(deviceId: string, slug: string): DeviceFault {
    const transport = this.#fleet.device(deviceId)?.transport ?? 'websocket'
    return { kind: 'asleep', device: slug, wakesItself: transport !== 'websocket' }
  }

  /** The longest time that a call of this tool can take, including all waits. */
  timeoutSeconds(tool: string): number {
    const { toolTimes, whenAsleep, waitMs } = this.#rules
    const restartMs = isRestartTool(tool) ? RESTART_MS : 0
    return Math.ceil(
      (resolveToolTimeoutMs(tool, toolTimes) + restartMs + TURN_MS + (whenAsleep === 'queue' ? waitMs : 0)) / 1_000,
    )
  }

  /** Wakes the calls that wait for a device, because its state has changed. */
  poke(deviceId: string): void {
    this.#waiters.poke(deviceId)
  }

  /** Ends the waiting calls of a device that was revoked or forgotten. */
  dismiss(deviceId: string): void {
    this.#waiters.dismiss(deviceId)
  }

  close(): void {
    this.#waiters.close()
  }

  /** `undefined` when the device can be asked now. */
  async #wakened(deviceId: string, slug: string, call: Call): Promise<DeviceFault | undefined> {
    const { whenAsleep, waitMs } = this.#rules
    const phase = this.#phase(deviceId)
    if (phase === 'ready') return undefined
    if (phase === 'asleep' && whenAsleep === 'fail') return this.asleep(deviceId, slug)
    // A device that is still in its greeting has not listed its tools yet.
    const patienceMs = whenAsleep === 'queue' ? waitMs : TURN_MS
    return this.untilReady(deviceId, patienceMs, call)
  }

  #phase(deviceId: string): FleetDevice['phase'] {
    return this.#fleet.device(deviceId)?.phase ?? 'asleep'
  }
}

function restarted(slug: string, calledAtMs: number, bootedAtMs: number): Outcome {
  const booted_at = formatIsoTime(bootedAtMs)
  const seconds = Math.round((bootedAtMs - calledAtMs) / 100) / 10
  const text = `The device restarted: ${seconds} s after it was told to, it booted and asked where to connect.`
  return ok({ data: { device: slug, value: true, evidence: { booted_at } }, content: [{ type: 'text', text }] })
}

export function createToolWithheldFault(slug: string, tool: string): Fault {
  const message = `${tool} of ${slug} is not as it was when it was approved, and is withheld until a person has looked at it: hearthbus devices approve-tools ${slug}.`
  return { kind: 'not-permitted', code: 'tool_withheld', message, reasons: [{ rule: 'definition-changed', message }] }
}
