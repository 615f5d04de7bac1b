/**
 * Fleet server: holds one session per device, feeds it what happens, and carries out what it asks for.
 *
 * Sessions are stepped one input at a time; an input that arises while another is being carried out waits its turn. Each
 * device has one timer, set for the earliest moment its session cares about.
 *
 * Does I/O: timers and chance.
 */
import { randomBytes } from 'node:crypto'
import { base64 } from '../../core/bytes.ts'
import type { Clock } from '../../core/clock.ts'
import { systemClock } from '../../core/clock.ts'
import type { Json } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { ToolResult } from '../wire/content.ts'
import type { Announcement } from '../wire/envelope.ts'
import type { Budget, BudgetSettings } from './budget.ts'
import { fullBudget, spend } from './budget.ts'
import { asleep } from './calls.ts'
import type { DeviceFault } from './device-fault.ts'
import { EventFeed } from './event-feed.ts'
import type {
  CallOptions,
  DeviceIdentity,
  DeviceLink,
  DeviceView,
  Fleet,
  FleetMemory,
  FleetStats,
  Harbour,
  LinkEars,
  VisionDesk,
} from './fleet.ts'
import { step } from './machine.ts'
import type { Effect, Input, Session, SessionSettings } from './session.ts'
import { DEFAULT_SESSION_SETTINGS, newSession } from './session.ts'
import { nextDeadline } from './silence.ts'
import type { ToolTimes } from './tool-time.ts'
import { DEFAULT_TOOL_TIMES, toolTimeMs } from './tool-time.ts'

export interface FleetOptions {
  readonly settings?: Partial<SessionSettings>
  readonly toolTimes?: ToolTimes
  readonly vision?: VisionDesk
  readonly memory?: FleetMemory
  readonly clock?: Clock
  /** Every input and what came of it, for traces. */
  readonly onStep?: (device: string, input: Input, effects: readonly Effect[]) => void
}

/** Generous for a device that reports its state, and nothing for one that has gone mad. */
const TEXT_BUDGET: BudgetSettings = { burst: 400, perSecond: 100 }
const WAIT_MS = 60_000
/** Further away than this nobody needs a timer to be exact, and Node's timers end at 2^31 ms. */
const MAX_TIMER_MS = 3_600_000

interface Entry {
  session: Session
  identity: DeviceIdentity | undefined
  link: DeviceLink | undefined
  /** Which connection this is: ears of an older one are deaf. */
  epoch: number
  budget: Budget
  lastSeenMs: number | undefined
  timer: NodeJS.Timeout | undefined
  timerAtMs: number
  busy: boolean
  readonly inbox: Input[]
}

interface Pending {
  readonly entry: Entry
  readonly settle: (result: Result<ToolResult, DeviceFault>) => void
}

export function createFleet(options: FleetOptions = {}): Fleet & Harbour {
  return new FleetServer(options)
}

class FleetServer implements Fleet, Harbour {
  readonly #settings: SessionSettings
  readonly #toolTimes: ToolTimes
  readonly #clock: Clock
  readonly #options: FleetOptions
  readonly #entries = new Map<string, Entry>()
  readonly #pending = new Map<number, Pending>()
  readonly #feed = new EventFeed()
  readonly #ignored = new Map<string, number>()
  #nextCall = 1
  #connected = 0
  #closed = false

