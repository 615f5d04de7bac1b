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
import { readJson } from './strict-json.ts'

const PARSE_ERROR = -32_700

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
    const message = `Payload Too Large: Request body must not exceed ${maxBytes} bytes`
    // What is still to come is not read, so the connection is of no further use.
    return fail({ status: 413, message, headers: { connection: 'close' } })
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
      if (length > maxBytes) {
        request.removeAllListeners('data').pause()
        resolve('too-large')
      } else chunks.push(chunk)
    })
    request.once('end', () => resolve(joined(chunks)))
    request.once('error', () => resolve('cut-off'))
    request.once('close', () => resolve('cut-off'))
  })
}

function joined(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks
  return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
}
