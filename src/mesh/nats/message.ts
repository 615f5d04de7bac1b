/**
 * Message: what travels in one NATS payload. One line of JSON that says what it is, a line feed, and the body as it is.
 *
 *   to a node        call (envelope, proof, window) · ack (frames taken) · cancel · again (was it answered?)
 *   back             frame (number, event) · reply (status, proof) · unknown (it never came, signed) · forgotten
 *
 * Pure.
 */
import { z } from 'zod'
import { concat, fromUtf8, utf8 } from '../../core/bytes.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'

const toNode = z.discriminatedUnion('t', [
  z.object({
    t: z.literal('call'),
    f: z.record(z.string(), z.string()),
    p: z.string().max(256),
    /** Frames that may be under way. */
    w: z.int().min(1).max(1_024).exactOptional(),
  }),
  /** `r` is the reply subject of the call that it is about. */
  z.object({ t: z.literal('ack'), r: z.string().max(256), n: z.int().min(0) }),
  z.object({ t: z.literal('cancel'), r: z.string().max(256) }),
  z.object({ t: z.literal('again'), r: z.string().max(256), k: z.string().max(64).exactOptional() }),
])

const fromNode = z.discriminatedUnion('t', [
  z.object({ t: z.literal('frame'), n: z.int().min(1), e: z.string().max(64) }),
  z.object({ t: z.literal('reply'), s: z.int().min(100).max(599), p: z.string().max(256) }),
  z.object({ t: z.literal('unknown'), p: z.string().max(256) }),
  z.object({ t: z.literal('forgotten') }),
])

export type ToNode = z.output<typeof toNode>
export type FromNode = z.output<typeof fromNode>

/** Envelopes are a kilobyte; a line beyond that is no message of ours. */
const MAX_LINE = 8_192
const LINE_FEED = 0x0a

export function encodeMessage(head: ToNode | FromNode, body: string | Uint8Array = ''): Uint8Array {
  const line = utf8(`${JSON.stringify(head)}\n`)
  if (body.length === 0) return line
  return concat(line, typeof body === 'string' ? utf8(body) : body)
}

export const decodeToNode = decoder(toNode)
export const decodeFromNode = decoder(fromNode)

function decoder<Head extends z.ZodType>(
  schema: Head,
): (payload: Uint8Array) => Result<{ readonly head: z.output<Head>; readonly body: Uint8Array }, string> {
  return (payload) => {
    const end = payload.subarray(0, MAX_LINE).indexOf(LINE_FEED)
    const line = end < 0 ? undefined : fromUtf8(payload.subarray(0, end))
    if (line === undefined) return fail('no line at its beginning')
    const parsed = schema.safeParse(parsedJson(line))
    return parsed.success ? ok({ head: parsed.data, body: payload.subarray(end + 1) }) : fail('not a message of ours')
  }
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
