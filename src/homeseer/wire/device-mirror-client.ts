/**
 * Device mirror client: drives the mirror with a clock and the JSON client, and lets others look up, refresh and wait
 * for values.
 */
import type { Clock } from '../../core/clock.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import type { ReceivedDevice, StatusReply } from './device.ts'
import type { HomeseerLinkFault } from './link-fault.ts'
import type { JsonClient } from './json-client.ts'
import {
  newDeviceMirror,
  computeNextMirrorTickAtMs,
  stepDeviceMirror,
  type DeviceMirror,
  type DeviceMirrorChange,
  type DeviceMirrorEffect,
  type DeviceMirrorEntry,
  type DeviceMirrorInput,
  type DeviceMirrorPollIntervals,
  type PushedChange,
} from './device-mirror.ts'
import { createStatusRequest } from './json-requests.ts'

export interface DeviceMirrorClientOptions {
  readonly json: JsonClient
  readonly rules: DeviceMirrorPollIntervals
  readonly clock: Clock
}

export type StatusReplySystemFacts = Pick<StatusReply, 'name' | 'version' | 'fahrenheit'>

export type DeviceMirrorListener = (changes: readonly DeviceMirrorChange[]) => void

export interface MirrorWaitOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/** The length of a URL is limited, so this many refs are in one request. */
const MAX_REFS_PER_READ = 200

export class DeviceMirrorClient {
  readonly #json: JsonClient
  readonly #clock: Clock
  readonly #listeners = new Set<DeviceMirrorListener>()
  #mirror: DeviceMirror
  #timer: NodeJS.Timeout | undefined
  #poll: Promise<Result<void, HomeseerLinkFault>> | undefined
  #head: StatusReplySystemFacts | undefined
  readonly #stopping = new AbortController()

  constructor({ json, rules, clock }: DeviceMirrorClientOptions) {
    this.#json = json
    this.#clock = clock
    this.#mirror = newDeviceMirror(rules)
  }

  start(): void {
    this.#input({ kind: 'tick', atMs: this.#clock.monotonic() })
  }

  /** Final; open waits end without a value. */
  stop(): void {
    this.#stopping.abort()
    clearTimeout(this.#timer)
    this.#listeners.clear()
  }

  /** The head of HomeSeer's last answer. */
  get head(): StatusReplySystemFacts | undefined {
    return this.#head
  }

  get entries(): ReadonlyMap<number, DeviceMirrorEntry> {
    return this.#mirror.entries
  }

  /** Grows when devices appear, go, or are renamed; an equal number means an unchanged house. */
  get structure(): number {
    return this.#mirror.structure
  }

  get pushUp(): boolean {
    return this.#mirror.pushUp
  }

  ageMs(entry: DeviceMirrorEntry): number {
    return Math.max(0, this.#clock.monotonic() - entry.live.observedMs)
  }

  /** Requests everything now; concurrent requests share one answer. */
  refresh(): Promise<Result<void, HomeseerLinkFault>> {
    this.#poll ??= this.#requestAll().finally(() => {
      this.#poll = undefined
    })
    return this.#poll
  }

  /** Requests some devices now. Those that HomeSeer does not know are missing from the result. */
  async read(
    refs: readonly number[],
    signal?: AbortSignal,
  ): Promise<Result<ReadonlyMap<number, DeviceMirrorEntry>, HomeseerLinkFault>> {
    const found = new Map<number, DeviceMirrorEntry>()
    for (let from = 0; from < refs.length; from += MAX_REFS_PER_READ) {
      const result = await this.#request('read', refs.slice(from, from + MAX_REFS_PER_READ), signal)
      if (!result.ok) return result
      for (const { ref } of result.value) {
        const entry = this.#mirror.entries.get(ref)
        if (entry !== undefined) found.set(ref, entry)
      }
    }
    return ok(found)
  }

  pushed(source: 'ascii' | 'webhook', changes: readonly PushedChange[]): void {
    this.#input({ kind: 'pushed', source, changes, atMs: this.#clock.monotonic() })
  }

  pushState(up: boolean): void {
    this.#input({ kind: 'push-state', up, atMs: this.#clock.monotonic() })
  }

  /**
   * Calls the listener with every change, in the order in which it was received. Returns a function that unsubscribes.
   */
  subscribe(listener: DeviceMirrorListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * The first entry of `ref` that matches, including the present one; `undefined` when the time is over or the signal
   * aborts.
   */
  waitFor(
    ref: number,
    fits: (entry: DeviceMirrorEntry) => boolean,
    { timeoutMs, signal }: MirrorWaitOptions,
  ): Promise<DeviceMirrorEntry | undefined> {
    const present = this.#mirror.entries.get(ref)
    if (present !== undefined && fits(present)) return Promise.resolve(present)
    const ending = AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#stopping.signal, ...(signal ? [signal] : [])])
    return new Promise((resolve) => {
      const end = (entry: DeviceMirrorEntry | undefined) => {
        unsubscribe()
        ending.removeEventListener('abort', giveUp)
        resolve(entry)
      }
      const giveUp = () => end(undefined)
      const unsubscribe = this.subscribe((changes) => {
        const entry = changes.some((change) => change.ref === ref) ? this.#mirror.entries.get(ref) : undefined
        if (entry !== undefined && fits(entry)) end(entry)
      })
      ending.addEventListener('abort', giveUp, { once: true })
      if (ending.aborted) giveUp()
    })
  }

  #input(input: DeviceMirrorInput): void {
    if (this.#stopping.signal.aborted) return
    const { mirror, effects } = stepDeviceMirror(this.#mirror, input)
    this.#mirror = mirror
    for (const effect of effects) this.#apply(effect)
    this.#schedule()
  }

  #apply(effect: DeviceMirrorEffect): void {
    switch (effect.kind) {
      case 'poll':
        void this.refresh()
        return
      case 'read':
        void this.#request('read', effect.refs)
        return
      default:
        for (const listener of this.#listeners) listener(effect.changes)
    }
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    const dueMs = computeNextMirrorTickAtMs(this.#mirror)
    if (dueMs === Number.POSITIVE_INFINITY) return
    const waitMs = Math.max(0, dueMs - this.#clock.monotonic())
    this.#timer = setTimeout(() => this.#input({ kind: 'tick', atMs: this.#clock.monotonic() }), waitMs)
  }

  async #requestAll(): Promise<Result<void, HomeseerLinkFault>> {
    const answer = await this.#request('poll')
    return answer.ok ? ok(undefined) : answer
  }

  async #request(
    source: 'poll' | 'read',
    refs?: readonly number[],
    signal?: AbortSignal,
  ): Promise<Result<readonly ReceivedDevice[], HomeseerLinkFault>> {
    const requestedMs = this.#clock.monotonic()
    const ending = signal === undefined ? this.#stopping.signal : AbortSignal.any([signal, this.#stopping.signal])
    const result = await this.#json.call(createStatusRequest({ refs, compress: true, excludeEvents: true }), ending)
    const atMs = this.#clock.monotonic()
    if (this.#stopping.signal.aborted) return fail({ kind: 'aborted', reached: true })
    if (!result.ok) {
      this.#input({ kind: 'unanswered', source, atMs })
      return result
    }
    const { name, version, fahrenheit } = result.value
    this.#head = { name, version, fahrenheit }
    this.#input({ kind: 'answered', source, devices: result.value.devices, refs, requestedMs, atMs })
    return ok(result.value.devices)
  }
}
