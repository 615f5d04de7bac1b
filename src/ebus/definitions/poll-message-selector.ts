/**
 * Poll message selector: which message is asked for next, by ebusd's priorities. A message of priority 1 is asked nine
 * times as often as one of priority 9.
 */
import type { MessageDefinition } from './message-definition.ts'

export class PollMessageSelector {
  readonly #orders = new Map<MessageDefinition, number>()
  #last = 0

  /** Returns the next message and counts it as read. */
  next(messages: Iterable<MessageDefinition>): MessageDefinition | undefined {
    let next: MessageDefinition | undefined
    let nextOrder = Number.POSITIVE_INFINITY
    for (const message of messages) {
      let order = this.#orders.get(message)
      // A new message does not come before all others.
      if (order === undefined) this.#orders.set(message, (order = this.#last + message.pollPriority))
      if (order > nextOrder || (order === nextOrder && message.pollPriority >= (next?.pollPriority ?? 0))) continue
      next = message
      nextOrder = order
    }
    if (next === undefined) return undefined
    this.#last = nextOrder
    this.#orders.set(next, nextOrder + next.pollPriority)
    return next
  }
}
