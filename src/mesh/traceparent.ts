/**
 * Traceparent: the W3C trace context that links one hop to the next (Trace Context § 3.2).
 *
 *   00-<trace id, 32 hex>-<span of the sender, 16 hex>-01
 *
 * Pure, but for the chance in a new span.
 */
import { hex } from '../core/bytes.ts'
import { chanceBytes, isUlid, traceIdToUlid, ulid, ulidToTraceId } from '../core/ids.ts'

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}$/

export function traceparentOf(traceId: string): string {
  return `00-${ulidToTraceId(isUlid(traceId) ? traceId : ulid())}-${hex(chanceBytes(8))}-01`
}

/** A broken one must not break a call: it begins a trace of its own. */
export function readTraceparent(text: string | undefined): { readonly traceId: string; readonly parentSpan?: string } {
  const [, traceId, parentSpan] = TRACEPARENT.exec(text ?? '') ?? []
  if (traceId === undefined || parentSpan === undefined) return { traceId: ulid() }
  return { traceId: traceIdToUlid(traceId), parentSpan }
}
