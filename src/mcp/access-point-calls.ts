/**
 * Access point calls: the tool calls that one voice backend has under way. Their number is bounded.
 *
 *   running ──8 s──▶ late: the backend is told to ask again ──the same call──▶ the answer of the first one
 *
 * A conversation does not wait for a slow call, and a call that the backend repeats must not be made twice: while a
 * late call runs, and for a minute after it ended, the same tool with the same arguments is answered with its outcome,
 * once.
 *
 * Pure, given its clock and its patience.
 */
import type { Json } from '../core/json.ts'
import type { McpAnswer } from './mcp-request.ts'
import { createSpokenResult } from './spoken-answer.ts'

export const LATE_ANSWER_MARKER = Symbol('late')

export interface AccessPointCallsOptions {
  /** Resolves when a voice conversation cannot wait any longer for an answer. */
  readonly patience: () => Promise<typeof LATE_ANSWER_MARKER>
  readonly nowMs: () => number
}

export interface IncomingAccessPointCall {
  readonly id: Json
  /** Equal for two calls of the same tool with the same arguments. */
  readonly fingerprint: string
  readonly run: (signal: AbortSignal) => Promise<McpAnswer>
}

interface RunningCall {
  readonly id: string
  readonly fingerprint: string
  readonly withdrawn: AbortController
  readonly answer: Promise<McpAnswer>
  isLate: boolean
  endedAtMs: number | undefined
}

const MAX_CALLS = 16
const RETENTION_MS = 60_000
const LATE = 'That takes a while. It is still under way; ask again in a moment.'
const BUSY = 'Too much is going on. Nothing was done; try again in a moment.'

export class AccessPointCalls {
  readonly #options: AccessPointCallsOptions
  readonly #calls = new Set<RunningCall>()

  constructor(options: AccessPointCallsOptions) {
    this.#options = options
  }

  async answer(request: IncomingAccessPointCall): Promise<McpAnswer> {
    this.#forgetOldAnswers()
    const late = [...this.#calls].find(({ isLate, fingerprint }) => isLate && fingerprint === request.fingerprint)
    if (late === undefined && this.#calls.size >= MAX_CALLS) return { result: createSpokenResult(BUSY) }
    const call = late ?? this.#start(request)
    const first = await Promise.race([call.answer, this.#options.patience()])
    if (first === LATE_ANSWER_MARKER) {
      call.isLate = true
      return { result: createSpokenResult(LATE) }
    }
    this.#calls.delete(call)
    return first
  }

  get underWay(): number {
    return [...this.#calls].filter(({ endedAtMs }) => endedAtMs === undefined).length
  }

  withdraw(id: Json): void {
    const key = JSON.stringify(id)
    for (const call of this.#calls) if (call.id === key) call.withdrawn.abort()
  }

  withdrawAll(): void {
    for (const { withdrawn } of this.#calls) withdrawn.abort()
  }

  #start({ id, fingerprint, run }: IncomingAccessPointCall): RunningCall {
    const withdrawn = new AbortController()
    const call: RunningCall = {
      id: JSON.stringify(id),
      fingerprint,
      withdrawn,
      answer: run(withdrawn.signal).finally(() => (call.endedAtMs = this.#options.nowMs())),
      isLate: false,
      endedAtMs: undefined,
    }
    this.#calls.add(call)
    return call
  }

  #forgetOldAnswers(): void {
    const nowMs = this.#options.nowMs()
    for (const call of this.#calls)
      if (call.endedAtMs !== undefined && nowMs - call.endedAtMs > RETENTION_MS) this.#calls.delete(call)
  }
}
