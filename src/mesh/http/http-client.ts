/**
 * HTTP client: messages to other nodes over keep-alive HTTPS connections, one pool per node.
 *
 *   POST /bus/v1/call ─▶ JSON answer, or text/event-stream with back-pressure all the way to the socket
 *
 * A keep-alive connection may break at the moment we use it. The message is then sent once more with the same request
 * id: a node that has seen it refuses it as a replay, and one that has restarted does not know the session. Only in
 * these cases is the outcome unknown.
 */
import { request } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { StreamFrameEmitter } from '../../bus/peer.ts'
import type { Fault } from '../../core/fault.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { readErrorMessage } from '../../core/thrown-error.ts'
import { readBoundedBytes } from '../../toolbox/response-body.ts'
import {
  createLostMeshAnswerFault,
  createUnreachableFault,
  createCancelledSendFault,
  formatDestinationKey,
} from '../transport.ts'
import type {
  DeliveredAnswer,
  MessageDestination,
  MeshTransport,
  MeshMessage,
  PacketConnectionListener,
  PacketConnection,
  DeliveredStreamEnd,
} from '../transport.ts'
import { CALL_HTTP_PATH, encodeEnvelopeHeaders, SIGNATURE_HTTP_HEADER } from './envelope-headers.ts'
import { MAX_PACKET_OVERHEAD_BYTES } from './packet-frames.ts'
import { PacketLinks } from './packet-link-client.ts'
import { PinnedHttpAgent } from './pinned-agent-client.ts'
import type { TlsIdentity } from '../identity/self-signed-certificate.ts'
import { SseParser } from './sse.ts'

export interface MeshHttpClientOptions {
  readonly tls: TlsIdentity
  readonly maxAnswerBytes: number
}

type HttpDestination = MessageDestination<'http'>

/** How far a request got before it failed. */
interface Failure {
  readonly error: Error
  readonly wasSent: boolean
  readonly onReusedConnection: boolean
}

interface Posted {
  readonly response: IncomingMessage
  readonly resent: boolean
}

const MAX_AGENTS = 1_024

export class MeshHttpClient implements MeshTransport<'http'> {
  readonly name = 'http'
  readonly #options: MeshHttpClientOptions
  readonly #agents = new Map<string, PinnedHttpAgent>()
  readonly #links: PacketLinks

