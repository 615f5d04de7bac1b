/**
 * Unknown telegram grouper: collects telegrams without a definition, grouped by their constant parts: source, target,
 * request, how often, and which bytes change.
 *
 *   10 08 b5 12 | 00 ??  ▸  ??      31 times, the second byte of the question and the answer change
 *
 * Pure, but for its collection.
 */
import { toHex } from '../../core/bytes.ts'
import type { TelegramExchange } from '../wire/telegram.ts'

export interface UnknownTelegramGroup {
  readonly source: number
  readonly target: number
  readonly service: string
  readonly times: number
  /** Hex, `??` where bytes differ. */
  readonly command: string
  readonly response: string | undefined
  readonly newest: { readonly command: string; readonly response: string | undefined }
}

interface Gathered {
  readonly source: number
  readonly target: number
  readonly service: string
  times: number
  readonly command: Pattern
  readonly response: Pattern | undefined
  newest: TelegramExchange
}

type Pattern = (number | undefined)[]

/** Requests that differ in one of this many leading bytes are different requests. */
const ID_BYTES = 3
const MAX_GRABBED = 4_096

export class UnknownTelegramGrouper {
  readonly #gathered = new Map<string, Gathered>()

  add(exchange: TelegramExchange): void {
    const { source, target, primary, secondary, data } = exchange.telegram
    const service = toHex(Uint8Array.of(primary, secondary))
    const id = toHex(data.subarray(0, ID_BYTES))
    const key = [source, target, service, data.length, id, exchange.response?.length].join()
    const known = this.#gathered.get(key)
    if (known === undefined) {
      if (this.#gathered.size >= MAX_GRABBED) return
      const response = exchange.response === undefined ? undefined : [...exchange.response]
      this.#gathered.set(key, { source, target, service, times: 1, command: [...data], response, newest: exchange })
      return
    }
    known.times++
    known.newest = exchange
    narrow(known.command, data)
    if (known.response !== undefined && exchange.response !== undefined) narrow(known.response, exchange.response)
  }

  /** Most frequent first. */
  telegrams(): readonly UnknownTelegramGroup[] {
    return [...this.#gathered.values()]
      .toSorted((left, right) => right.times - left.times)
      .map(({ source, target, service, times, command, response, newest }) => ({
        source,
        target,
        service,
        times,
        command: patternText(command),
        response: response === undefined ? undefined : patternText(response),
        newest: {
          command: toHex(newest.telegram.data),
          response: newest.response === undefined ? undefined : toHex(newest.response),
        },
      }))
  }
}

function narrow(pattern: Pattern, bytes: Uint8Array): void {
  for (const [index, byte] of bytes.entries()) if (pattern[index] !== byte) pattern[index] = undefined
}

function patternText(pattern: Pattern): string {
  return pattern.map((byte) => (byte === undefined ? '??' : byte.toString(16).padStart(2, '0'))).join('')
}
