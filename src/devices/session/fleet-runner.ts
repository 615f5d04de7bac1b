/**
 * Fleet runner: one session runner per device, the running calls, and all event subscribers.
 *
 * Does I/O: timers and links, through the runners.
 */
import { toBase64 } from '../../core/bytes.ts'
import { TimerWheel, TimerWheelDriver } from '../../bus/timer-wheel.ts'
import type { Clock } from '../../core/clock.ts'
import { systemClock } from '../../core/clock.ts'
import type { Json } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { ToolResult } from '../wire/tool-result.ts'
import type { AnnouncementToPerson } from '../wire/device-frame.ts'
import { SessionRunner } from './session-runner.ts'
import type { SessionRunnerOptions } from './session-runner.ts'
import { createDeviceAsleepFault } from './device-call-queue.ts'
import type { DeviceFault } from './device-fault.ts'
import { DeviceEventBroadcaster } from './event-feed.ts'
import type {
  DeviceCallOptions,
  DeviceIdentity,
  DeviceLink,
  FleetDevice,
  DeviceFleet,
  RememberedDeviceStore,
  FleetStats,
  DeviceLinkAttacher,
  DeviceLinkHandlers,
  PhotoUploads,
  VoiceService,
} from './fleet.ts'
import type { SessionEffect, SessionInput, RememberedDevice, SessionSettings } from './session.ts'
import { DEFAULT_SESSION_SETTINGS, isSessionOnline, newDeviceSession } from './session.ts'
import type { ToolTimeouts } from './tool-timeout.ts'
import { DEFAULT_TOOL_TIMEOUTS, resolveToolTimeoutMs } from './tool-timeout.ts'

export interface FleetOptions {
  readonly settings?: Partial<SessionSettings>
  readonly toolTimes?: ToolTimeouts
  readonly vision?: PhotoUploads
  readonly memory?: RememberedDeviceStore
  readonly voice?: VoiceService | undefined
  readonly clock?: Clock
  /** Called with every input and its effects, for traces. */
  readonly onStep?: (device: string, input: SessionInput, effects: readonly SessionEffect[]) => void
  /**
   * Called when a message of a device caused a bug here; the device was disconnected. Its trace belongs into a report.
   */
  readonly onBug?: (device: string, error: unknown) => void
}

/** How long a call waits for its turn, or for its device to wake, unless its caller specifies another time. */
const WAIT_MS = 60_000
/** Devices invent message types; types beyond this many are counted together. */
const MAX_COUNTERS = 64

type CallResult = Result<ToolResult, DeviceFault>

interface Pending {
  readonly runner: SessionRunner
  readonly settle: (result: CallResult) => void
}

export function createDeviceFleet(options: FleetOptions = {}): DeviceFleet & DeviceLinkAttacher {
  return new FleetServer(options)
}

class FleetServer implements DeviceFleet, DeviceLinkAttacher {
  readonly #settings: SessionSettings
  readonly #toolTimes: ToolTimeouts
  readonly #clock: Clock
  readonly #options: FleetOptions
  readonly #runnerOptions: SessionRunnerOptions
  readonly #runners = new Map<string, SessionRunner>()
  readonly #pending = new Map<number, Pending>()
  readonly #feed = new DeviceEventBroadcaster()
  readonly #ignored = new Map<string, number>()
  #nextCall = 1
  #closed = false