  constructor(options: FleetOptions) {
    this.#options = options
    this.#settings = { ...DEFAULT_SESSION_SETTINGS, ...options.settings }
    this.#toolTimes = options.toolTimes ?? DEFAULT_TOOL_TIMES
    this.#clock = options.clock ?? systemClock
    for (const { deviceId, remembered } of options.memory?.recall() ?? [])
      this.#entries.set(deviceId, newEntry(newSession(deviceId, this.#settings, remembered)))
    options.vision?.onSpent((deviceId) => this.#renewVision(deviceId))
  }

  readonly devices = (): readonly DeviceView[] => [...this.#entries.values()].map(view)

  readonly device = (id: string): DeviceView | undefined => {
    const entry = this.#entries.get(id)
    return entry === undefined ? undefined : view(entry)
  }

  readonly call = (
    id: string,
    tool: string,
    args: Json | undefined,
    options: CallOptions = {},
  ): Promise<Result<ToolResult, DeviceFault>> => {
    const entry = this.#entries.get(id)
    if (entry === undefined) return Promise.resolve(fail({ kind: 'unknown-device', device: id }))
    const { signal } = options
    if (signal?.aborted === true || this.#closed) return Promise.resolve(fail({ kind: 'cancelled', sent: false }))
    const call = this.#nextCall++
    return new Promise((resolve) => {
      const onAbort = () => this.#input(entry, { kind: 'cancel', atMs: this.#clock.monotonic(), call })
      const settle = (result: Result<ToolResult, DeviceFault>) => {
        signal?.removeEventListener('abort', onAbort)
        resolve(result)
      }
      this.#pending.set(call, { entry, settle })
      signal?.addEventListener('abort', onAbort)
      this.#input(entry, {
        kind: 'call',
        atMs: this.#clock.monotonic(),
        request: {
          call,
          tool,
          arguments: args,
          timeoutMs: options.timeoutMs ?? toolTimeMs(tool, this.#toolTimes),
          waitMs: options.waitMs ?? WAIT_MS,
          outlastsSleep: options.whenAsleep === 'queue',
        },
      })
    })
  }

  readonly announce = (id: string, announcement: Announcement): Result<'sent', DeviceFault> => {
    const entry = this.#entries.get(id)
    if (entry === undefined) return fail({ kind: 'unknown-device', device: id })
    const { phase, info } = entry.session
    if (phase === 'asleep' || phase === 'greeting') return fail(asleep(entry.session))
    if (announcement.kind === 'notify' && !isAfter242(info?.version ?? ''))
      return fail({ kind: 'unsupported', needs: 'firmware newer than 2.4.2' })
    this.#input(entry, { kind: 'announce', atMs: this.#clock.monotonic(), announcement })
    return ok('sent')
  }

  readonly relist = (id: string): void => {
    const entry = this.#entries.get(id)
    if (entry !== undefined) this.#input(entry, { kind: 'relist', atMs: this.#clock.monotonic() })
  }

  readonly subscribe = (signal?: AbortSignal) => this.#feed.subscribe(signal)

  readonly disconnect = (id: string, reason: string): void => {
    this.#entries.get(id)?.link?.close(reason)
  }

  readonly forget = (id: string): void => {
    const entry = this.#entries.get(id)
    if (entry === undefined) return
    this.#hangUp(entry, 'forgotten')
    // What waited for it to wake has nothing left to wait for.
    for (const [call, pending] of this.#pending)
      if (pending.entry === entry) this.#settle(call, fail({ kind: 'unknown-device', device: id }))
    this.#entries.delete(id)
    this.#feed.publish({ kind: 'forgotten', device: id, atMs: this.#clock.now() })
  }

  readonly stats = (): FleetStats => ({
    devices: this.#entries.size,
    connected: this.#connected,
    pendingCalls: this.#pending.size,
    ignored: Object.fromEntries(this.#ignored),
  })

  readonly close = (): void => {
    this.#closed = true
    for (const entry of this.#entries.values()) this.#hangUp(entry, 'the gateway stops')
    for (const call of this.#pending.keys()) this.#settle(call, fail({ kind: 'cancelled', sent: false }))
    this.#feed.close()
  }

  readonly attach = (identity: DeviceIdentity, link: DeviceLink): LinkEars => {
    const entry = this.#entryOf(identity.deviceId)
    const older = entry.link
    const epoch = ++entry.epoch
    entry.identity = identity
    entry.link = link
    entry.budget = fullBudget(TEXT_BUDGET, this.#clock.monotonic())
    entry.lastSeenMs = this.#clock.now()
    if (older === undefined) this.#connected++
    this.#input(entry, {
      kind: 'connected',
      atMs: this.#clock.monotonic(),
      transport: link.transport,
      seed: randomBytes(32).toString('hex'),
      vision: this.#options.vision?.issue(identity, link.localAddress),
      udp: link.udp,
    })
    older?.close('replaced by a newer connection')
    if (this.#closed) link.close('the gateway stops')
    return {
      text: (text) => {
        if (entry.epoch === epoch) this.#hear(entry, text)
      },
      closed: (reason) => {
        if (entry.epoch === epoch && entry.link === link) this.#lost(entry, reason)
      },
    }
  }

  #entryOf(deviceId: string): Entry {
    const known = this.#entries.get(deviceId)
    if (known !== undefined) return known
    const entry = newEntry(newSession(deviceId, this.#settings))
    this.#entries.set(deviceId, entry)
    return entry
  }

  /** The token is spent while the call that spent it is still in flight, so the next call can have a new one. */
  #renewVision(deviceId: string): void {
    const entry = this.#entries.get(deviceId)
    if (entry?.identity === undefined || entry.link === undefined) return
    const vision = this.#options.vision?.issue(entry.identity, entry.link.localAddress)
    this.#input(entry, { kind: 'vision', atMs: this.#clock.monotonic(), vision })
  }

  #hear(entry: Entry, text: string): void {
    const atMs = this.#clock.monotonic()
    entry.lastSeenMs = this.#clock.now()
    const budget = spend(entry.budget, TEXT_BUDGET, atMs)
    if (budget === undefined) {
      this.#count('too-many-messages')
      entry.link?.close('too many messages')
      return
    }
    entry.budget = budget
    this.#input(entry, { kind: 'text', atMs, text })
  }

  #lost(entry: Entry, reason: string): void {
    entry.link = undefined
    entry.epoch++
    this.#connected--
    this.#input(entry, { kind: 'disconnected', atMs: this.#clock.monotonic(), reason })
  }

  #hangUp(entry: Entry, reason: string): void {
    const { link } = entry
    if (link !== undefined) {
      this.#lost(entry, reason)
      link.close(reason)
    }
    clearTimeout(entry.timer)
    entry.timer = undefined
  }

  #input(entry: Entry, input: Input): void {
    entry.inbox.push(input)
    if (entry.busy) return
    entry.busy = true
    for (let next = entry.inbox.shift(); next !== undefined; next = entry.inbox.shift()) {
      const { session, effects } = step(entry.session, next)
      entry.session = session
      for (const effect of effects) this.#carryOut(entry, effect)
      this.#options.onStep?.(session.device, next, effects)
    }
    entry.busy = false
    this.#arm(entry)
  }

  #carryOut(entry: Entry, effect: Effect): void {
    const { device } = entry.session
    switch (effect.kind) {
      case 'send':
        entry.link?.send(effect.text)
        return
      case 'close':
        entry.link?.close(effect.reason)
        return
      case 'answer':
        this.#settle(effect.call, effect.result)
        return
      case 'sent':
        // Whatever the device posted before this call is nobody's any more.
        this.#options.vision?.collect(device)
        return
      case 'ignored':
        this.#count(effect.what)
        return
      case 'online':
        if (entry.link !== undefined)
          this.#feed.publish({ ...effect, device, atMs: this.#clock.now(), transport: entry.link.transport })
        return
      case 'tools':
        if (effect.changed) this.#options.memory?.remember(device, remembered(entry.session))
        this.#feed.publish({ ...effect, device, atMs: this.#clock.now() })
        return
      case 'offline':
      case 'notification':
        this.#feed.publish({ ...effect, device, atMs: this.#clock.now() })
        return
      default:
        effect satisfies never
    }
  }

  #settle(call: number, result: Result<ToolResult, DeviceFault>): void {
    const pending = this.#pending.get(call)
    if (pending === undefined) return
    this.#pending.delete(call)
    const { entry, settle } = pending
    const picture = result.ok ? this.#options.vision?.collect(entry.session.device) : undefined
    if (!result.ok || picture === undefined) {
      settle(result)
      return
    }
    const image = { type: 'image', data: base64(picture.bytes), mimeType: picture.mimeType } as const
    settle(ok({ ...result.value, content: [image, ...result.value.content] }))
  }

