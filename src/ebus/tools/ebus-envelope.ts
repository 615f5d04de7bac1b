/**
 * Envelope: how the eBUS family answers (spec 1).
 *
 *   { meta: { contract, consistency, data_timestamp, data_hash }, data, error: null }
 *   { meta: …, data: null, error: { code, message, retriable, source_layer } }            MCP isError
 *
 * `data_hash` is SHA-256 over RFC 8785 of `data` alone, so LIVE and SNAPSHOT of the same data have the same one. What
 * changes with every look (ages, where an answer came from) stands in `meta`, beside the data.
 */
import { hash } from 'node:crypto'
import { z } from 'zod'
import type { FamilyEnvelope, JsonSchema, Offer } from '../../bus/capability.ts'
import { systemClock } from '../../core/clock.ts'
import type { Fault, FaultKind } from '../../core/fault.ts'
import { isRetriableFault } from '../../core/fault.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { sanitizeJson } from '../../core/untrusted-text.ts'
import { canonicalJson, isJsonObject } from '../../core/json.ts'

/** The name under which clients know these shapes. */
const CONTRACT = { name: 'helianthus-ebus-mcp', major: 1, minor: 0 } as const

/** The contract's eight, and four of ours (UNSUPPORTED to UNKNOWN_OUTCOME), which would all be INTERNAL there. */
export const EBUS_ERROR_CODES = [
  'INVALID_ARGUMENT',
  'NOT_FOUND',
  'PERMISSION_DENIED',
  'CONFLICT',
  'TIMEOUT',
  'PROTOCOL_ERROR',
  'BUS_UNAVAILABLE',
  'UNSUPPORTED',
  'BUSY',
  'CANCELLED',
  'UNKNOWN_OUTCOME',
  'INTERNAL',
] as const
export type EbusErrorCode = (typeof EBUS_ERROR_CODES)[number]

const CODE_OF_KIND: Readonly<Record<FaultKind, EbusErrorCode>> = {
  'invalid-arguments': 'INVALID_ARGUMENT',
  'not-found': 'NOT_FOUND',
  'not-permitted': 'PERMISSION_DENIED',
  'approval-required': 'PERMISSION_DENIED',
  conflict: 'CONFLICT',
  busy: 'BUSY',
  offline: 'BUS_UNAVAILABLE',
  'timed-out': 'TIMEOUT',
  cancelled: 'CANCELLED',
  failed: 'PROTOCOL_ERROR',
  'unknown-outcome': 'UNKNOWN_OUTCOME',
  unsupported: 'UNSUPPORTED',
  internal: 'INTERNAL',
}

/** Who complains: this program, its table of devices, or the wire. */
export const ERROR_SOURCE_LAYERS = ['gateway', 'registry', 'bus'] as const
export type ErrorSourceLayer = (typeof ERROR_SOURCE_LAYERS)[number]

/** What a handler hands over: the data, and what goes beside it. */
export interface EbusAnswer extends JsonObject {
  readonly data: Json
  readonly consistency: JsonObject
  readonly data_timestamp: string
}

const consistencySchema = z.object({ mode: z.enum(['LIVE', 'SNAPSHOT']), snapshot_id: z.string().exactOptional() })

const fieldFreshness = {
  source: z.string().describe('poll, tool, write_confirm, passive, broadcast or cache; mixed for several.'),
  observed_at: z.string(),
  age_seconds: z.number(),
  stale: z.boolean(),
}

const besideData = {
  consistency: consistencySchema,
  data_timestamp: z.string(),
  page: z
    .object({ total: z.int(), offset: z.int(), count: z.int() })
    .exactOptional()
    .describe('Of a long list: how many there are, and which of them these are.'),
  freshness: z
    .object({
      ...fieldFreshness,
      fields: z
        .record(
          z.string(),
          z.object({
            ...fieldFreshness,
            message: z
              .string()
              .exactOptional()
              .describe(
                'The message that it came from: circuit and name by definition, else address, service and bytes.',
              ),
          }),
        )
        .exactOptional(),
    })
    .exactOptional()
    .describe('How old the data is: the oldest field for the whole, and each field by its path.'),
  cache: z
    .object({ from_cache: z.boolean(), age_seconds: z.number(), observed_at: z.string() })
    .exactOptional()
    .describe('Where the answer to a read came from.'),
  bus: z.string().exactOptional().describe('Which bus, where there are several.'),
  source_address: z.int().exactOptional().describe('Our address on the bus, with which the telegram was sent.'),
  replayed: z
    .boolean()
    .exactOptional()
    .describe('True when an idempotency key was used before: nothing was sent again.'),
  note: z.string().exactOptional().describe('What `replayed` means.'),
}

