/**
 * Turn: one step of a session in the making. What the parts of the machine read, change and emit.
 *
 * Lives within a single step; nobody outside ever sees one half done.
 *
 * Pure.
 */
import type { JsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail } from '../../core/result.ts'
import type { ToolResult } from '../wire/content.ts'
import { encodeMcp } from '../wire/envelope.ts'
import { MAX_ID, rpcRequest } from '../wire/rpc.ts'
import type { DeviceFault } from './device-fault.ts'
import type { Effect, Link, Purpose, Session } from './session.ts'

export interface Turn {
  session: Session
  readonly effects: Effect[]
  readonly atMs: number
}

export function update(turn: Turn, change: Partial<Session>): void {
  turn.session = { ...turn.session, ...change }
}

export function updateLink(turn: Turn, change: Partial<Link>): void {
  if (turn.session.link !== undefined) update(turn, { link: { ...turn.session.link, ...change } })
}

export function emit(turn: Turn, effect: Effect): void {
  turn.effects.push(effect)
}

/** Said once: until the link is really gone, nothing else is due on it. */
export function close(turn: Turn, reason: string): void {
  if (turn.session.link === undefined || turn.session.link.closing) return
  updateLink(turn, { closing: true })
  emit(turn, { kind: 'close', reason })
}

export function answer(turn: Turn, call: number, result: Result<ToolResult, DeviceFault>): void {
  emit(turn, { kind: 'answer', call, result })
}

export function refuse(turn: Turn, call: number, fault: DeviceFault): void {
  answer(turn, call, fail(fault))
}

export function send(turn: Turn, text: string): void {
  updateLink(turn, { lastSentMs: turn.atMs })
  emit(turn, { kind: 'send', text })
}

export interface Asked {
  readonly method: string
  readonly params: JsonObject
  readonly purpose: Purpose
  readonly timeoutMs: number
}

/** The flight is recorded before the request leaves, so that no answer can be too early for it. */
export function ask(turn: Turn, { method, params, purpose, timeoutMs }: Asked): void {
  const { nextId: id, settings } = turn.session
  // With one request in flight no id can still be pending when the counter comes round, 2^31 requests later.
  const nextId = id === MAX_ID ? settings.firstId : id + 1
  const flight = { id, sentAtMs: turn.atMs, deadlineMs: turn.atMs + timeoutMs, purpose }
  update(turn, { nextId, flight })
  send(turn, encodeMcp(turn.session.sessionId, rpcRequest({ id, method, params })))
}