  /** Counts under a bounded number of names, since devices make up message types. */
  #count(what: string): void {
    const name = this.#ignored.has(what) || this.#ignored.size < 64 ? what : 'other'
    this.#ignored.set(name, (this.#ignored.get(name) ?? 0) + 1)
  }

  /** A timer that is too early does no harm, so it is only replaced when it would be too late. */
  #arm(entry: Entry): void {
    const due = nextDeadline(entry.session)
    if (due === undefined || this.#closed) return
    if (entry.timer !== undefined && entry.timerAtMs <= due) return
    clearTimeout(entry.timer)
    const nowMs = this.#clock.monotonic()
    const delayMs = Math.min(Math.max(1, Math.ceil(due - nowMs)), MAX_TIMER_MS)
    entry.timerAtMs = nowMs + delayMs
    entry.timer = setTimeout(() => {
      entry.timer = undefined
      this.#input(entry, { kind: 'tick', atMs: this.#clock.monotonic() })
    }, delayMs)
    entry.timer.unref()
  }
}

function newEntry(session: Session): Entry {
  return {
    session,
    identity: undefined,
    link: undefined,
    epoch: 0,
    budget: fullBudget(TEXT_BUDGET, 0),
    lastSeenMs: undefined,
    timer: undefined,
    timerAtMs: 0,
    busy: false,
    inbox: [],
  }
}

function view({ session, link, lastSeenMs }: Entry): DeviceView {
  return {
    id: session.device,
    online: session.phase !== 'asleep' && session.phase !== 'greeting',
    phase: session.phase,
    transport: session.transport,
    remoteAddress: link?.remoteAddress,
    info: session.info,
    tools: session.tools,
    warnings: session.warnings,
    queued: session.queue.length,
    lastSeenMs,
  }
}

function remembered({ transport, info, tools }: Session) {
  return { transport, info, tools }
}

function isAfter242(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  return major > 2 || (major === 2 && (minor > 4 || (minor === 4 && patch > 2)))
}
