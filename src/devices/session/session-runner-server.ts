/**
 * Berth: the place of one device in the fleet. Its session, the connection it has now, and the timer it waits on.
 *
 * A session is stepped one input at a time; an input that arises while another is being carried out waits its turn.
 *
 * Does I/O: timers, and whatever the link does.
 */
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import type { AudioFrame } from '../wire/audio-frame.ts'
import { fullBucket, takeToken } from '../../toolbox/token-bucket.ts'
import type { TokenBucket } from '../../toolbox/token-bucket.ts'
import { TEXT_RATE } from './session-limits.ts'
import type { DeviceIdentity, DeviceLink, FleetDevice, LinkHandlers, VoiceChannel, VoiceService } from './fleet.ts'
import { stepSession } from './machine.ts'
import type { SessionEffect, SessionInput, DeviceSession, VisionEndpoint } from './session.ts'
import { isSessionOnline } from './session.ts'
import { nextSessionDeadline } from './deadlines.ts'

/** Further away than this nobody needs a timer to be exact, and Node's timers end at 2^31 ms. */
const MAX_TIMER_MS = 3_600_000
/** A device that listens sends 17 packets a second; that it does is news once in so long. */
const AUDIO_NOTICE_MS = 500

export type UntimedInput = SessionInput extends infer Each
  ? Each extends SessionInput
    ? Omit<Each, 'atMs'>
    : never
  : never

export interface SessionRunnerOptions {
  readonly clock: Clock
  readonly voice: VoiceService | undefined
  /** Everything a session asks for except `send` and `close`, which the berth does itself. */
  readonly carryOut: (berth: SessionRunner, effect: SessionEffect) => void
  readonly onStep: (input: SessionInput, effects: readonly SessionEffect[]) => void
  readonly onBug: (error: unknown) => void
}

export class SessionRunner {
  session: DeviceSession
  identity: DeviceIdentity | undefined
  link: DeviceLink | undefined
  readonly #options: SessionRunnerOptions
  #voice: VoiceChannel | undefined
  /** Counts connections: the ears of an older one are deaf. */
  #epoch = 0
  #bucket: TokenBucket = { tokens: 0, atMs: 0 }
  #lastSeenMs: number | undefined
  #audioNoticeMs = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #timerAtMs = 0
  #busy = false
  readonly #inbox: SessionInput[] = []

  constructor(session: DeviceSession, options: SessionRunnerOptions) {
    this.session = session
    this.#options = options
  }

  /** The connection before this one, which nobody listens to any more, is the caller's to close. */
  attach(identity: DeviceIdentity, link: DeviceLink, vision: VisionEndpoint | undefined): LinkHandlers {
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
    this.#bucket = fullBucket(TEXT_RATE, clock.monotonic())
    this.#lastSeenMs = clock.now()
    const seed = randomBytes(32).toString('hex')
    this.input({ kind: 'connected', transport: link.transport, seed, vision, udp: link.udp })
    return {
      text: (text) => {
        if (this.#epoch === epoch) this.#hear(text)
      },
      audio: (read) => {
        if (this.#epoch === epoch) this.#hearAudio(read)
      },
      stir: () => {
        if (this.#epoch === epoch) this.#lastSeenMs = clock.now()
      },
      closed: (reason) => {
        if (this.#epoch === epoch) this.lost(reason)
      },
    }
  }

  input(input: UntimedInput): void {
    this.#inbox.push({ ...input, atMs: this.#options.clock.monotonic() })
    if (this.#busy) return
    this.#busy = true
    try {
      for (let next = this.#inbox.shift(); next !== undefined; next = this.#inbox.shift()) this.#step(next)
    } finally {
      // Whoever made the mistake hears of it; the device is not deaf for ever because of it.
      this.#busy = false
      this.#arm()
    }
  }

  /**
   * A mistake of ours that one device's words bring out must not take the others down: it costs that device its link.
   */
  #step(input: SessionInput): void {
    try {
      const { session, effects } = stepSession(this.session, input)
      this.session = session
      for (const effect of effects) this.#carryOut(effect)
      this.#options.onStep(input, effects)
    } catch (error) {
      if (input.kind !== 'text') throw error
      this.#options.onBug(error)
      this.link?.close('an error of ours')
    }
  }

  /** The connection is gone, or treated as gone from now on. */
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
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#timerAtMs = Number.NEGATIVE_INFINITY
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

  #hear(text: string): void {
    const { clock } = this.#options
    this.#lastSeenMs = clock.now()
    const bucket = takeToken(this.#bucket, TEXT_RATE, clock.monotonic())
    if (bucket === undefined) {
      this.#options.carryOut(this, { kind: 'ignored', what: 'too-many-messages' })
      this.link?.close('too many messages')
      return
    }
    this.#bucket = bucket
    this.input({ kind: 'text', text })
  }

  /** Audio that nobody listens to stays unread. */
  #hearAudio(read: () => AudioFrame | undefined): void {
    if (this.#voice?.audio(read) === true) return
    const atMs = this.#options.clock.monotonic()
    if (atMs - this.#audioNoticeMs < AUDIO_NOTICE_MS) return
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

  /** A timer that is too early does no harm, so it is only replaced when it would be too late. */
  #arm(): void {
    const due = nextSessionDeadline(this.session)
    if (due === undefined || this.#timerAtMs === Number.NEGATIVE_INFINITY) return
    if (this.#timer !== undefined && this.#timerAtMs <= due) return
    clearTimeout(this.#timer)
    const nowMs = this.#options.clock.monotonic()
    const delayMs = Math.min(Math.max(1, Math.ceil(due - nowMs)), MAX_TIMER_MS)
    this.#timerAtMs = nowMs + delayMs
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.input({ kind: 'tick' })
    }, delayMs)
    this.#timer.unref()
  }
}
