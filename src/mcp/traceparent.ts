/**
 * Traceparent: the W3C trace that a caller is already in (Trace Context § 3.2), so that ours continues it.
 *
 *   00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
 *      trace id                         parent span
 *
 * Pure.
 */
import { traceIdToUlid } from '../core/ids.ts'

export interface TraceParent {
  /** As a ULID, which carries the same 128 bits. */
  readonly traceId: string
  readonly parentSpan: string
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:$|-)/

/** `undefined` for anything malformed: a broken trace must not break a call. */
export function parseTraceparent(text: unknown): TraceParent | undefined {
  if (typeof text !== 'string') return undefined
  const found = TRACEPARENT.exec(text)
  const [, traceId, parentSpan] = found ?? []
  if (traceId === undefined || parentSpan === undefined) return undefined
  return { traceId: traceIdToUlid(traceId), parentSpan }
}
