/**
 * ebusd mimic: the part of ebusd's text protocol that clients use to send telegrams and to watch the bus.
 *
 *   hex [-s QQ] [-n] ZZPBSB…   state   info   grab [stop|result [all]]   direct … stop   quit
 */
import { fromHex, toHex } from '../../core/bytes.ts'
import { classifyAddress, isInitiatorAddress } from '../../ebus/wire/address.ts'
import type { ConversationOutcome } from '../../ebus/wire/telegram-conversation.ts'
import type { TelegramExchange, Telegram } from '../../ebus/wire/telegram.ts'
import { encodeCommandWithoutCrc, classifyTelegramForm } from '../../ebus/wire/telegram.ts'

export type EbusdCommand =
  | { readonly kind: 'send'; readonly telegram: Omit<Telegram, 'source'> }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'grab-result' }
  | { readonly kind: 'grab'; readonly on: boolean }
  | { readonly kind: 'direct'; readonly on: boolean }
  | { readonly kind: 'quit' }

const text = (answer: string): EbusdCommand => ({ kind: 'text', text: answer })

/** Parses one line of a client. In direct mode a line is a telegram, unless it is `stop`. */
export function parseEbusdCommand(line: string, direct: boolean): EbusdCommand {
  const words = line.trim().split(/\s+/)
  const [verb = '', ...rest] = words
  if (direct) return verb.toLowerCase() === 'stop' ? { kind: 'direct', on: false } : readHex(words)
  switch (verb.toLowerCase()) {
    case 'hex':
      return readHex(rest)
    case 'direct':
      return { kind: 'direct', on: true }
    case 'grab':
      return rest[0]?.toLowerCase() === 'result' ? { kind: 'grab-result' } : { kind: 'grab', on: rest[0] !== 'stop' }
    case 'state':
      // The form of ebusd 26; clients look for `acquired`.
      return text('signal acquired, 24 symbols/sec (118 max), 4 masters')
    case 'info':
      return text(
        'version: ebusd 26.1\nsignal: acquired\nsymbol rate: 24\nmax symbol rate: 118\nmasters: 4\nmessages: 0',
      )
    case 'quit':
      return { kind: 'quit' }
    default:
      return text('ERR: command not found')
  }
}

function readHex(words: readonly string[]): EbusdCommand {
  const rest = [...words]
  // Without -n the data begins with its own length, as on the wire.
  let counted = true
  for (let flag = rest[0]; flag?.startsWith('-') === true; flag = rest[0]) {
    rest.shift()
    if (flag === '-n') counted = false
    else if (flag !== '-s' || !isInitiatorAddress(Number.parseInt(rest.shift() ?? '', 16)))
      return text('ERR: invalid numeric argument')
  }
  const digits = rest.join('')
  if (!/^([0-9a-f]{2}){3,}$/i.test(digits)) return text('ERR: invalid argument')
  const [target = 0, primary = 0, secondary = 0, ...tail] = fromHex(digits)
  const data = counted ? tail.slice(1) : tail
  if (classifyAddress(target) === 'reserved') return text('ERR: invalid address')
  if (counted && (tail[0] ?? 0) !== data.length) return text('ERR: invalid argument')
  return { kind: 'send', telegram: { target, primary, secondary, data: Uint8Array.from(data) } }
}

export function formatEbusdOutcome(outcome: ConversationOutcome, target: number): string {
  if (outcome.kind === 'fault') {
    // ebusd's own messages, by which clients decide whether to try again.
    const words = {
      collision: 'arbitration lost',
      'no-answer': 'read timeout',
      refused: 'NAK received',
      'answer-lost': 'read timeout',
      'answer-garbled': 'CRC error',
    } as const
    return `ERR: ${words[outcome.fault]}`
  }
  const { response } = outcome.exchange
  if (response !== undefined) return toHex(Uint8Array.of(response.length, ...response))
  return classifyTelegramForm(target) === 'broadcast' ? 'done broadcast' : 'done'
}

/** `QQZZPBSBNN… NN…` in direct mode, with a slash between in a grab. */
export function formatEbusdExchange({ telegram, response }: TelegramExchange, separator: string): string {
  const command = toHex(encodeCommandWithoutCrc(telegram))
  return response === undefined
    ? command
    : `${command}${separator}${toHex(Uint8Array.of(response.length, ...response))}`
}
