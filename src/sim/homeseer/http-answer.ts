/**
 * Answer: an HTTP answer as a value. GET answers end in CR LF, as HomeSeer's do.
 */
import type { Json } from '../../core/json.ts'

export interface SimulatedAnswer {
  readonly status: number
  readonly body: string | Uint8Array
  /** Where the kind of body decides it, whatever the fault switch says. */
  readonly contentType?: string
}

export function createSimulatedJsonAnswer(value: Json): SimulatedAnswer {
  return { status: 200, body: `${JSON.stringify(value)}\r\n` }
}

/** JSON that is text already, because its numbers have a form of their own. */
export function createRawJsonAnswer(json: string): SimulatedAnswer {
  return { status: 200, body: `${json}\r\n` }
}

/** HomeSeer answers control with a bare word, not with JSON. */
export function createPlainTextAnswer(word: 'ok' | 'error'): SimulatedAnswer {
  return { status: 200, body: `${word}\r\n` }
}

/** Its form for short texts, errors among them: the status is 200 either way. */
export function createResponseTextAnswer(text: string): SimulatedAnswer {
  return createSimulatedJsonAnswer({ Response: text })
}

/** The one text HomeSeer has for unknown requests and for bad parameters. */
export const BAD_REQUEST_ANSWER = createResponseTextAnswer('Error, bad request')

export function createOkOrBadRequestAnswer(done: boolean): SimulatedAnswer {
  return done ? createResponseTextAnswer('ok') : BAD_REQUEST_ANSWER
}

export function createPageAnswer(status: number, text: string): SimulatedAnswer {
  return { status, body: `<html><body>${text}</body></html>`, contentType: 'text/html' }
}
