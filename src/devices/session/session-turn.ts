/**
 * Turn: one step of a session in the making. What the parts of the machine read, change and emit.
 *
 * Lives within a single step; nobody outside ever sees one half done.
 */
import type { JsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail } from '../../core/result.ts'
import type { ToolResult } from '../wire/content.ts'
import { encodeMcp } from '../wire/envelope.ts'
import { MAX_ID, createRpcRequest } from '../wire/rpc.ts'
import type { DeviceFault } from './device-fault.ts'
import type { SessionEffect, SessionLink, RequestPurpose, DeviceSession } from './session.ts'

export interface SessionTurn {
  session: DeviceSession
  readonly effects: SessionEffect[]
  readonly atMs: number
}

export function updateSession(turn: SessionTurn, change: Partial<DeviceSession>): void {
  turn.session = { ...turn.session, ...change }
}

export function updateLink(turn: SessionTurn, change: Partial<SessionLink>): void {
  if (turn.session.link !== undefined) updateSession(turn, { link: { ...turn.session.link, ...change } })
}

export function emitEffect(turn: SessionTurn, effect: SessionEffect): void {
  turn.effects.push(effect)
}

/** Said once: until the link is really gone, nothing else is due on it. */
export function closeLink(turn: SessionTurn, reason: string): void {
  if (turn.session.link === undefined || turn.session.link.closing) return
  updateLink(turn, { closing: true })
  emitEffect(turn, { kind: 'close', reason })
}

export function answerCall(turn: SessionTurn, call: number, result: Result<ToolResult, DeviceFault>): void {
  emitEffect(turn, { kind: 'answer', call, result })
}

export function refuseCall(turn: SessionTurn, call: number, fault: DeviceFault): void {
  answerCall(turn, call, fail(fault))
}

export function sendText(turn: SessionTurn, text: string): void {
  updateLink(turn, { lastSentMs: turn.atMs })
  emitEffect(turn, { kind: 'send', text })
}

export interface DeviceRequest {
  readonly method: string
  readonly params: JsonObject
  readonly purpose: RequestPurpose
  readonly timeoutMs: number
}

/** The flight is recorded before the request leaves, so that no answer can be too early for it. */
export function sendRequest(turn: SessionTurn, { method, params, purpose, timeoutMs }: DeviceRequest): void {
  const { nextId: id, settings } = turn.session
  // With one request in flight no id can still be pending when the counter comes round, 2^31 requests later.
  const nextId = id === MAX_ID ? settings.firstId : id + 1
  const flight = { id, sentAtMs: turn.atMs, deadlineMs: turn.atMs + timeoutMs, purpose }
  updateSession(turn, { nextId, flight })
  sendText(turn, encodeMcp(turn.session.sessionId, createRpcRequest({ id, method, params })))
}
