/**
 * Outcome shape: whether what a handler gave is an outcome, or a frame, at all. Services of one's own are plain
 * JavaScript at run time: whatever passes here can be recorded, encoded and shown without anybody looking again.
 *
 * Pure.
 */
import type { Fault, FaultKind, Reason } from '../core/fault.ts'
import { isJsonObject } from '../core/json.ts'
import type { Frame, Outcome, Reply } from './call.ts'
import { FAULT_KINDS } from './code.ts'

const KINDS: ReadonlySet<unknown> = new Set<FaultKind>(FAULT_KINDS)

export function isOutcome(outcome: unknown): outcome is Outcome {
  if (typeof outcome !== 'object' || outcome === null) return false
  const { ok, value, fault } = outcome as Readonly<Record<string, unknown>>
  return ok === true ? isReply(value) : ok === false && isFault(fault)
}

export function isFrame(frame: unknown): frame is Frame {
  if (typeof frame !== 'object' || frame === null) return false
  const { event, data } = frame as Readonly<Record<string, unknown>>
  return typeof event === 'string' && data !== undefined
}

function isReply(reply: unknown): reply is Reply {
  if (typeof reply !== 'object' || reply === null) return false
  const { data, content, usage, inputRequired, from } = reply as Readonly<Record<string, unknown>>
  if (data === undefined) return false
  // Nearly all of them.
  if ((content ?? usage ?? inputRequired ?? from) === undefined) return true
  return (
    (content === undefined || (Array.isArray(content) && content.every(isContentBlock))) &&
    (usage === undefined || isObject(usage)) &&
    (inputRequired === undefined || (isObject(inputRequired) && isJsonObject(inputRequired['requests']))) &&
    (from === undefined || (isObject(from) && isText(from['node']) && isText(from['device'])))
  )
}

function isFault(fault: unknown): fault is Fault {
  if (!isObject(fault)) return false
  const { kind, code, message, retryAfterMs, reasons, details } = fault
  return (
    KINDS.has(kind) &&
    typeof message === 'string' &&
    isText(code) &&
    (retryAfterMs === undefined || (typeof retryAfterMs === 'number' && retryAfterMs >= 0)) &&
    (reasons === undefined || (Array.isArray(reasons) && reasons.every(isReason))) &&
    (details === undefined || isJsonObject(details))
  )
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/** Or nothing. */
function isText(value: unknown): boolean {
  return value === undefined || typeof value === 'string'
}

function isContentBlock(block: unknown): boolean {
  return isObject(block) && typeof block['type'] === 'string'
}

function isReason(reason: unknown): reason is Reason {
  return isObject(reason) && typeof reason['rule'] === 'string' && typeof reason['message'] === 'string'
}
