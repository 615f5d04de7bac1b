/**
 * Session runner: the session of one device, the connection it has now, and the deadline it waits for.
 *
 * A session is stepped one input at a time; an input that arises while the effects of another are carried out waits.
 * There are as many runners as devices, and most of them are idle: common parts are shared, and parts that only a busy
 * runner needs are created when it needs them.
 *
 * Does I/O through the link.
 */
import { randomBytes } from 'node:crypto'
import { TimerWheelEntry } from '../../bus/timer-wheel.ts'
import type { TimerWheelDriver } from '../../bus/timer-wheel.ts'
import type { Clock } from '../../core/clock.ts'
import type { AudioFrame } from '../wire/audio-frame.ts'
import { takeToken, omitFullBucket } from '../../toolbox/token-bucket.ts'
import type { TokenBucket } from '../../toolbox/token-bucket.ts'
import { TEXT_FRAME_RATE_LIMIT } from './connection-and-frame-limits.ts'
import type {
  DeviceIdentity,
  DeviceLink,
  FleetDevice,
  DeviceLinkHandlers,
  VoiceChannel,
  VoiceService,
} from './fleet.ts'
import { stepSession } from './session-machine.ts'
import type { SessionEffect, SessionInput, DeviceSession, VisionEndpoint } from './session.ts'
import { isSessionOnline } from './session.ts'
import { nextSessionDeadline } from './deadlines.ts'

/**
 * Deadlines further away than this are rounded to a second, so that the keep-alives of thousands share a few timer
 * slots.
 */
const EXACT_WITHIN_MS = 10_000
/** A device that listens sends 17 packets a second; the session is told at most this often. */
const AUDIO_NOTICE_MS = 500

export type SessionInputWithoutTime = SessionInput extends infer Each
  ? Each extends SessionInput
    ? Omit<Each, 'atMs'>
    : never
  : never

/** The options that all runners of a fleet share. */
export interface SessionRunnerOptions {
  readonly clock: Clock
  readonly timer: TimerWheelDriver
  readonly voice: VoiceService | undefined
  /** Carries out every effect except `send` and `close`, which the runner itself carries out. */
  readonly carryOut: (runner: SessionRunner, effect: SessionEffect) => void
  readonly onStep: (runner: SessionRunner, input: SessionInput, effects: readonly SessionEffect[]) => void
  readonly onBug: (runner: SessionRunner, error: unknown) => void
}

export class SessionRunner extends TimerWheelEntry {
  session: DeviceSession
  identity: DeviceIdentity | undefined
  link: DeviceLink | undefined
  readonly #options: SessionRunnerOptions
  #voice: VoiceChannel | undefined
  /** Counts connections: the handlers of an older one do nothing. */
  #epoch = 0
  /** `undefined` stands for a full bucket. */
  #bucket: TokenBucket | undefined
  #lastSeenMs: number | undefined
  #audioNoticeMs: number | undefined
  #busy = false
  #stopped = false
  #inbox: SessionInput[] | undefined

  constructor(session: DeviceSession, options: SessionRunnerOptions) {
    super()
    this.session = session
    this.#options = options
  }

  /**
   * Attaches a connection and returns the one before it, from which no input is accepted any more; the caller closes
   * it.
   */
  attach(identity: DeviceIdentity, link: DeviceLink, vision: VisionEndpoint | undefined): DeviceLinkHandlers {
    const epoch = ++this.#epoch
    const { clock } = this.#options
    this.#voice?.close()
    this.identity = identity
    this.link = link
    this.#voice = this.#options.voice?.open(identity, {
      input: (input) => {
        if (this.#epoch === epoch) this.input({ kind: 'voice', input })
      },
      audio: (frame) => {
        if (this.#epoch === epoch) link.sendAudio(frame)
      },
    })
    this.#bucket = undefined
    this.#lastSeenMs = clock.now()
    const seed = randomBytes(16).toString('hex')
    this.input({ kind: 'connected', transport: link.transport, seed, vision, udp: link.udp })
    return new AttachedLink(this, epoch)
  }

  isCurrent(epoch: number): boolean {
    return this.#epoch === epoch
  }