/** The output of a tool of this family, given that of its data. */
export function createEbusOutputSchema(data: z.ZodType): z.ZodType {
  return z.object({ data, ...besideData })
}

export const ebusFamilyEnvelope: FamilyEnvelope = {
  name: 'ebus',
  isListedInShort: true,
  success: (reply, _offer, replayed) =>
    envelope(marked(isAnswered(reply) ? reply : stamped(reply), replayed === true), null),
  failure: (fault) => ({
    // A change that failed half-way reports how far it got.
    structured: envelope(marked(stamped(fault.details?.['data'] ?? null), fault.replayed === true), errorJson(fault)),
    isError: true,
  }),
  outputSchema,
}

/** Lower-case hex. */
export function computeDataHash(data: Json): string {
  return hash('sha256', canonicalJson(data))
}

/** Names and texts come from devices and definition files, so they are cleaned first; the hash covers what is shown. */
function envelope({ data: given, ...meta }: EbusAnswer, error: JsonObject | null): JsonObject {
  const data = sanitizeJson(given)
  return {
    meta: { contract: CONTRACT, ...meta, data_hash: computeDataHash(data) },
    data,
    error: error === null ? null : sanitizeJson(error),
  }
}

function stamped(data: Json): EbusAnswer {
  return { data, consistency: { mode: 'LIVE' }, data_timestamp: new Date(systemClock.now()).toISOString() }
}

/** Outside of the data, so that the first answer and its replay have the same hash. */
function marked(answer: EbusAnswer, replayed: boolean): EbusAnswer {
  return replayed ? { ...answer, replayed, note: REPLAYED } : answer
}

const REPLAYED =
  'Nothing was done now: this is the answer to an earlier call with the same idempotency_key. Another change needs a new key.'

function isAnswered(reply: Json): reply is EbusAnswer {
  return isJsonObject(reply) && Object.hasOwn(reply, 'data') && Object.hasOwn(reply, 'data_timestamp')
}

/** `source_layer` and `data` are details of a fault, and have members of their own in the envelope. */
function errorJson(fault: Fault): JsonObject {
  const { data: _, source_layer: layer, ...details } = fault.details ?? {}
  return {
    code: codeOf(fault),
    message: fault.message,
    retriable: isRetriableFault(fault),
    source_layer: layer ?? 'gateway',
    ...(fault.retryAfterMs === undefined ? {} : { retry_after_ms: fault.retryAfterMs }),
    ...(fault.reasons === undefined ? {} : { reasons: fault.reasons.map(({ rule, message }) => ({ rule, message })) }),
    ...(Object.keys(details).length === 0 ? {} : { details }),
  }
}

function codeOf({ kind, code }: Fault): EbusErrorCode {
  // Whatever the fault was: an unknown outcome takes precedence.
  if (kind === 'unknown-outcome') return 'UNKNOWN_OUTCOME'
  return EBUS_ERROR_CODES.find((known) => known === code) ?? CODE_OF_KIND[kind]
}

const ERROR: JsonSchema = {
  type: 'object',
  properties: {
    code: { enum: EBUS_ERROR_CODES },
    message: { type: 'string' },
    retriable: { type: 'boolean' },
    source_layer: { enum: ERROR_SOURCE_LAYERS },
    retry_after_ms: { type: 'number' },
    reasons: { type: 'array', items: { type: 'object' } },
    details: { type: 'object' },
  },
  required: ['code', 'message', 'retriable', 'source_layer'],
}

function outputSchema(offer: Offer): JsonSchema {
  const { properties } = (offer.responseSchema ?? {}) as { readonly properties?: Readonly<Record<string, JsonSchema>> }
  const { data = {}, ...meta } = properties ?? {}
  return {
    type: 'object',
    properties: {
      meta: {
        type: 'object',
        properties: {
          contract: {
            type: 'object',
            properties: { name: { type: 'string' }, major: { type: 'integer' }, minor: { type: 'integer' } },
            required: ['name', 'major', 'minor'],
          },
          ...meta,
          data_hash: { type: 'string', description: 'SHA-256 over RFC 8785 of `data`, in hex.' },
        },
        required: ['contract', 'consistency', 'data_timestamp', 'data_hash'],
      },
      data: { anyOf: [data, { type: 'null' }] },
      error: { anyOf: [{ type: 'null' }, ERROR] },
    },
    required: ['meta', 'data', 'error'],
  }
}
