/**
 * Mesh answer: the encoding of an outcome between nodes.
 *
 *   200 { ok: true, data, content?, usage?, input_required?, replayed?, device? }
 *   4xx, 5xx { error, message, retry_after_ms?, alt_nodes?, schema_hash_expected?, … ,
 *              kind, family_code?, reasons?, replayed?, begun? }
 *
 * The first five keys of a failure are CONTRACT § 5.4; those from `kind` on let our own nodes keep what the code alone
 * would lose: whether a person has to approve, whether a change may have happened, whether a handler was entered.
 */
import {
  mapFaultToErrorCode,
  FAULT_KINDS,
  isErrorCode,
  toFaultKind,
  HTTP_STATUS_BY_ERROR_CODE,
} from '../bus/error-code.ts'
import type { ContentBlock, Outcome, Reply } from '../bus/call.ts'
import type { Fault, FaultKind, PolicyReason } from '../core/fault.ts'
import { isJsonObject, parseJsonOrUndefined } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'

/** An internal error of another node counts here as a failure of the far end. */
const KINDS: ReadonlySet<string> = new Set(FAULT_KINDS.filter((kind) => kind !== 'internal'))
const MAX_RETRY_AFTER_MS = 300_000
const MAX_DEVICE = 256

export interface WireAnswer {
  readonly status: number
  readonly text: string
}

export function encodeOutcome(outcome: Outcome): WireAnswer {
  if (outcome.ok) return { status: 200, text: JSON.stringify(encodeReplyBody(outcome.value)) }
  const { fault } = outcome
  // HTTP has a status code for it; the contract has none.
  const status = fault.details?.['reason'] === 'too-large' ? 413 : HTTP_STATUS_BY_ERROR_CODE[mapFaultToErrorCode(fault)]
  return { status, text: JSON.stringify(toMeshFaultJson(fault)) }
}

/** Turns any answer of a peer into an outcome: its own, or a fault about a malformed answer. */
export function decodeOutcome(status: number, text: string): Outcome {
  return decodeParsedOutcome(status, parseJsonOrUndefined(text))
}

/** Decodes an answer that was parsed already. Functions that descend into it must check its depth. */
export function decodeParsedOutcome(status: number, body: unknown): Outcome {
  if (!isJsonObject(body)) return fail(createMalformedMeshReplyFault('The peer did not answer JSON.'))
  return status === 200 ? decodeReplyBody(body) : fail(decodeFault(body))
}

export function encodeReplyBody({ data, content, usage, inputRequired, replayed, from }: Reply): JsonObject {
  const device = from?.device
  // Nearly all replies have none of these; the code below would create an object for each absent member.
  if ((content ?? usage ?? inputRequired ?? replayed ?? device) === undefined) return { ok: true, data }
  return {
    ok: true,
    data,
    ...(content === undefined ? {} : { content }),
    ...(usage === undefined
      ? {}
      : {
          usage: {
            ...(usage.tokensIn === undefined ? {} : { tokens_in: usage.tokensIn }),
            ...(usage.tokensOut === undefined ? {} : { tokens_out: usage.tokensOut }),
          },
        }),
    ...(inputRequired === undefined
      ? {}
      : {
          input_required: {
            requests: inputRequired.requests,
            ...(inputRequired.state === undefined ? {} : { state: inputRequired.state }),
          },
        }),
    ...(replayed === undefined ? {} : { replayed }),
    ...(device === undefined ? {} : { device }),
  }
}

export function decodeReplyBody(body: JsonObject): Outcome {
  const { data, content, usage, input_required: wanted, replayed, device } = body
  if (data === undefined) return fail(createMalformedMeshReplyFault('The peer answered without data.'))
  if ((content ?? usage ?? wanted ?? replayed ?? device) === undefined) return ok({ data })
  return ok({
    data,
    ...(isContent(content) ? { content } : {}),
    ...(isJsonObject(usage) ? { usage: decodeUsage(usage) } : {}),
    ...(isJsonObject(wanted) && isJsonObject(wanted['requests'])
      ? {
          inputRequired: {
            requests: wanted['requests'],
            ...(typeof wanted['state'] === 'string' ? { state: wanted['state'] } : {}),
          },
        }
      : {}),
    ...(replayed === true ? { replayed } : {}),
    ...(typeof device === 'string' ? { from: { device: device.slice(0, MAX_DEVICE) } } : {}),
  })
}

export function toMeshFaultJson(fault: Fault): JsonObject {
  const code = mapFaultToErrorCode(fault)
  return {
    ...fault.details,
    error: code,
    message: fault.message,
    ...(fault.retryAfterMs === undefined ? {} : { retry_after_ms: fault.retryAfterMs }),
    kind: fault.kind,
    ...(fault.code === undefined || fault.code === code ? {} : { family_code: fault.code }),
    ...(fault.reasons === undefined ? {} : { reasons: fault.reasons.map(({ rule, message }) => ({ rule, message })) }),
    ...(fault.replayed === undefined ? {} : { replayed: fault.replayed }),
    ...(fault.begun === undefined ? {} : { begun: fault.begun }),
  }
}

export function decodeFault(body: JsonObject): Fault {
  const { error, message, retry_after_ms: retry, kind, family_code: familyCode, ...more } = body
  const { reasons, replayed, begun, ...details } = more
  if (typeof error !== 'string' || !isErrorCode(error))
    return createMalformedMeshReplyFault('The peer answered an error of no known code.')
  return {
    // An internal error of a peer is, for this node, a failed far end.
    kind: typeof kind === 'string' && KINDS.has(kind) ? (kind as FaultKind) : toFaultKind(error),
    code: typeof familyCode === 'string' ? familyCode.slice(0, 64) : error,
    message: typeof message === 'string' ? message.slice(0, 4_096) : `The peer answered ${error}.`,
    ...(typeof retry === 'number' && retry >= 0 ? { retryAfterMs: Math.min(retry, MAX_RETRY_AFTER_MS) } : {}),
    ...(Array.isArray(reasons) ? { reasons: reasons.filter(isReason).slice(0, 32) } : {}),
    ...(Object.keys(details).length === 0 ? {} : { details }),
    ...(replayed === true ? { replayed } : {}),
    ...(typeof begun === 'boolean' ? { begun } : {}),
  }
}

export function createMalformedMeshReplyFault(message: string): Fault {
  return { kind: 'failed', code: 'internal_error', message }
}

function decodeUsage({ tokens_in: tokensIn, tokens_out: tokensOut }: JsonObject): NonNullable<Reply['usage']> {
  return {
    ...(typeof tokensIn === 'number' ? { tokensIn } : {}),
    ...(typeof tokensOut === 'number' ? { tokensOut } : {}),
  }
}

function isContent(value: Json | undefined): value is readonly ContentBlock[] {
  return Array.isArray(value) && value.every((block) => isJsonObject(block) && typeof block['type'] === 'string')
}

function isReason(value: unknown): value is PolicyReason {
  return isJsonObject(value) && typeof value['rule'] === 'string' && typeof value['message'] === 'string'
}
