/**
 * Message chain: a message whose values come in several telegrams, put together from those that were heard.
 */
import type { TelegramData } from './message-decoder.ts'
import type { MessageDefinition } from './message-definition.ts'

export interface LastMessageData extends TelegramData {
  /** Wall clock. */
  readonly atMs: number
  /** From before the last start. */
  readonly isRemembered?: true
}

/** ebusd joins parts that came within so long for each of them. */
const CHAIN_PART_MS = 15_000

export class MessageChains {
  /** What was heard of a chain so far. */
  readonly #parts = new Map<MessageDefinition, (LastMessageData | undefined)[]>()

  /** Parts of a chain belong together when all came within the time that ebusd allows; a new one replaces the older. */
  join(message: MessageDefinition, data: LastMessageData): LastMessageData | undefined {
    const at = message.chain.findIndex(({ id }) => id.every((byte, index) => data.command[index] === byte))
    if (at < 0) return undefined
    const parts = this.#parts.get(message) ?? message.chain.map(() => undefined)
    parts[at] = data
    this.#parts.set(message, parts)
    const maxAgeMs = parts.length * CHAIN_PART_MS
    const complete = parts
      .filter((part) => part !== undefined)
      .filter(({ atMs }) => Math.abs(data.atMs - atMs) <= maxAgeMs)
    const [first] = complete
    if (first === undefined || complete.length < parts.length) return undefined
    const idLength = message.chain[0]?.id.length ?? 0
    return {
      command: Uint8Array.from([
        ...first.command.subarray(0, idLength),
        ...complete.flatMap(({ command }) => [...command.subarray(idLength)]),
      ]),
      response: Uint8Array.from(complete.flatMap(({ response }) => [...response])),
      atMs: data.atMs,
    }
  }
}
