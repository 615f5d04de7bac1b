/**
 * Later runner: makes planned calls when they are due, as the principal that asked, with the rights that the principal
 * has at that time. Each is recorded as begun before it is made: after a crash in between it is not known whether it
 * took effect, and it is not made again.
 *
 * Reads and writes through the bus and the ledger.
 */
import type { Caller } from '../bus/call.ts'
import { toCallerKey } from '../bus/caller.ts'
import type { Fault } from '../core/fault.ts'
import { isFaultBeforeAttempt } from '../core/fault.ts'
import { newUlid } from '../core/ids.ts'
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { ApprovalEvent } from '../guard/approval-service.ts'
import { UnlawfulEntryError } from '../ledger/projection.ts'
import { readEntryBodyFields } from '../ledger/projection-log.ts'
import type { HomeDependencies } from './home-dependencies.ts'
import { readTextAt } from './json-path.ts'
import { LATER_CALL_GRACE_MS, laterCallsProjection } from './later-state.ts'
import type { LaterCall, LaterCallResult, LaterCallsState } from './later-state.ts'

const LOOK_MS = 1_000

export class LaterCallRunner {
  readonly #parts: HomeDependencies
  readonly #state: LaterCallsState
  readonly #stopping = new AbortController()
  readonly #running = new Map<string, Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #leave: (() => void) | undefined

  constructor(parts: HomeDependencies) {
    this.#parts = parts
    this.#state = parts.ledger.projections.state(laterCallsProjection)
  }

  async start(): Promise<void> {
    const interrupted = Array.from(this.#state.calls.values()).filter(({ state }) => state === 'begun')
    for (const call of interrupted) await this.#closeInterrupted(call)
    this.#leave = this.#parts.guard.approvals.subscribe((event) => this.#receive(event))
    // Calls that are already due wait for the families to start.
    this.#timer = setInterval(() => this.runDue(), LOOK_MS)
    this.#timer.unref()
  }

  /** Running calls are aborted; their outcome is recorded before this resolves. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#leave?.()
    this.#stopping.abort()
    await Promise.all(this.#running.values())
  }

  /** Starts whatever is due now. */
  runDue(): void {
    const nowMs = this.#parts.clock.now()
    for (const call of this.#state.calls.values()) {
      if (call.state === 'planned' && call.dueAtMs <= nowMs)
        this.#once(call, () =>
          nowMs > call.dueAtMs + LATER_CALL_GRACE_MS ? this.#end(call, 'missed') : this.#run(call),
        )
      if (call.state === 'asked') this.#once(call, () => this.#afterAnswer(call))
    }
  }

  /** Resolves when nothing is running any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#running.values())
  }

  #receive({ approval }: ApprovalEvent): void {
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
      // A call whose entry was refused or could not be written was not made; it is tried again now, or at the next
      // start.
      .catch((error: unknown) => this.#parts.report(error, `the planned call ${id} could not be carried out`))
      .finally(() => this.#running.delete(id))
    this.#running.set(id, running)
  }

  async #run(call: LaterCall): Promise<void> {
    // After a start a family or another node may take a while to offer its tools. Until the grace has passed the call
    // stays planned, and the next look finds it.
    if (this.#parts.bus.offer(call.tool) === undefined) return
    const caller = this.#parts.principalNow(call.principal, call.plannedAtMs)
    const words = readEntryBodyFields(this.#parts.ledger, call.plannedSeq)
    const body = words?.['arguments']
    if (caller === undefined || !isJsonObject(body)) return this.#end(call, 'refused')
    const traceId = newUlid(this.#parts.clock.now())
    try {
      await this.#parts.ledger.append({ kind: 'later.begun', later: call.id, trace_id: traceId })
    } catch (error) {
      // The call was cancelled at the same moment.
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
    await this.#end(call, isAnswerWithoutAction(outcome.value.data) ? 'failed' : 'done')
  }

  async #settleFault(call: LaterCall, fault: Fault): Promise<void> {
    const approval = fault.details?.['approval_id']
    if (fault.kind === 'approval-required' && typeof approval === 'string' && !call.wasAsked) {
      await this.#parts.ledger.append({ kind: 'later.asked', later: call.id, approval })
      return
    }
    await this.#end(call, endAfter(fault))
  }

  async #end({ id, principal, tool }: LaterCall, outcome: LaterCallResult): Promise<void> {
    await this.#parts.ledger.append({ kind: 'later.ended', later: id, principal, capability: tool, outcome })
  }

  /** Closes a call that a crash interrupted. The call's own entries in the log say how it ended, if it ended. */
  async #closeInterrupted(call: LaterCall): Promise<void> {
    const entries = call.traceId === undefined ? [] : this.#parts.ledger.entriesOfTrace(call.traceId)
    const enter = entries.find((entry) => entry.kind === 'call.enter' && entry['tool'] === call.tool)
    const exit = entries.find((entry) => entry.kind === 'call.exit' && entry['call'] === enter?.seq)
    const ended: Json | undefined = exit?.['outcome']
    await this.#end(call, ended === 'ok' ? 'done' : ended === 'denied' ? 'refused' : 'unknown')
  }
}

/** A home tool that asks back, or finds nothing to act on, answers with a sentence and without an `id`. */
export function isAnswerWithoutAction(data: Json): boolean {
  return readTextAt(data, 'say') !== undefined && readTextAt(data, 'id') === undefined
}

function endAfter(fault: Fault): LaterCallResult {
  if (fault.kind === 'not-permitted' || fault.kind === 'approval-required') return 'refused'
  if (fault.kind === 'unknown-outcome') return 'unknown'
  return isFaultBeforeAttempt(fault) ? 'failed' : 'unknown'
}

function withClient(caller: Caller, { client }: LaterCall): Caller {
  return caller.kind === 'principal' && client !== undefined ? { ...caller, client } : caller
}

export function readLaterCallArgumentsAndReason(
  { ledger }: Pick<HomeDependencies, 'ledger'>,
  { plannedSeq }: LaterCall,
): { readonly arguments: JsonObject; readonly why: string } {
  const words = readEntryBodyFields(ledger, plannedSeq)
  const body = words?.['arguments']
  return { arguments: isJsonObject(body) ? body : {}, why: readTextAt(words, 'why') ?? '' }
}

export function isLaterCallOfCaller({ principal }: LaterCall, caller: Caller): boolean {
  return principal === toCallerKey(caller)
}
