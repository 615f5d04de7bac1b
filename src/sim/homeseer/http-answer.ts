/**
 * Answer: an HTTP answer as a value. GET answers end in CR LF, as HomeSeer's do.
 */
import type { Json } from '../../core/json.ts'

export interface SimulatedHttpAnswer {
  readonly status: number
  readonly body: string | Uint8Array
  /** Set if the kind of body determines it, whatever the fault switch says. */
  readonly contentType?: string
}

export function createSimulatedJsonAnswer(value: Json): SimulatedHttpAnswer {
  return { status: 200, body: `${JSON.stringify(value)}\r\n` }
}

/** JSON that is already text, because its numbers have a special form. */
export function createRawJsonAnswer(json: string): SimulatedHttpAnswer {
  return { status: 200, body: `${json}\r\n` }
}

/** HomeSeer answers a control with a plain word, not with JSON. */
export function createOkOrErrorAnswer(word: 'ok' | 'error'): SimulatedHttpAnswer {
  return { status: 200, body: `${word}\r\n` }
}

/** HomeSeer's form for short texts, including errors; the status is always 200. */
export function createResponseTextAnswer(text: string): SimulatedHttpAnswer {
  return createSimulatedJsonAnswer({ Response: text })
}

/** HomeSeer's text for unknown requests and for invalid parameters. */
export const BAD_REQUEST_ANSWER = createResponseTextAnswer('Error, bad request')

export function createOkOrBadRequestAnswer(done: boolean): SimulatedHttpAnswer {
  return done ? createResponseTextAnswer('ok') : BAD_REQUEST_ANSWER
}

export function createPageAnswer(status: number, text: string): SimulatedHttpAnswer {
  return { status, body: `<html><body>${text}</body></html>`, contentType: 'text/html' }
}
