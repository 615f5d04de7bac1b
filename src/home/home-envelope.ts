/**
 * Home envelope: how the tools of the home answer. Every answer has `say`, a sentence that is true and can be spoken.
 *
 *   success                 {say, things?, ask?, next?, id? …}
 *   waits for a person      {say, approval: {id, state, expires_at?, next}}       no error: waiting is a state
 *   failure                 {say, error: {code, reasons?}, next?}                  MCP isError
 *
 * Pure.
 */
import type { Family } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { isJsonObject } from '../core/json.ts'
import { quote } from './say.ts'

const MAX_MESSAGE = 400

export const homeFamily: Family = {
  name: 'home',
  success: (data) => (isJsonObject(data) ? data : { say: '', data }),
  failure: (fault) => {
    const approval = waitingIn(fault)
    return approval === undefined
      ? { structured: failureJson(fault), isError: true }
      : { structured: approval, isError: false }
  },
}

function waitingIn({ kind, details }: Fault): JsonObject | undefined {
  const id = details?.['approval_id']
  if (kind !== 'approval-required' || typeof id !== 'string') return undefined
  const label = typeof details?.['label'] === 'string' ? ` ${quote(details['label'])}` : ''
  const node = typeof details?.['node_name'] === 'string' ? ` on ${quote(details['node_name'])}` : ''
  const expires = details?.['expires_at']
  return {
    say: `I have asked a person to confirm this${label}${node}. Nothing was done yet. Once they agree, ask for the same again and it is done.`,
    approval: {
      id,
      state: 'requested',
      ...(typeof expires === 'string' ? { expires_at: expires } : {}),
      next: { tool: 'approval', arguments: { id, wait_seconds: 60 } },
    },
  }
}

function failureJson({ kind, code, message, reasons, retryAfterMs }: Fault): JsonObject {
  const rules: Json[] = (reasons ?? []).map(({ rule }) => rule)
  return {
    say: message.slice(0, MAX_MESSAGE).toWellFormed(),
    error: {
      code: code ?? kind,
      ...(rules.length === 0 ? {} : { rules }),
      ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
    },
  }
}
