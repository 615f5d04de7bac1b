/**
 * Envelope headers: the envelope as HTTP carries it, under spec 2's names (CONTRACT § 5) and, for what spec 2 lacks, names in
 * its style.
 */
import type { EnvelopeFields } from '../mesh-envelope.ts'

export const CALL_HTTP_PATH = '/bus/v1/call'
/** The path at which a member switches a connection from HTTP to packets. */
export const PACKETS_HTTP_PATH = '/bus/v1/packets'
export const PACKETS_UPGRADE_PROTOCOL = 'hearthbus-packets'
export const SIGNATURE_HTTP_HEADER = 'x-hearthnet-signature'

/** Envelope field → header. The session name comes from a caller, so it is percent-encoded. */
const HEADER_OF: Readonly<Record<string, string>> = {
  capability: 'x-hearthnet-capability',
  version: 'x-hearthnet-capability-version',
  request_id: 'x-hearthnet-request-id',
  from: 'x-hearthnet-from',
  to: 'x-hearthnet-to',
  community: 'x-hearthnet-community',
  timestamp: 'x-hearthnet-timestamp',
  key_id: 'x-hearthnet-key-id',
  deadline_ms: 'x-hearthnet-deadline-ms',
  session: 'x-hearthnet-session',
  hops: 'x-hearthnet-hops',
  input: 'x-hearthnet-input',
  stream: 'x-hearthnet-stream',
  schema_hash: 'x-hearthnet-schema-hash',
  traceparent: 'traceparent',
  actor: 'x-hearthnet-actor',
}

export function encodeEnvelopeHeaders(fields: EnvelopeFields, proof: string): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json', [SIGNATURE_HTTP_HEADER]: proof }
  headers['accept'] = fields['stream'] === '1' ? 'text/event-stream, application/json' : 'application/json'
  for (const [field, value] of Object.entries(fields)) {
    const header = HEADER_OF[field]
    if (header !== undefined) headers[header] = field === 'session' ? encodeURIComponent(value) : value
  }
  return headers
}

/**
 * Reads fields from headers. A header that occurs twice is invalid: Node joins the values, and a joined value fits no
 * field.
 */
export function createHeaderFieldReader(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): (field: string) => string | undefined {
  return (field) => {
    const value = headers[HEADER_OF[field] ?? '']
    if (typeof value !== 'string') return undefined
    return field === 'session' ? decoded(value) : value
  }
}

function decoded(value: string): string | undefined {
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined
  }
}
