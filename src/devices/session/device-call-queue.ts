/**
 * Device call queue: the queue of one device, and the states of a call from its turn to its answer.
 *
 *   queued ──its turn──▶ tools/call ──▶ answer | deadline | disconnected
 *
 * Arguments are checked when the call is made, so that the caller learns of a mistake at once, and again at its turn,
 * because a device that was asleep may have other tools now.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { checkDeviceToolArguments } from '../wire/tool-arguments.ts'
import { decodeToolResult } from '../wire/tool-result.ts'
import type { DeviceFault } from './device-fault.ts'
import type { DeviceCallRequest, DeviceSession, QueuedDeviceCall } from './session.ts'
import { isSessionOnline } from './session.ts'
import type { SessionStepDraft } from './session-step-draft.ts'
import {
  addCallAnswerEffect,
  startRpcRequest,
  addSessionEffect,
  addCallFaultEffect,
  updateDraftSession,
} from './session-step-draft.ts'

export function enqueueDeviceCall(turn: SessionStepDraft, request: DeviceCallRequest): void {
  const { session } = turn
  const { call } = request
  if (session.phase === 'asleep' && !request.outlastsSleep) {
    addCallFaultEffect(turn, call, createDeviceAsleepFault(session))
    return
  }
  // While tools are being listed, it is not known yet whether the call is valid.
  if (session.phase === 'ready' || (session.phase === 'asleep' && session.tools.length > 0)) {
    const checked = check(session, request)
    if (!checked.ok) {
      addCallFaultEffect(turn, call, checked.fault)
      return
    }
  }
  if (session.queue.length >= session.settings.queueLimit) {
    addCallFaultEffect(turn, call, { kind: 'queue-full', limit: session.settings.queueLimit })
    return
  }
  const { waitMs, ...rest } = request
  const waiting: QueuedDeviceCall = { ...rest, sinceMs: turn.atMs, expiresAtMs: turn.atMs + waitMs }
  updateDraftSession(turn, { queue: [...session.queue, waiting] })
}

/** Sends the next call that can be sent; calls that have become invalid are answered with a fault on the way. */
export function startNextDeviceCall(turn: SessionStepDraft): void {
  for (;;) {
    const [waiting, ...queue] = turn.session.queue
    if (waiting === undefined) return
    updateDraftSession(turn, { queue })
    const checked = check(turn.session, waiting)
    if (checked.ok) {
      addSessionEffect(turn, { kind: 'sent', call: waiting.call })
      startRpcRequest(turn, {
        method: 'tools/call',
        params: { name: waiting.tool, arguments: checked.value },
        purpose: { kind: 'call', waiting, abandoned: false },
        timeoutMs: waiting.timeoutMs,
      })
      return
    }
    addCallFaultEffect(turn, waiting.call, checked.fault)
  }
}

export function handleDeviceCallResult(turn: SessionStepDraft, waiting: QueuedDeviceCall, result: Json): void {
  const decoded = decodeToolResult(result)
  addCallAnswerEffect(
    turn,
    waiting.call,
    decoded.ok ? ok(decoded.value) : fail({ ...decoded.fault, kind: 'bad-answer' }),
  )
}

/** The device cannot be told to stop, so a cancelled call occupies the device until the answer or the deadline. */
export function cancelDeviceCall(turn: SessionStepDraft, call: number, late: boolean): void {
  const { queue, flight } = turn.session
  const queued = queue.find((waiting) => waiting.call === call)
  if (queued !== undefined) {
    updateDraftSession(turn, { queue: queue.filter((waiting) => waiting !== queued) })
    addCallFaultEffect(turn, call, late ? waitedInVain(turn, queued) : { kind: 'cancelled', sent: false })
    return
  }
  if (flight?.purpose.kind !== 'call') return
  const { purpose } = flight
  if (purpose.waiting.call !== call || purpose.abandoned) return
  updateDraftSession(turn, { flight: { ...flight, purpose: { ...purpose, abandoned: true } } })
  const { sentAtMs } = flight
  addCallFaultEffect(
    turn,
    call,
    late ? { kind: 'timed-out', afterMs: turn.atMs - sentAtMs } : { kind: 'cancelled', sent: true },
  )
}

export function expireWaitingDeviceCalls(turn: SessionStepDraft): void {
  const { queue } = turn.session
  const expired = queue.filter((waiting) => waiting.expiresAtMs <= turn.atMs)
  if (expired.length === 0) return
  updateDraftSession(turn, { queue: queue.filter((waiting) => waiting.expiresAtMs > turn.atMs) })
  for (const waiting of expired) addCallFaultEffect(turn, waiting.call, waitedInVain(turn, waiting))
}

function waitedInVain({ session, atMs }: SessionStepDraft, { sinceMs }: QueuedDeviceCall): DeviceFault {
  return { kind: 'expired', afterMs: atMs - sinceMs, asleep: !isSessionOnline(session) }
}

/**
 * The connection is gone: calls that were sent have an unknown outcome, and waiting calls keep waiting only if they
 * may.
 */
export function dropDeviceCalls(turn: SessionStepDraft): void {
  const { queue, flight } = turn.session
  const purpose = flight?.purpose
  if (purpose?.kind === 'call' && !purpose.abandoned)
    addCallFaultEffect(turn, purpose.waiting.call, { kind: 'disconnected', sent: true })
  for (const { call } of queue.filter((waiting) => !waiting.outlastsSleep))
    addCallFaultEffect(turn, call, { kind: 'disconnected', sent: false })
  updateDraftSession(turn, { flight: undefined, queue: queue.filter((waiting) => waiting.outlastsSleep) })
}

/**
 * The fault for a device without a connection. A WebSocket device has none while it is idle; over MQTT, power or
 * network must be missing.
 */
export function createDeviceAsleepFault(session: DeviceSession): DeviceFault {
  const wakesItself = session.transport !== undefined && session.transport !== 'websocket'
  return { kind: 'asleep', device: session.device, wakesItself }
}

function check(
  session: DeviceSession,
  call: { readonly tool: string; readonly arguments: Json | undefined },
): Result<JsonObject, DeviceFault> {
  const tool = session.tools.find(({ name }) => name === call.tool)
  if (tool !== undefined) return checkDeviceToolArguments(tool, call.arguments)
  return fail({ kind: 'unknown-tool', tool: call.tool, listed: session.tools.length > 0 })
}
