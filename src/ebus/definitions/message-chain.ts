/**
 * Message chain: a message whose values come in several telegrams, put together from those that were heard.
 */
import type { TelegramData } from './message-decoder.ts'
import type { MessageDefinition } from './message-definition.ts'

export interface LastMessageData extends TelegramData {
  /** Wall-clock time. */
  readonly atMs: number
  /** Whether it is from before the last start. */
  readonly isRemembered?: true
}

/** ebusd joins parts that came within this time per part. */
const CHAIN_PART_MS = 15_000

export class MessageChainAssembler {
  /** What was heard of a chain so far. */
  readonly #parts = new Map<MessageDefinition, (LastMessageData | undefined)[]>()

  /** Joins the parts of a chain when all came within the time that ebusd allows; a new part replaces the older one. */
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
    return { ...joinChainParts(message, [first, ...complete.slice(1)]), atMs: data.atMs }
  }
}

/** The parts of a chain as one: the first id, then the data of all. */
export function joinChainParts(
  { chain, id }: Pick<MessageDefinition, 'chain' | 'id'>,
  parts: readonly [TelegramData, ...TelegramData[]],
): TelegramData {
  const idLength = chain[0]?.id.length ?? id.length
  return {
    command: Uint8Array.from([
      ...parts[0].command.subarray(0, idLength),
      ...parts.flatMap(({ command }) => [...command.subarray(idLength)]),
    ]),
    response: Uint8Array.from(parts.flatMap(({ response }) => [...response])),
  }
}
