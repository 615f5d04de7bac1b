/**
 * Later runner: makes the calls that were put off when they are due, as the principal that asked, with the rights that
 * the principal has then. Each is recorded as begun before it is made: after a crash in between nobody knows whether it
 * took effect, and it is not made again.
 *
 * Reads and writes through the bus and the ledger.
 */
import type { Caller } from '../bus/call.ts'
import { callerKey } from '../bus/caller.ts'
import type { Fault } from '../core/fault.ts'
import { isUntried } from '../core/fault.ts'
import { newUlid } from '../core/ids.ts'
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { ApprovalEvent } from '../guard/approvals.ts'
import { UnlawfulEntryError } from '../ledger/projection.ts'
import { readEntryWords } from '../ledger/state-log.ts'
import type { HomeParts } from './dependencies.ts'
import { textAt } from './json-path.ts'
import { GRACE_MS, laterProjection } from './later-state.ts'
import type { LaterCall, LaterEnd, LaterState } from './later-state.ts'

const LOOK_MS = 1_000

export class LaterRunner {
  readonly #parts: HomeParts
  readonly #state: LaterState
  readonly #stopping = new AbortController()
  readonly #running = new Map<string, Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #leave: (() => void) | undefined

  constructor(parts: HomeParts) {
    this.#parts = parts
    this.#state = parts.ledger.projections.state(laterProjection)
  }

  async start(): Promise<void> {
    const interrupted = Array.from(this.#state.calls.values()).filter(({ state }) => state === 'begun')
    for (const call of interrupted) await this.#closeInterrupted(call)
    this.#leave = this.#parts.guard.approvals.subscribe((event) => this.#hear(event))
    // Those that are due already wait for the families to start, as everything does.
    this.#timer = setInterval(() => this.runDue(), LOOK_MS)
    this.#timer.unref()
  }

  /** Calls under way are cut off; what became of them is recorded before this resolves. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#leave?.()
    this.#stopping.abort()
    await Promise.all(this.#running.values())
  }

  /** Begins whatever is due now. */
  runDue(): void {
    const nowMs = this.#parts.clock.now()
    for (const call of this.#state.calls.values()) {
      if (call.state === 'planned' && call.dueAtMs <= nowMs)
        this.#once(call, () => (nowMs > call.dueAtMs + GRACE_MS ? this.#end(call, 'missed') : this.#run(call)))
      if (call.state === 'asked') this.#once(call, () => this.#afterAnswer(call))
    }
  }

  /** Resolves when nothing runs any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#running.values())
  }

  #hear({ approval }: ApprovalEvent): void {
    for (const call of this.#state.calls.values())
      if (call.state === 'asked' && call.approval === approval.id) this.#once(call, () => this.#afterAnswer(call))
  }

  async #afterAnswer(call: LaterCall): Promise<void> {
    const state = this.#parts.guard.approvals.get(call.approval ?? '')?.state
    if (state === 'requested') return
    if (state === 'approved') return this.#run(call)
    await this.#end(call, state === 'denied' ? 'denied' : state === 'used' ? 'unknown' : 'expired')
  }

  #once({ id }: LaterCall, work: () => Promise<void>): void {
    if (this.#running.has(id) || this.#stopping.signal.aborted) return
    const running = work()
      // Whatever was unlawful or could not be written was not done; it is looked at again, or found at the next start.
      .catch((error: unknown) => this.#parts.report(error, `the planned call ${id} could not be carried out`))
      .finally(() => this.#running.delete(id))
    this.#running.set(id, running)
  }

  async #run(call: LaterCall): Promise<void> {
    const caller = this.#parts.principalNow(call.principal, call.plannedAtMs)
    const words = readEntryWords(this.#parts.ledger, call.plannedSeq)
    const body = words?.['arguments']
    if (caller === undefined || !isJsonObject(body)) return this.#end(call, 'refused')
    const traceId = newUlid(this.#parts.clock.now())
    try {
      await this.#parts.ledger.append({ kind: 'later.begun', later: call.id, trace_id: traceId })
    } catch (error) {
      // It was cancelled in this very moment.
      if (error instanceof UnlawfulEntryError) return
      throw error
    }
    const outcome = await this.#parts.bus.call(call.tool, undefined, body, {
      caller: withClient(caller, call),
      channel: 'service',
      traceId,
      signal: this.#stopping.signal,
    })
    if (!outcome.ok) return this.#settleFault(call, outcome.fault)
    await this.#end(call, isNoActionAnswer(outcome.value.data) ? 'failed' : 'done')
  }

  async #settleFault(call: LaterCall, fault: Fault): Promise<void> {
    const approval = fault.details?.['approval_id']
    if (fault.kind === 'approval-required' && typeof approval === 'string' && !call.wasAsked) {
      await this.#parts.ledger.append({ kind: 'later.asked', later: call.id, approval })
      return
    }
    await this.#end(call, endAfter(fault))
  }

  async #end({ id, principal, tool }: LaterCall, outcome: LaterEnd): Promise<void> {
    await this.#parts.ledger.append({ kind: 'later.ended', later: id, principal, capability: tool, outcome })
  }

  /** What the call itself left in the log says how it ended, where it came that far. */
  async #closeInterrupted(call: LaterCall): Promise<void> {
    const entries = call.traceId === undefined ? [] : this.#parts.ledger.entriesOfTrace(call.traceId)
    const enter = entries.find((entry) => entry.kind === 'call.enter' && entry['tool'] === call.tool)
    const exit = entries.find((entry) => entry.kind === 'call.exit' && entry['call'] === enter?.seq)
    const ended: Json | undefined = exit?.['outcome']
    await this.#end(call, ended === 'ok' ? 'done' : ended === 'denied' ? 'refused' : 'unknown')
  }
}

/** A tool of the home that asks back, or finds nothing to act on, answers with a sentence and without an `id`. */
export function isNoActionAnswer(data: Json): boolean {
  return textAt(data, 'say') !== undefined && textAt(data, 'id') === undefined
}

function endAfter(fault: Fault): LaterEnd {
  if (fault.kind === 'not-permitted' || fault.kind === 'approval-required') return 'refused'
  if (fault.kind === 'unknown-outcome') return 'unknown'
  return isUntried(fault) ? 'failed' : 'unknown'
}

function withClient(caller: Caller, { client }: LaterCall): Caller {
  return caller.kind === 'principal' && client !== undefined ? { ...caller, client } : caller
}

export function describeLaterCall(
  { ledger }: Pick<HomeParts, 'ledger'>,
  { plannedSeq }: LaterCall,
): { readonly arguments: JsonObject; readonly why: string } {
  const words = readEntryWords(ledger, plannedSeq)
  const body = words?.['arguments']
  return { arguments: isJsonObject(body) ? body : {}, why: textAt(words, 'why') ?? '' }
}

export function isOwnLater({ principal }: LaterCall, caller: Caller): boolean {
  return principal === callerKey(caller)
}
