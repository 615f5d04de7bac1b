/**
 * Exchange codec: encodes and decodes a whole telegram with its acknowledgements, that is the bytes between two SYN in
 * a trace.
 */
import type { Result } from '../src/core/result.ts'
import { fail, ok } from '../src/core/result.ts'
import type { BrokenTelegramCause } from '../src/ebus/wire/bus-line-decoder.ts'
import { newBusLineDecoder, stepBusLineDecoder } from '../src/ebus/wire/bus-line-decoder.ts'
import { ACK, SYN } from '../src/ebus/wire/symbol.ts'
import type { TelegramExchange, Telegram } from '../src/ebus/wire/telegram.ts'
import { encodeTelegramCommand, encodeTelegramResponse, classifyTelegramForm } from '../src/ebus/wire/telegram.ts'

export type ExchangeFault =
  | { readonly kind: 'broken'; readonly reason: BrokenTelegramCause }
  | { readonly kind: 'not-one' }

/** Returns the bytes of an exchange in which every part succeeds at the first attempt. */
export function encodeExchange(telegram: Telegram, response: Uint8Array | undefined): Uint8Array {
  const form = classifyTelegramForm(telegram.target)
  if ((form === 'initiator-target') !== (response !== undefined)) throw new RangeError(`${form} with a wrong response`)
  const command = encodeTelegramCommand(telegram)
  if (form === 'broadcast') return command
  if (response === undefined) return Uint8Array.from([...command, ACK])
  return Uint8Array.from([...command, ACK, ...encodeTelegramResponse(response), ACK])
}

/** Decodes exactly one exchange from `wire`, including repeated parts. */
export function decodeExchange(wire: Uint8Array): Result<TelegramExchange, ExchangeFault> {
  const line = newBusLineDecoder()
  const heard = [SYN, ...wire, SYN]
    .map((symbol) => stepBusLineDecoder(line, symbol))
    .filter((event) => event !== undefined)
  const [first] = heard
  if (first === undefined || heard.length > 1 || line.noise > 0) return fail({ kind: 'not-one' })
  return first.kind === 'exchange' ? ok(first.exchange) : fail({ kind: 'broken', reason: first.reason })
}
