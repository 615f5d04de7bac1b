/**
 * Event stream server: the feed as server-sent events, read by a page that sends its session key (which EventSource
 * cannot do) and continues with `Last-Event-ID` where it stopped.
 *
 *   id: 01K9…-42
 *   event: calls
 *   data: {"calls":[…],"skipped":0}
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { sendJsonResponse } from '../core/listen-server.ts'
import { mayViewStatus } from '../guard/administration-and-record-rights.ts'
import type { EventFeed, FeedEvent } from './event-feed.ts'
import { isCrossSiteRequest } from './api-authenticator.ts'
import type { ApiAuthenticator } from './api-authenticator.ts'
import type { ConsoleStreamEvents } from './views.ts'

export interface EventStreamOptions {
  readonly feed: EventFeed
  readonly authenticator: ApiAuthenticator
  readonly node: string
}

export interface EventStreamHandler {
  (request: IncomingMessage, response: ServerResponse): void
  /** Ends every stream; otherwise they would keep the listener from closing. */
  readonly close: () => void
}

const MAX_STREAMS = 64
/** Shorter than any proxy's time-out. A quiet stream ends at most this long after its session has ended. */
const BEAT_MS = 5_000
/** A page that is further behind is disconnected and requests what it missed. */
const MAX_BEHIND_BYTES = 4_000_000

export function createEventStreamHandler({ feed, authenticator, node }: EventStreamOptions): EventStreamHandler {
  /** The open streams, oldest first, with the principal of each. */
  const streams = new Map<ServerResponse, string>()

  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const known = authenticator.authenticate(request.headers, request.socket.remoteAddress)
    if (request.method !== 'GET') return refuse(response, 405, 'Events are read, not written.')
    if (isCrossSiteRequest(request.headers)) return refuse(response, 403, 'Pages of other sites may not read this.')
    if (!known.ok) return refuse(response, known.fault.status, known.fault.message)
    const { caller } = known.value
    if (!mayViewStatus(caller)) return refuse(response, 403, 'This credential is narrowed and does not cover reading.')
    if (streams.size >= MAX_STREAMS) makeRoom(streams)
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    })
    streams.set(response, caller.id)
    const send = (text: string): void => {
      if (response.writableLength > MAX_BEHIND_BYTES) response.destroy()
      else response.write(text)
    }
    const lastId = request.headers['last-event-id']
    const missed = typeof lastId === 'string' ? feed.since(lastId) : undefined
    // A page that is disconnected before the first event must be able to continue from here.
    const id = missed === undefined ? feed.latestId() : String(lastId)
    const hello: ConsoleStreamEvents['hello'] = { node, resumed: missed !== undefined, atMs: Date.now() }
    send(frame({ id, name: 'hello', data: JSON.stringify(hello) }))
    const toFrame = (event: FeedEvent): string => {
      const data = event.dataFor(caller)
      // The id still advances, so that a page that reconnects does not request this event again.
      return data === undefined ? `id: ${event.id}\n\n` : frame({ ...event, data })
    }
    for (const event of missed ?? []) send(toFrame(event))
    // Checked before every event: a principal who was signed out gets nothing more.
    const sendIfKnown = (text: string): void => {
      if (authenticator.isStillKnown(request.headers, request.socket.remoteAddress)) send(text)
      else response.end()
    }
    const leave = feed.subscribe((event) => sendIfKnown(toFrame(event)))
    const beat = setInterval(() => sendIfKnown(': still here\n\n'), BEAT_MS)
    response.once('close', () => {
      clearInterval(beat)
      leave()
      streams.delete(response)
    })
  }

  return Object.assign(handle, {
    close: () => {
      for (const stream of streams.keys()) stream.end()
    },
  })
}

/**
 * The principal with the most streams loses its oldest one, so that nobody can keep others from listening. The page of
 * that stream reconnects if it is still open.
 */
function makeRoom(streams: Map<ServerResponse, string>): void {
  const shares = [...Map.groupBy(streams, ([, owner]) => owner).values()]
  const [largest = []] = shares.toSorted((left, right) => right.length - left.length)
  const [oldest] = largest
  if (oldest === undefined) return
  streams.delete(oldest[0])
  oldest[0].destroy()
}

/** JSON contains no line breaks, so one data line is enough. */
function frame({ id, name, data }: Pick<FeedEvent, 'id' | 'name' | 'data'>): string {
  return `id: ${id}\nevent: ${name}\ndata: ${data}\n\n`
}

function refuse(response: ServerResponse, status: number, message: string): void {
  sendJsonResponse(response, status, { ok: false, error: { code: 'refused', message } })
}
