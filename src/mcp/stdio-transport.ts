/**
 * Stdio transport: JSON-RPC messages, one a line, over two streams (MCP, stdio).
 *
 *   {"jsonrpc":"2.0",…}\n   in       strict JSON, at most so many bytes a line; what is not a message is answered
 *   {"jsonrpc":"2.0",…}\n   out      nothing else is ever written there
 *
 * When the input ends, requests that are under way get a moment to be answered; then the transport closes.
 */
import type { Readable, Writable } from 'node:stream'
import { parseJSONRPCMessage } from '@modelcontextprotocol/server'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server'
import type { Json } from '../core/json.ts'
import { isJsonObject, parseStrictJsonBytes } from '../core/json.ts'
import { INVALID_REQUEST_ERROR_CODE, PARSE_ERROR_CODE } from './protocol-error.ts'

export interface StdioStreams {
  readonly input: Readable
  readonly output: Writable
}

const NEWLINE = 0x0a
const CARRIAGE_RETURN = 0x0d
const MAX_LINE_BYTES = 4_194_304
/** Long enough for running calls to be recorded, short enough for a client that waits for the process to end. */
const DRAIN_MS = 2_000

export class StdioTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void

  readonly #streams: StdioStreams
  readonly #maxLineBytes: number
  #parts: Buffer[] = []
  #length = 0
  /** The rest of a line that was too long is not parsed as a line of its own. */
  #skipping = false
  readonly #unanswered = new Set<string | number>()
  #impatience: NodeJS.Timeout | undefined
  #state: 'new' | 'open' | 'draining' | 'closed' = 'new'

  constructor(streams: StdioStreams, maxLineBytes: number = MAX_LINE_BYTES) {
    this.#streams = streams
    this.#maxLineBytes = maxLineBytes
  }

  start(): Promise<void> {
    if (this.#state !== 'new') throw new Error('this transport was started before')
    this.#state = 'open'
    const { input, output } = this.#streams
    input.on('data', (chunk: Buffer) => this.#take(chunk))
    input.once('end', () => this.#drain())
    input.once('error', () => this.#drain())
    input.once('close', () => this.#drain())
    // Kept until the process ends: a late EPIPE must not be an uncaught exception.
    output.on('error', () => void this.close())
    if (input.readableEnded || input.destroyed) setImmediate(() => this.#drain())
    return Promise.resolve()
  }

  send(message: JSONRPCMessage): Promise<void> {
    if (this.#state === 'closed') return Promise.reject(new Error('the connection is closed'))
    if ('id' in message && message.id !== undefined && !('method' in message)) this.#unanswered.delete(message.id)
    return new Promise((resolve, reject) => {
      // Resolves when the bytes are written, so that backpressure reaches the sender.
      this.#streams.output.write(`${JSON.stringify(message)}\n`, (error) => {
        if (error === null || error === undefined) resolve()
        else reject(error)
        if (this.#state === 'draining' && this.#unanswered.size === 0) void this.close()
      })
    })
  }

  close(): Promise<void> {
    if (this.#state === 'closed') return Promise.resolve()
    this.#state = 'closed'
    clearTimeout(this.#impatience)
    this.#streams.input.removeAllListeners('data').pause()
    this.#parts = []
    this.onclose?.()
    return Promise.resolve()
  }

  #drain(): void {
    if (this.#state !== 'open') return
    this.#state = 'draining'
    if (this.#unanswered.size === 0) void this.close()
    else this.#impatience = setTimeout(() => void this.close(), DRAIN_MS)
  }

  #take(chunk: Buffer): void {
    let rest = chunk
    for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
      this.#append(rest.subarray(0, end))
      this.#endLine()
      rest = rest.subarray(end + 1)
    }
    this.#append(rest)
    this.#waitForReader()
  }

  /** Nothing is read from a client that does not read its answers, so that answers do not pile up. */
  #waitForReader(): void {
    const { input, output } = this.#streams
    if (!output.writableNeedDrain) return
    input.pause()
    output.once('drain', () => {
      if (this.#state === 'open') input.resume()
    })
  }

  #append(bytes: Buffer): void {
    if (this.#skipping) return
    this.#length += bytes.length
    if (this.#length <= this.#maxLineBytes) {
      this.#parts.push(bytes)
      return
    }
    this.#skipping = true
    this.#parts = []
    this.#refuse(null, INVALID_REQUEST_ERROR_CODE, `A message must not exceed ${this.#maxLineBytes} bytes.`)
  }

  #endLine(): void {
    const line = Buffer.concat(this.#parts)
    const skipped = this.#skipping
    this.#parts = []
    this.#length = 0
    this.#skipping = false
    const isBlank = line.length === 0 || (line.length === 1 && line[0] === CARRIAGE_RETURN)
    if (!skipped && !isBlank) this.#read(line)
  }

  #read(line: Buffer): void {
    const read = parseStrictJsonBytes(line)
    if (!read.ok) return this.#refuse(null, PARSE_ERROR_CODE, `Parse error: ${read.fault.message}`)
    if (Array.isArray(read.value))
      return this.#refuse(null, INVALID_REQUEST_ERROR_CODE, 'Batches are not supported over stdio.')
    const message = asMessage(read.value)
    if (message === undefined)
      return this.#refuse(idOf(read.value), INVALID_REQUEST_ERROR_CODE, 'This is not a JSON-RPC message.')
    if ('method' in message && 'id' in message) this.#unanswered.add(message.id)
    // A request that its client cancelled is never answered.
    if ('method' in message && message.method === 'notifications/cancelled')
      this.#withdrawn(message.params?.['requestId'])
    this.onmessage?.(message)
  }

  #withdrawn(id: unknown): void {
    if (typeof id === 'string' || typeof id === 'number') this.#unanswered.delete(id)
  }

  #refuse(id: string | number | null, code: number, message: string): void {
    this.#streams.output.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })}\n`)
  }
}

function asMessage(value: Json): JSONRPCMessage | undefined {
  try {
    return parseJSONRPCMessage(value)
  } catch {
    return undefined
  }
}

function idOf(value: Json): string | number | null {
  const id = isJsonObject(value) ? value['id'] : undefined
  return typeof id === 'string' || typeof id === 'number' ? id : null
}
