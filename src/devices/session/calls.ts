/**
 * Calls: the queue of one device, and what becomes of a call from its turn to its answer.
 *
 *   queued ──its turn──▶ tools/call ──▶ answer | deadline | disconnected
 *
 * Arguments are checked when the call is made, so that a mistake is heard at once, and again at its turn, because a
 * device that slept may have come back with other tools.
 *
 * Pure.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { checkArguments } from '../wire/arguments.ts'
import { decodeToolResult } from '../wire/content.ts'
import type { DeviceFault } from './device-fault.ts'
import type { CallRequest, Session, Waiting } from './session.ts'
import { isOnline } from './session.ts'
import type { Turn } from './turn.ts'
import { answer, ask, emit, refuse, update } from './turn.ts'

export function enqueue(turn: Turn, request: CallRequest): void {
  const { session } = turn
  const { call } = request
  if (session.phase === 'asleep' && !request.outlastsSleep) {
    refuse(turn, call, asleep(session))
    return
  }
  // While tools are being listed nobody can say yet whether the call is a good one.
  if (session.phase === 'ready' || (session.phase === 'asleep' && session.tools.length > 0)) {
    const checked = check(session, request)
    if (!checked.ok) {
      refuse(turn, call, checked.fault)
      return
    }
  }
  if (session.queue.length >= session.settings.queueLimit) {
    refuse(turn, call, { kind: 'queue-full', limit: session.settings.queueLimit })
    return
  }
  const { waitMs, ...rest } = request
  const waiting: Waiting = { ...rest, sinceMs: turn.atMs, expiresAtMs: turn.atMs + waitMs }
  update(turn, { queue: [...session.queue, waiting] })
}

/** Sends the next call that can be sent; calls that turn out to be wrong are answered on the way. */
export function startNextCall(turn: Turn): void {
  for (;;) {
    const [waiting, ...queue] = turn.session.queue
    if (waiting === undefined) return
    update(turn, { queue })
    const checked = check(turn.session, waiting)
    if (checked.ok) {
      emit(turn, { kind: 'sent', call: waiting.call })
      ask(turn, {
        method: 'tools/call',
        params: { name: waiting.tool, arguments: checked.value },
        purpose: { kind: 'call', waiting, abandoned: false },
        timeoutMs: waiting.timeoutMs,
      })
      return
    }
    refuse(turn, waiting.call, checked.fault)
  }
}

export function takeCallResult(turn: Turn, waiting: Waiting, result: Json): void {
  const decoded = decodeToolResult(result)
  answer(turn, waiting.call, decoded.ok ? ok(decoded.value) : fail({ ...decoded.fault, kind: 'bad-answer' }))
}

/** The device cannot be told to stop, so a cancelled flight keeps its lane until the answer or the deadline. */
export function cancel(turn: Turn, call: number, late: boolean): void {
  const { queue, flight } = turn.session
  const queued = queue.find((waiting) => waiting.call === call)
  if (queued !== undefined) {
    update(turn, { queue: queue.filter((waiting) => waiting !== queued) })
    refuse(turn, call, late ? waitedInVain(turn, queued) : { kind: 'cancelled', sent: false })
    return
  }
  if (flight?.purpose.kind !== 'call') return
  const { purpose } = flight
  if (purpose.waiting.call !== call || purpose.abandoned) return
  update(turn, { flight: { ...flight, purpose: { ...purpose, abandoned: true } } })
  const { sentAtMs } = flight
  refuse(turn, call, late ? { kind: 'timed-out', afterMs: turn.atMs - sentAtMs } : { kind: 'cancelled', sent: true })
}

export function expireWaiting(turn: Turn): void {
  const { queue } = turn.session
  const expired = queue.filter((waiting) => waiting.expiresAtMs <= turn.atMs)
  if (expired.length === 0) return
  update(turn, { queue: queue.filter((waiting) => waiting.expiresAtMs > turn.atMs) })
  for (const waiting of expired) refuse(turn, waiting.call, waitedInVain(turn, waiting))
}

function waitedInVain({ session, atMs }: Turn, { sinceMs }: Waiting): DeviceFault {
  return { kind: 'expired', afterMs: atMs - sinceMs, asleep: !isOnline(session) }
}

/** The connection is gone: what was sent has an unknown outcome, what waits goes on waiting only if it may. */
export function dropCalls(turn: Turn): void {
  const { queue, flight } = turn.session
  const purpose = flight?.purpose
  if (purpose?.kind === 'call' && !purpose.abandoned)
    refuse(turn, purpose.waiting.call, { kind: 'disconnected', sent: true })
  for (const { call } of queue.filter((waiting) => !waiting.outlastsSleep))
    refuse(turn, call, { kind: 'disconnected', sent: false })
  update(turn, { flight: undefined, queue: queue.filter((waiting) => waiting.outlastsSleep) })
}

/** A WebSocket device has no connection while idle; over MQTT only power or network can be missing. */
export function asleep(session: Session): DeviceFault {
  const wakesItself = session.transport !== undefined && session.transport !== 'websocket'
  return { kind: 'asleep', device: session.device, wakesItself }
}

function check(
  session: Session,
  call: { readonly tool: string; readonly arguments: Json | undefined },
): Result<JsonObject, DeviceFault> {
  const tool = session.tools.find(({ name }) => name === call.tool)
  if (tool !== undefined) return checkArguments(tool, call.arguments)
  return fail({ kind: 'unknown-tool', tool: call.tool, listed: session.tools.length > 0 })
}
