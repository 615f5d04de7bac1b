/**
 * Traceparent: the W3C trace context that links one hop to the next (Trace Context § 3.2).
 *
 *   00-<trace id, 32 hex>-<span of the sender, 16 hex>-01
 */
import { toHex } from '../core/bytes.ts'
import { randomBytes, isUlid, traceIdToUlid, newUlid, ulidToTraceId } from '../core/ids.ts'

export interface TraceParent {
  /** As a ULID, which carries the same 128 bits. */
  readonly traceId: string
  readonly parentSpan: string
}

/** Later versions are read as far as they are known; `ff` is invalid (§ 3.2.2.1). */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:$|-)/

export function createTraceparentWithNewSpan(traceId: string): string {
  return `00-${ulidToTraceId(isUlid(traceId) ? traceId : newUlid())}-${toHex(randomBytes(8))}-01`
}

/** `undefined` for anything malformed: a broken trace context must not fail a call. */
export function parseTraceparent(text: unknown): TraceParent | undefined {
  const [, traceId, parentSpan] = (typeof text === 'string' ? TRACEPARENT.exec(text) : undefined) ?? []
  if (traceId === undefined || parentSpan === undefined) return undefined
  return { traceId: traceIdToUlid(traceId), parentSpan }
}