  input(input: SessionInputWithoutTime): void {
    // Times are whole milliseconds: a session keeps many of them, and V8 stores small integers without allocating an
    // object.
    const timed = { ...input, atMs: Math.trunc(this.#options.clock.monotonic()) }
    if (this.#busy) {
      this.#inbox ??= []
      this.#inbox.push(timed)
      return
    }
    this.#busy = true
    try {
      this.#step(timed)
      for (let next = this.#inbox?.shift(); next !== undefined; next = this.#inbox?.shift()) this.#step(next)
      this.#inbox = undefined
    } finally {
      // The error goes to the caller; the runner must still accept further inputs.
      this.#busy = false
      this.#arm()
    }
  }

  /**
   * A bug of ours that a device's message triggers must not affect the other devices: only this device is disconnected.
   */
  #step(input: SessionInput): void {
    try {
      const { session, effects } = stepSession(this.session, input)
      this.session = session
      for (const effect of effects) this.#carryOut(effect)
      this.#options.onStep(this, input, effects)
    } catch (error) {
      if (input.kind !== 'text') throw error
      this.#options.onBug(this, error)
      this.link?.close('an internal error')
    }
  }

  /** The connection is gone, or counts as gone from now on. */
  lost(reason: string): void {
    if (this.link === undefined) return
    this.link = undefined
    this.#epoch++
    this.#voice?.close()
    this.#voice = undefined
    this.input({ kind: 'disconnected', reason })
  }

  hangUp(reason: string): void {
    const { link } = this
    this.lost(reason)
    link?.close(reason)
  }

  stop(): void {
    this.#stopped = true
    this.#options.timer.clear(this)
  }

  ring(): void {
    this.#bucket = omitFullBucket(this.#bucket, TEXT_FRAME_RATE_LIMIT, this.#options.clock.monotonic())
    this.input({ kind: 'tick' })
  }

  view(): FleetDevice {
    const { device, phase, transport, info, tools, warnings, queue, flight } = this.session
    const purpose = flight?.purpose
    return {
      id: device,
      online: isSessionOnline(this.session),
      phase,
      transport,
      remoteAddress: this.link?.remoteAddress,
      info,
      tools,
      warnings,
      queued: queue.length,
      isAtBackends: purpose?.kind === 'request' || (purpose?.kind === 'call' && purpose.waiting.isBackends === true),
      lastSeenMs: this.#lastSeenMs,
    }
  }

  seen(): void {
    this.#lastSeenMs = this.#options.clock.now()
  }

  receiveText(text: string): void {
    this.seen()
    const bucket = takeToken(this.#bucket, TEXT_FRAME_RATE_LIMIT, this.#options.clock.monotonic())
    if (bucket === undefined) {
      this.#options.carryOut(this, { kind: 'ignored', what: 'too-many-messages' })
      this.link?.close('too many messages')
      return
    }
    this.#bucket = bucket
    this.input({ kind: 'text', text })
  }

  /** Audio that nobody uses is not decoded. */
  receiveAudio(read: () => AudioFrame | undefined): void {
    if (this.#voice?.audio(read) === true) return
    const atMs = this.#options.clock.monotonic()
    if (this.#audioNoticeMs !== undefined && atMs - this.#audioNoticeMs < AUDIO_NOTICE_MS) return
    this.#audioNoticeMs = atMs
    this.input({ kind: 'audio' })
  }

  #carryOut(effect: SessionEffect): void {
    if (effect.kind === 'send') this.link?.send(effect.text)
    else if (effect.kind === 'voice') this.#voice?.output(effect.output)
    else if (effect.kind === 'audio-keys') this.link?.openAudio(effect.keys)
    else if (effect.kind === 'close') this.link?.close(effect.reason)
    else this.#options.carryOut(this, effect)
  }

  #arm(): void {
    const { timer, clock } = this.#options
    const dueMs = this.#stopped ? undefined : nextSessionDeadline(this.session)
    if (dueMs === undefined) {
      timer.clear(this)
      return
    }
    const isFar = dueMs - clock.monotonic() > EXACT_WITHIN_MS
    timer.set(this, isFar ? Math.ceil(dueMs / 1_000) * 1_000 : dueMs)
  }
}

/**
 * Receives what a transport reports about one connection of a device; ignored once the device has a newer connection.
 */
class AttachedLink implements DeviceLinkHandlers {
  readonly #runner: SessionRunner
  readonly #epoch: number

  constructor(runner: SessionRunner, epoch: number) {
    this.#runner = runner
    this.#epoch = epoch
  }

  text(text: string): void {
    if (this.#runner.isCurrent(this.#epoch)) this.#runner.receiveText(text)
  }

  audio(read: () => AudioFrame | undefined): void {
    if (this.#runner.isCurrent(this.#epoch)) this.#runner.receiveAudio(read)
  }

  stir(): void {
    if (this.#runner.isCurrent(this.#epoch)) this.#runner.seen()
  }

  closed(reason: string): void {
    if (this.#runner.isCurrent(this.#epoch)) this.#runner.lost(reason)
  }
}