  constructor(options: FleetOptions) {
    this.#options = options
    this.#settings = { ...DEFAULT_SESSION_SETTINGS, hasVoice: options.voice !== undefined, ...options.settings }
    this.#toolTimes = options.toolTimes ?? DEFAULT_TOOL_TIMEOUTS
    this.#clock = options.clock ?? systemClock
    this.#runnerOptions = {
      clock: this.#clock,
      timer: new TimerWheelDriver(new TimerWheel(), this.#clock),
      voice: options.voice,
      carryOut: (from, effect) => this.#carryOut(from, effect),
      onStep: ({ session }, input, effects) => options.onStep?.(session.device, input, effects),
      onBug: ({ session }, error) => options.onBug?.(session.device, error),
    }
    for (const { deviceId, remembered } of options.memory?.recall() ?? []) this.#runnerOf(deviceId, remembered)
    options.vision?.onSpent((deviceId) => this.#renewVision(deviceId))
  }

  readonly devices = (): readonly FleetDevice[] => [...this.#runners.values()].map((runner) => runner.view())

  readonly device = (id: string): FleetDevice | undefined => this.#runners.get(id)?.view()

  readonly call = (
    id: string,
    tool: string,
    args: Json | undefined,
    options: DeviceCallOptions = {},
  ): Promise<CallResult> => {
    const runner = this.#runners.get(id)
    if (runner === undefined) return Promise.resolve(fail({ kind: 'unknown-device', device: id }))
    const { signal } = options
    if (signal?.aborted === true || this.#closed) return Promise.resolve(fail({ kind: 'cancelled', sent: false }))
    const call = this.#nextCall++
    return new Promise((resolve) => {
      const onAbort = () => runner.input({ kind: 'cancel', call, late: isTimeout(signal?.reason) })
      const settle = (result: CallResult) => {
        signal?.removeEventListener('abort', onAbort)
        resolve(result)
      }
      // Registered before the request can be sent, so that no answer arrives too early.
      this.#pending.set(call, { runner, settle })
      signal?.addEventListener('abort', onAbort)
      runner.input({
        kind: 'call',
        request: {
          call,
          tool,
          arguments: args,
          timeoutMs: options.timeoutMs ?? resolveToolTimeoutMs(tool, this.#toolTimes),
          waitMs: options.waitMs ?? WAIT_MS,
          outlastsSleep: options.whenAsleep === 'queue',
          isBackends: options.isBackends ?? false,
        },
      })
    })
  }

  readonly announce = (id: string, announcement: AnnouncementToPerson): Result<'sent', DeviceFault> => {
    const runner = this.#runners.get(id)
    if (runner === undefined) return fail({ kind: 'unknown-device', device: id })
    if (!isSessionOnline(runner.session)) return fail(createDeviceAsleepFault(runner.session))
    if (announcement.kind === 'notify' && !isAfter242(runner.session.info?.version ?? ''))
      return fail({ kind: 'unsupported', needs: 'firmware newer than 2.4.2' })
    runner.input({ kind: 'announce', announcement })
    return ok('sent')
  }

  readonly relist = (id: string): void => this.#runners.get(id)?.input({ kind: 'relist' })

  readonly subscribe = (signal?: AbortSignal) => this.#feed.subscribe(signal)

  readonly disconnect = (id: string, reason: string): void => this.#runners.get(id)?.hangUp(reason)

  readonly forget = (id: string): void => {
    const runner = this.#runners.get(id)
    if (runner === undefined) return
    runner.stop()
    runner.hangUp('forgotten')
    // Calls that waited for the device to wake end here.
    for (const [call, pending] of this.#pending)
      if (pending.runner === runner) this.#settle(call, fail({ kind: 'unknown-device', device: id }))
    this.#runners.delete(id)
    this.#feed.publish({ kind: 'forgotten', device: id, atMs: this.#clock.now() })
  }

  readonly stats = (): FleetStats => ({
    devices: this.#runners.size,
    connected: this.#runners
      .values()
      .filter((runner) => runner.link !== undefined)
      .toArray().length,
    pendingCalls: this.#pending.size,
    ignored: Object.fromEntries(this.#ignored),
  })

  readonly close = (): void => {
    this.#closed = true
    for (const runner of this.#runners.values()) {
      runner.stop()
      runner.hangUp('the gateway stops')
    }
    for (const call of this.#pending.keys()) this.#settle(call, fail({ kind: 'cancelled', sent: false }))
    this.#feed.close()
  }

  readonly attach = (identity: DeviceIdentity, link: DeviceLink): DeviceLinkHandlers => {
    const runner = this.#runnerOf(identity.deviceId)
    const older = runner.link
    // The new connection is attached first: the end of the older one then changes nothing, and the device was never
    // absent.
    const handlers = runner.attach(identity, link, this.#options.vision?.issue(identity, link.localAddress))
    older?.close('replaced by a newer connection')
    if (this.#closed) runner.hangUp('the gateway stops')
    return handlers
  }

  #runnerOf(deviceId: string, remembered?: RememberedDevice): SessionRunner {
    const known = this.#runners.get(deviceId)
    if (known !== undefined) return known
    const runner = new SessionRunner(newDeviceSession(deviceId, this.#settings, remembered), this.#runnerOptions)
    this.#runners.set(deviceId, runner)
    return runner
  }

  /**
   * The old token is used up or outdated, and invalid from now on; the device is told the new one before its next call.
   */
  #renewVision(deviceId: string): void {
    const runner = this.#runners.get(deviceId)
    if (runner?.identity === undefined || runner.link === undefined) return
    runner.input({ kind: 'vision', vision: this.#options.vision?.issue(runner.identity, runner.link.localAddress) })
  }

  #carryOut(runner: SessionRunner, effect: SessionEffect): void {
    const { device, transport, info, tools } = runner.session
    const about = { device, atMs: this.#clock.now() }
    switch (effect.kind) {
      case 'answer':
        this.#settle(effect.call, effect.result)
        return
      case 'sent':
        // A picture that the device posted before this call belongs to no call any more, and is discarded.
        this.#options.vision?.collect(device)
        return
      case 'vision-stale':
        this.#renewVision(device)
        return
      case 'ignored':
        // The device was still working on an older call, so a picture that it posted until now is discarded.
        if (effect.what === 'late-answer') this.#options.vision?.collect(device)
        this.#count(effect.what)
        return
      case 'online':
        if (transport !== undefined) this.#feed.publish({ ...effect, ...about, transport })
        return
      case 'tools':
        if (effect.changed) this.#options.memory?.remember(device, { transport, info, tools })
        this.#feed.publish({ ...effect, ...about })
        return
      case 'offline':
      case 'unheard':
      case 'notification':
        this.#feed.publish({ ...effect, ...about })
        return
      case 'send':
      case 'audio-keys':
      case 'voice':
      case 'close':
        throw new Error(`a session runner carries out ${effect.kind} itself`)
      default:
        effect satisfies never
    }
  }

  #settle(call: number, result: CallResult): void {
    const pending = this.#pending.get(call)
    if (pending === undefined) return
    this.#pending.delete(call)
    const { device, link } = pending.runner.session
    const picture = result.ok ? this.#options.vision?.collect(device) : undefined
    // Where an older call may have posted the picture, it is not certain whose picture it is.
    const isDoubtful = link !== undefined && link.overdue.length > 0
    if (!result.ok || picture === undefined || (isDoubtful && !names(result.value, picture.receipt))) {
      pending.settle(result)
      return
    }
    const image = { type: 'image', data: toBase64(picture.bytes), mimeType: picture.mimeType } as const
    pending.settle(ok({ ...result.value, content: [image, ...result.value.content] }))
  }

  #count(what: string): void {
    const name = this.#ignored.has(what) || this.#ignored.size < MAX_COUNTERS ? what : 'other'
    this.#ignored.set(name, (this.#ignored.get(name) ?? 0) + 1)
  }
}

function names({ content }: ToolResult, receipt: string): boolean {
  return content.some((block) => block.type === 'text' && block.text.includes(receipt))
}

/**
 * The bus aborts with this reason when a call's time is over; any other reason means that the caller withdrew the call.
 */
function isTimeout(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === 'TimeoutError'
}

/** Firmware has `notify` since the release after 2.4.2. */
function isAfter242(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  return major > 2 || (major === 2 && (minor > 4 || (minor === 4 && patch > 2)))
}
