/**
 * Stream: server-sent events read with `fetch`, because an EventSource cannot show the key of the session.
 *
 *   connecting ──200──▶ live ──end, error, silence──▶ lost ──1, 2, 4 … 15 s, then 200──▶ live, from the last event on
 *
 * Lost it is until it is live again: an attempt at a gateway that hangs takes longer than the pauses between them.
 */
import type { ConsoleStreamEvents } from '../../../src/web/views.ts'
import { keyHeaders } from './api.ts'
import { frameParser } from './frame.ts'
import type { EventFrame } from './frame.ts'
import { QUIET } from './presence.ts'

export type Connection = 'connecting' | 'live' | 'lost' | 'signed-out'

export interface StreamListener {
  readonly onEvent: <Name extends keyof ConsoleStreamEvents>(name: Name, data: ConsoleStreamEvents[Name]) => void
  readonly onConnection: (connection: Connection) => void
  /** Something came, if only a sign of life. */
  readonly onHeard: () => void
}

const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 15_000
/** The gateway says something at least every five seconds. */
const SILENCE_MS = 16_000

/** Until the answer is called. */
export function openStream(listener: StreamListener): () => void {
  const ended = new AbortController()
  let lastId: string | undefined
  let pauseMs = FIRST_PAUSE_MS

  const run = async (): Promise<void> => {
    listener.onConnection('connecting')
    while (!ended.signal.aborted) {
      const verdict = await once()
      if (ended.signal.aborted) return
      if (verdict === 'refused') return listener.onConnection('signed-out')
      if (verdict === 'heard') pauseMs = FIRST_PAUSE_MS
      listener.onConnection('lost')
      await pause(pauseMs, ended.signal)
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
    }
  }

  const once = async (): Promise<'refused' | 'heard' | 'silent'> => {
    const attempt = new AbortController()
    const stop = (): void => attempt.abort()
    ended.signal.addEventListener('abort', stop, { once: true })
    let watchdog = setTimeout(stop, SILENCE_MS)
    let heard: 'heard' | 'silent' = 'silent'
    try {
      const response = await fetch('/api/events', {
        headers: {
          ...keyHeaders(),
          ...QUIET,
          accept: 'text/event-stream',
          ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
        },
        credentials: 'same-origin',
        cache: 'no-store',
        signal: attempt.signal,
      })
      if (response.status === 401 || response.status === 403) return 'refused'
      if (!response.ok || response.body === null) return 'silent'
      listener.onConnection('live')
      const parse = frameParser((frame) => {
        if (frame.id !== '') lastId = frame.id
        heard = 'heard'
        deliver(frame, listener)
      })
      const decoder = new TextDecoder()
      // With a reader: most Safaris, and so all of an iPhone's browsers, cannot iterate over a stream.
      const reader = response.body.getReader()
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
        clearTimeout(watchdog)
        watchdog = setTimeout(stop, SILENCE_MS)
        listener.onHeard()
        parse(decoder.decode(piece.value, { stream: true }))
      }
      return heard
    } catch {
      return heard
    } finally {
      clearTimeout(watchdog)
      ended.signal.removeEventListener('abort', stop)
    }
  }

  void run()
  return () => ended.abort()
}

function deliver({ event, data }: EventFrame, listener: StreamListener): void {
  listener.onEvent(event as keyof ConsoleStreamEvents, JSON.parse(data) as never)
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        resolve()
      },
      { once: true },
    )
  })
}
