/**
 * Poll message selector: which message is asked for next, by ebusd's priorities. A message of priority 1 is asked nine
 * times as often as one of priority 9.
 */
import type { MessageDefinition } from './message-definition.ts'

export class PollMessageSelector {
  readonly #orders = new Map<MessageDefinition, number>()
  #last = 0

  /** The next of these, and it counts as asked. */
  next(messages: Iterable<MessageDefinition>): MessageDefinition | undefined {
    let next: MessageDefinition | undefined
    let nextOrder = Number.POSITIVE_INFINITY
    for (const message of messages) {
      let order = this.#orders.get(message)
      // One that is new does not go before all others.
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
