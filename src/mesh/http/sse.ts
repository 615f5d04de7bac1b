/**
 * Server-sent events: a streamed answer on HTTP (CONTRACT § 5.3). One `event:` and one `data:` line per frame, exactly
 * one terminal frame.
 *
 *   event: token\ndata: {"text":"Hel"}\n\n … event: done\ndata: {"ok":true, …}\n\n
 *
 * The proof of the answer is in a comment line before the terminal frame, which other readers ignore.
 */
import type { StreamFrame } from '../../bus/call.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import type { DeliveredAnswer } from '../transport.ts'

export type MeshStreamEvent =
  | { readonly kind: 'frame'; readonly frame: StreamFrame }
  | { readonly kind: 'end'; readonly delivered: DeliveredAnswer }

const EVENT_NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/

/** Throws on an event name that would break the line; only our own handlers choose names. */
export function encodeSseFrame({ event, data }: StreamFrame): string {
  if (!EVENT_NAME.test(event) || event === 'done' || event === 'error')
    throw new TypeError(`no frame is called ${event}`)
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

export function encodeSseEndEvent({ status, text, proof }: DeliveredAnswer): string {
  return `: ${status} ${proof}\nevent: ${status === 200 ? 'done' : 'error'}\ndata: ${text}\n\n`
}

/** Takes text as it arrives and returns complete events. The size of one event is limited. */
export class SseParser {
  readonly #maxChars: number
  #held = ''
  #endsLine = false

  constructor(maxChars: number) {
    this.#maxChars = maxChars
  }

  feed(text: string): Result<readonly MeshStreamEvent[], string> {
    const isComplete = text.includes('\n\n') || (text.startsWith('\n') && this.#endsLine)
    this.#endsLine = text === '' ? this.#endsLine : text.endsWith('\n')
    this.#held += text
    const events: MeshStreamEvent[] = []
    // Searching the whole buffer after every byte would let a slow far end waste our time.
    for (let end = isComplete ? this.#held.indexOf('\n\n') : -1; end >= 0; end = this.#held.indexOf('\n\n')) {
      const event = readEvent(this.#held.slice(0, end))
      if (!event.ok) return event
      if (event.value !== undefined) events.push(event.value)
      this.#held = this.#held.slice(end + 2)
    }
    return this.#held.length > this.#maxChars ? fail('a frame is too large') : ok(events)
  }
}

function readEvent(block: string): Result<MeshStreamEvent | undefined, string> {
  let [event, data, comment] = ['', '', '']
  for (const line of block.split('\n')) {
    if (line.startsWith('event: ')) event = line.slice(7)
    else if (line.startsWith('data: ')) data = line.slice(6)
    else if (line.startsWith(': ')) comment = line.slice(2)
  }
  if (event === '') return ok(undefined)
  if (event === 'done' || event === 'error') {
    const [status = '', proof = ''] = comment.split(' ')
    return ok({ kind: 'end', delivered: { status: Number(status) || 500, text: data, proof } })
  }
  if (!EVENT_NAME.test(event)) return fail('a frame has no name')
  try {
    return ok({ kind: 'frame', frame: { event, data: JSON.parse(data) as StreamFrame['data'] } })
  } catch {
    return fail('a frame is not JSON')
  }
}
