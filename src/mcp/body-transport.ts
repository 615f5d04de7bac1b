/**
 * Body: a request's JSON, read up to a limit and not one byte beyond it.
 *
 * Does I/O.
 */
import type { IncomingMessage } from 'node:http'
import { isJsonContentType } from '@modelcontextprotocol/server'
import type { Json } from '../core/json.ts'
import type { Result } from '../core/result.ts'
import { fail, ok } from '../core/result.ts'
import type { Refusal } from './refusal-transport.ts'
import { readJson } from '../core/strict-json.ts'

const PARSE_ERROR = -32_700
const MAX_DISCARDED_BYTES = 67_108_864
const MAX_DISCARDING_MS = 5_000

/** `undefined`: the client went away before it had said everything. */
export async function readJsonBody(
  request: IncomingMessage,
  maxBytes: number,
): Promise<Result<Json, Refusal> | undefined> {
  if (!isJsonContentType(request.headers['content-type']))
    return fail({ status: 415, message: 'Unsupported Media Type: Content-Type must be application/json' })
  const bytes = await readBytes(request, maxBytes)
  if (bytes === 'cut-off') return undefined
  if (bytes === 'too-large') {
    discard(request)
    return fail({ status: 413, message: `Payload Too Large: Request body must not exceed ${maxBytes} bytes` })
  }
  const read = readJson(bytes)
  if (read.ok) return ok(read.value)
  return fail({ status: 400, code: PARSE_ERROR, message: `Parse error: ${read.fault.message}` })
}

/** `too-large` as soon as it is known: from the length that was announced, or from what has come so far. */
function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer | 'too-large' | 'cut-off'> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.resolve('too-large')
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= maxBytes) chunks.push(chunk)
      else {
        request.removeAllListeners('data')
        resolve('too-large')
      }
    })
    request.once('end', () => resolve(joined(chunks)))
    request.once('error', () => resolve('cut-off'))
    request.once('close', () => resolve('cut-off'))
  })
}

/**
 * Takes what is still coming and drops it, for a while: a client that is cut off in the middle of its sentence sees a
 * broken connection and never reads why.
 */
function discard(request: IncomingMessage): void {
  let left = MAX_DISCARDED_BYTES
  const impatience = setTimeout(() => request.destroy(), MAX_DISCARDING_MS)
  impatience.unref()
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) request.destroy()
  })
  request.once('close', () => clearTimeout(impatience))
}

function joined(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks
  return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
}
