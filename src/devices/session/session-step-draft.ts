/**
 * Session step draft: one step of a session in the making. What the parts of the machine read, change and emit.
 *
 * Lives within a single step; nobody outside ever sees one half done.
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

/** Said once: until the link is really gone, nothing else is due on it. */
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

/** The flight is recorded before the request leaves, so that no answer can be too early for it. */
export function startRpcRequest(
  turn: SessionStepDraft,
  { method, params, purpose, timeoutMs }: OutgoingRpcRequest,
): void {
  const { nextId: id, settings } = turn.session
  // With one request in flight no id can still be pending when the counter comes round, 2^31 requests later.
  const nextId = id === MAX_RPC_ID ? settings.firstId : id + 1
  const flight = { id, sentAtMs: turn.atMs, deadlineMs: turn.atMs + timeoutMs, purpose }
  updateDraftSession(turn, { nextId, flight })
  addSendTextEffect(turn, encodeMcpMessage(turn.session.sessionId, createRpcRequest({ id, method, params })))
}
