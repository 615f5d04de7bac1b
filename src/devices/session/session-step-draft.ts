/**
 * Session step draft: the session and the effects of one step while the parts of the machine compute it. It exists
 * within a single step only; code outside never sees an unfinished one.
 */
import type { JsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail } from '../../core/result.ts'
import type { ToolResult } from '../wire/tool-result.ts'
import { encodeMcpMessage } from '../wire/device-frame.ts'
import { MAX_RPC_ID, createRpcRequest } from '../wire/rpc.ts'
import type { DeviceFault } from './device-fault.ts'
import type { SessionEffect, SessionLink, RpcRequestPurpose, DeviceSession } from './session.ts'

export interface SessionStepDraft {
  session: DeviceSession
  readonly effects: SessionEffect[]
  readonly atMs: number
}

export function updateDraftSession(turn: SessionStepDraft, change: Partial<DeviceSession>): void {
  turn.session = { ...turn.session, ...change }
}

export function updateDraftLink(turn: SessionStepDraft, change: Partial<SessionLink>): void {
  if (turn.session.link !== undefined) updateDraftSession(turn, { link: { ...turn.session.link, ...change } })
}

export function addSessionEffect(turn: SessionStepDraft, effect: SessionEffect): void {
  turn.effects.push(effect)
}

/** Emits the effect once: until the link is really closed, nothing else is sent on it. */
export function addCloseLinkEffect(turn: SessionStepDraft, reason: string): void {
  if (turn.session.link === undefined || turn.session.link.closing) return
  updateDraftLink(turn, { closing: true })
  addSessionEffect(turn, { kind: 'close', reason })
}

export function addCallAnswerEffect(
  turn: SessionStepDraft,
  call: number,
  result: Result<ToolResult, DeviceFault>,
): void {
  addSessionEffect(turn, { kind: 'answer', call, result })
}

export function addCallFaultEffect(turn: SessionStepDraft, call: number, fault: DeviceFault): void {
  addCallAnswerEffect(turn, call, fail(fault))
}

export function addSendTextEffect(turn: SessionStepDraft, text: string): void {
  updateDraftLink(turn, { lastSentMs: turn.atMs })
  addSessionEffect(turn, { kind: 'send', text })
}

export interface OutgoingRpcRequest {
  readonly method: string
  readonly params: JsonObject
  readonly purpose: RpcRequestPurpose
  readonly timeoutMs: number
}

/** The request is recorded before it is sent, so that no answer can be too early. */
export function startRpcRequest(
  turn: SessionStepDraft,
  { method, params, purpose, timeoutMs }: OutgoingRpcRequest,
): void {
  const { nextId: id, settings } = turn.session
  // With one request at a time, no id is still in use when the counter wraps around, 2^31 requests later.
  const nextId = id === MAX_RPC_ID ? settings.firstId : id + 1
  const flight = { id, sentAtMs: turn.atMs, deadlineMs: turn.atMs + timeoutMs, purpose }
  updateDraftSession(turn, { nextId, flight })
  addSendTextEffect(turn, encodeMcpMessage(turn.session.sessionId, createRpcRequest({ id, method, params })))
}
