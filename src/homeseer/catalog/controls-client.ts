/**
 * Controls: the control pairs of every device, as HomeSeer told them last.
 *
 *   all at once ──took too long, or was too long──▶ in parts, one after the other, while nobody waits for them
 *
 * Pairs hold for a while. Those that no longer do are still shown until they have been read again; whoever weighs a
 * change has them read first (`hold`), and hears no where they cannot be.
 *
 * Does I/O (through the link).
 */
import type { Clock } from '../../core/clock.ts'
import { ok, type Result } from '../../core/result.ts'
import type { ControlPair } from '../wire/control-pair.ts'
import { asksForTooMuch, type LinkFault } from '../wire/fault.ts'
import type { JsonClient } from '../wire/json-client.ts'
import type { MirrorClient } from '../wire/mirror-client.ts'
import { getControl } from '../wire/read-request.ts'

export type ControlMap = ReadonlyMap<number, readonly ControlPair[]>

export interface ControlsOptions {
  readonly json: JsonClient
  readonly mirror: MirrorClient
  readonly clock: Clock
  /** How long control pairs hold: an owner who edits them in HomeSeer should not have to restart us. */
  readonly controlsHoldMs: number
}

/** Devices that one question names. More than this are asked about in one question about everything, or in parts. */
const PART = 50
/** Between two walks through the parts, where HomeSeer did not answer for one of them. */
const REST_MS = 60_000
const NONE: readonly ControlPair[] = []

export class ControlsClient {
  readonly #options: ControlsOptions
  readonly #untilMs = new Map<number, number>()
  #pairs: ControlMap = new Map()
  #inParts = false
  #walking = false
  #walkableMs = 0

  constructor(options: ControlsOptions) {
    this.#options = options
  }

  /** Of all devices, as far as they are known. The very same map again as long as nothing in it has changed. */
  async all(): Promise<Result<ControlMap, LinkFault>> {
    const refs = [...this.#options.mirror.entries.keys()]
    const due = this.#due(refs)
    if (due.length === 0) return ok(this.#pairs)
    if (!this.#inParts) {
      // A few that are new are asked about by themselves.
      const isFew = due.length < refs.length && due.length <= PART
      const asked = await this.#ask(due, isFew ? due : undefined)
      if (asked.ok) return ok(this.#pairs)
      if (!asksForTooMuch(asked.fault)) return asked
      this.#inParts = true
    }
    void this.#walk(due)
    return ok(this.#pairs)
  }

  /** Reads those that are not known or hold no longer. */
  async hold(refs: readonly number[]): Promise<Result<void, LinkFault>> {
    for (const part of partsOf(this.#due(refs))) {
      const asked = await this.#ask(part, part)
      if (!asked.ok) return asked
    }
    return ok(undefined)
  }

  /** What HomeSeer said of some devices just now. */
  learn(said: ControlMap): void {
    const untilMs = this.#options.clock.monotonic() + this.#options.controlsHoldMs
    for (const ref of said.keys()) this.#untilMs.set(ref, untilMs)
    const isNew = [...said].some(([ref, pairs]) => JSON.stringify(this.#pairs.get(ref)) !== JSON.stringify(pairs))
    // A new map only where something is new, so that the house is not built again for nothing.
    if (isNew) this.#pairs = new Map([...this.#pairs, ...said])
  }

  /** Nothing holds any longer. */
  expire(): void {
    this.#untilMs.clear()
  }

  async #walk(due: readonly number[]): Promise<void> {
    const { clock } = this.#options
    if (this.#walking || clock.monotonic() < this.#walkableMs) return
    this.#walking = true
    for (const part of partsOf(due)) {
      const asked = await this.#ask(part, part)
      if (asked.ok) continue
      this.#walkableMs = clock.monotonic() + REST_MS
      break
    }
    this.#walking = false
  }

  #due(refs: readonly number[]): readonly number[] {
    const nowMs = this.#options.clock.monotonic()
    return refs.filter((ref) => nowMs >= (this.#untilMs.get(ref) ?? Number.NEGATIVE_INFINITY))
  }

  /** `wanted` are those that the answer is for: one that HomeSeer leaves out has no controls. */
  async #ask(wanted: readonly number[], refs: readonly number[] | undefined): Promise<Result<void, LinkFault>> {
    const answer = await this.#options.json.call(getControl(refs))
    if (!answer.ok) return answer
    this.learn(new Map([...wanted.map((ref) => [ref, NONE] as const), ...answer.value]))
    return ok(undefined)
  }
}

function partsOf(refs: readonly number[]): readonly (readonly number[])[] {
  return Array.from({ length: Math.ceil(refs.length / PART) }, (_, at) => refs.slice(at * PART, (at + 1) * PART))
}