  constructor(options: MeshHttpClientOptions) {
    this.#options = options
    this.#links = new PacketLinks({
      agent: (to) => this.#agent(to),
      maxAnswerBytes: options.maxAnswerBytes + MAX_PACKET_OVERHEAD_BYTES,
    })
  }

  wire(to: HttpDestination): PacketConnection | Promise<PacketConnection | undefined> | undefined {
    return this.#links.wire(to)
  }

  onPackets(events: PacketConnectionListener): void {
    this.#links.onPackets(events)
  }

  async send(to: HttpDestination, message: MeshMessage, signal: AbortSignal): Promise<Result<DeliveredAnswer, Fault>> {
    const answered = await this.#post(to, message, signal)
    if (!answered.ok) return answered
    return this.#readAll(answered.value, { to, message, signal })
  }

  async stream(
    to: HttpDestination,
    message: MeshMessage,
    { signal, emit }: { readonly signal: AbortSignal; readonly emit: StreamFrameEmitter },
  ): Promise<Result<DeliveredStreamEnd, Fault>> {
    const answered = await this.#post(to, message, signal)
    if (!answered.ok) return answered
    const { response } = answered.value
    if (response.headers['content-type']?.startsWith('text/event-stream') === true)
      return this.#readFrames(answered.value, { to, message, signal, emit })
    const whole = await this.#readAll(answered.value, { to, message, signal })
    return whole.ok ? ok({ ...whole.value, frames: 0 }) : whole
  }

  close(): void {
    this.#links.close()
    this.#closeAgents()
  }

  #closeAgents(): void {
    for (const agent of this.#agents.values()) agent.destroy()
    this.#agents.clear()
  }

  async #post(to: HttpDestination, message: MeshMessage, signal: AbortSignal): Promise<Result<Posted, Fault>> {
    for (let again = false; ; again = true) {
      const sent = await this.#postOnce(to, message, signal)
      if (sent.ok) return ok({ response: sent.value, resent: again })
      const { error, wasSent, onReusedConnection } = sent.fault
      if (signal.aborted) return fail(createCancelledSendFault())
      // The first transmission may have been carried out, whatever happened to the second.
      if (!wasSent && !again) return fail(createUnreachableFault(to.nodeId, error.message))
      if (again || !onReusedConnection)
        return fail(createLostMeshAnswerFault(to.nodeId, message.idempotent, error.message))
    }
  }

  #postOnce(to: HttpDestination, message: MeshMessage, signal: AbortSignal): Promise<Result<IncomingMessage, Failure>> {
    return new Promise((resolve) => {
      const outgoing = request({
        agent: this.#agent(to),
        method: 'POST',
        path: CALL_HTTP_PATH,
        host: to.endpoint.host,
        port: to.endpoint.port,
        headers: {
          ...encodeEnvelopeHeaders(message.fields, message.proof),
          'content-length': Buffer.byteLength(message.body),
        },
      })
      const abort = (): void => void outgoing.destroy(new Error('withdrawn'))
      if (signal.aborted) abort()
      signal.addEventListener('abort', abort, { once: true })
      outgoing.once('response', (response) => {
        // The answer still listens to the signal; the request is complete.
        response.once('close', () => signal.removeEventListener('abort', abort))
        resolve(ok(response))
      })
      outgoing.once('error', (error) => {
        signal.removeEventListener('abort', abort)
        resolve(fail({ error, wasSent: hasConnection(outgoing), onReusedConnection: outgoing.reusedSocket }))
      })
      // Neither event occurs where the far end switches to another protocol that was not requested.
      outgoing.once('close', () => {
        signal.removeEventListener('abort', abort)
        resolve(fail({ error: new Error('it hung up'), wasSent: true, onReusedConnection: false }))
      })
      outgoing.end(message.body)
    })
  }

  async #readAll(
    { response, resent }: Posted,
    { to, message, signal }: { to: HttpDestination; message: MeshMessage; signal: AbortSignal },
  ): Promise<Result<DeliveredAnswer, Fault>> {
    const { maxAnswerBytes } = this.#options
    const lost = (why: string): Result<DeliveredAnswer, Fault> =>
      fail(createLostMeshAnswerFault(to.nodeId, message.idempotent, why))
    try {
      const bytes = await readBoundedBytes(response as AsyncIterable<Buffer>, maxAnswerBytes)
      if (bytes === undefined) return lost(`its answer has more than ${maxAnswerBytes} bytes`)
      const proof = response.headers[SIGNATURE_HTTP_HEADER]
      const text = Buffer.from(bytes.buffer).toString('utf8')
      return ok({ status: response.statusCode ?? 500, text, proof: typeof proof === 'string' ? proof : '', resent })
    } catch (error) {
      return signal.aborted ? fail(createCancelledSendFault()) : lost(readErrorMessage(error))
    }
  }

  /**
   * The response is paused while a frame is being taken, so that the socket fills up and the far end's handler waits.
   */
  async #readFrames(
    { response, resent }: Posted,
    {
      to,
      message,
      signal,
      emit,
    }: { to: HttpDestination; message: MeshMessage; signal: AbortSignal; emit: StreamFrameEmitter },
  ): Promise<Result<DeliveredStreamEnd, Fault>> {
    const parser = new SseParser(this.#options.maxAnswerBytes)
    const lost = (why: string): Result<DeliveredStreamEnd, Fault> =>
      fail(signal.aborted ? createCancelledSendFault() : createLostMeshAnswerFault(to.nodeId, message.idempotent, why))
    let frames = 0
    response.setEncoding('utf8')
    try {
      for await (const text of response as AsyncIterable<string>) {
        const events = parser.feed(text)
        if (!events.ok) return lost(events.fault)
        for (const event of events.value) {
          if (event.kind === 'end') return ok({ ...event.delivered, frames, resent })
          frames++
          await emit(event.frame)
        }
      }
    } catch (error) {
      return lost(readErrorMessage(error))
    } finally {
      response.destroy()
    }
    return lost('the stream ended without an end')
  }

  #agent({ nodeId, endpoint }: HttpDestination): PinnedHttpAgent {
    const key = formatDestinationKey(nodeId, endpoint)
    let agent = this.#agents.get(key)
    if (agent === undefined) {
      if (this.#agents.size >= MAX_AGENTS) this.#closeAgents()
      agent = new PinnedHttpAgent({ host: endpoint.host, port: endpoint.port, nodeId, tls: this.#options.tls })
      this.#agents.set(key, agent)
    }
    return agent
  }
}

/** Without a connection no byte can have been sent; with one, some may have been. */
function hasConnection({ socket }: ClientRequest): boolean {
  return socket !== null && socket !== undefined && !socket.connecting
}
