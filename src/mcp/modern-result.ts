/**
 * Modern result: what revision 2026-07-28 wants on every result: its type, how long it may be kept and by whom, and
 * who answered.
 *
 * Pure.
 */
import { isJsonObject } from '../core/json.ts'
import { HEADER_MISMATCH, MISSING_CAPABILITY } from './protocol-error.ts'
import type { ProtocolFault } from './protocol-error.ts'
import { resultText } from './result-text.ts'
import type { ResultText } from './result-text.ts'

/** `Implementation` in MCP's schema. */
export interface ServerInfo {
  readonly name: string
  readonly title: string
  readonly version: string
}

/** A list depends on who asks, so only the asker may keep it. `subscriptions/listen` says when it has changed. */
const LIST_TTL_MS = 60_000
const TTL_MS: Readonly<Record<string, number>> = {
  'server/discover': LIST_TTL_MS,
  'tools/list': LIST_TTL_MS,
  'prompts/list': LIST_TTL_MS,
  'resources/list': LIST_TTL_MS,
  'resources/templates/list': LIST_TTL_MS,
  'resources/read': 0,
}

export type CacheHints = Readonly<Record<string, { readonly ttlMs: number; readonly cacheScope: 'private' }>>

export const CACHE_HINTS: CacheHints = Object.fromEntries(
  Object.entries(TTL_MS).map(([method, ttlMs]) => [method, { ttlMs, cacheScope: 'private' as const }]),
)

export function modernText(serverInfo: ServerInfo): ResultText {
  const meta = { 'io.modelcontextprotocol/serverInfo': { ...serverInfo } }
  return resultText((method, result) => ({
    ...result,
    ...(result['resultType'] === undefined ? { resultType: 'complete', ...CACHE_HINTS[method] } : {}),
    _meta: isJsonObject(result['_meta']) ? { ...meta, ...result['_meta'] } : meta,
  }))
}

/** An error of a call is still an answer (200), unless the request itself is at fault. */
export function statusOf({ code }: ProtocolFault): number {
  return code === MISSING_CAPABILITY || code === HEADER_MISMATCH ? 400 : 200
}
