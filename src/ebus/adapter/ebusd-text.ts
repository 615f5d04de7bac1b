/**
 * ebusd text: the lines of ebusd's own TCP port that carry telegrams.
 *
 *   hex [-s QQ] ZZPBSBNN…     ▸ NN…  |  done  |  done broadcast  |  ERR: why
 *   direct                    ▸ QQZZPBSBNN… NN…        every telegram, as it passes
 *   grab result all           ▸ QQZZPBSBNN… / NN… = COUNT
 */
import { fromHex, toHex } from '../../core/bytes.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { isInitiatorAddress } from '../wire/address.ts'
import type { TelegramExchange, Telegram } from '../wire/telegram.ts'
import { MAX_TELEGRAM_DATA_BYTES, classifyTelegramForm } from '../wire/telegram.ts'
import type { EbusSendFault, EbusRequest } from './ebus-connection.ts'

export function formatHexCommand(
  { target, primary, secondary, data }: EbusRequest,
  source: number | undefined,
): string {
  if (data.length > MAX_TELEGRAM_DATA_BYTES)
    throw new RangeError(`telegram data of ${data.length} bytes, ${MAX_TELEGRAM_DATA_BYTES} allowed`)
  const from = source === undefined ? '' : `-s ${toHex(Uint8Array.of(source))} `
  return `hex ${from}${toHex(Uint8Array.of(target, primary, secondary, data.length, ...data))}`
}

/**
 * Takes all lines of one answer. A hex line counts even after an error: ebusd reports the failed attempt first and then
 * succeeds.
 */
export function parseHexAnswer(
  lines: readonly string[],
  { target, repeatable }: { readonly target: number; readonly repeatable: boolean },
): Result<Uint8Array | undefined, EbusSendFault> {
  const answered = classifyTelegramForm(target) === 'initiator-target'
  for (const line of lines) {
    const response = answered ? counted(line) : undefined
    if (response !== undefined) return ok(response)
    if (!answered && line.startsWith('done')) return ok(undefined)
  }
  const message = lines.find((line) => line.startsWith('ERR')) ?? lines[0] ?? 'no answer'
  return fail(faultOf(message, repeatable))
}

/** B524 02 and 06 with 00 read a register, and the answer repeats group and number after a byte of flags. */
const REGISTER_READS: ReadonlySet<number> = new Set([0x02, 0x06])

/**
 * Whether an answer belongs to another request. An ebusd that gets too little processor time takes the answer to the
 * next telegram on the bus for that to its own (seen with 26.1); this is visible if an answer repeats its request.
 */
export function isAnswerToOtherRequest({ primary, secondary, data }: EbusRequest, response: Uint8Array): boolean {
  const [opcode = 0, verb, group, , low, high] = data
  if (primary !== 0xb5 || secondary !== 0x24 || !REGISTER_READS.has(opcode) || verb !== 0x00) return false
  return response.length >= 4 && (response[1] !== group || response[2] !== low || response[3] !== high)
}

/**
 * ebusd reports `read timeout` both without an acknowledgement and without an answer, and `no signal` both before and
 * during a telegram. For a telegram that must not be repeated the worse case is assumed: it may have been carried out.
 */
function faultOf(message: string, repeatable: boolean): EbusSendFault {
  // Refused without being processed: ebusd was started without --enablehex, which is its default.
  if (message.startsWith('ERR: command not enabled')) return { kind: 'no-source', state: 'forbidden' }
  if (message.startsWith('ERR: no signal')) return { kind: 'no-signal', phase: repeatable ? 'queued' : 'talking' }
  if (message.startsWith('ERR: read timeout') && repeatable) return { kind: 'no-answer' }
  if (message.startsWith('ERR: NAK received')) return { kind: 'refused' }
  if (message.startsWith('ERR: CRC error')) return { kind: 'answer-garbled' }
  return { kind: 'ebusd', message }
}

/** A telegram seen in direct mode. Answers to our own sends contain a colon and are skipped. */
export function parseDirectLine(line: string): TelegramExchange | undefined {
  const [command = '', response, ...more] = line.trim().split(/\s+/)
  return more.length > 0 ? undefined : exchangeOf(command, response)
}

/** One line of a grab, with the number of times the telegram was seen. */
export function parseGrabLine(
  line: string,
): { readonly exchange: TelegramExchange; readonly count: number } | undefined {
  const groups = /^(?<command>[0-9a-f]+)(?: \/ (?<response>[0-9a-f]+))? = (?<count>\d+)/i.exec(line.trim())?.groups
  const exchange = groups === undefined ? undefined : exchangeOf(groups['command'] ?? '', groups['response'])
  return exchange === undefined ? undefined : { exchange, count: Number(groups?.['count']) }
}

/** `signal acquired, 23 symbols/sec (78 max), 2 masters` */
export function isEbusdSignalAcquired(lines: readonly string[]): boolean {
  return lines.some((line) => line.startsWith('signal acquired'))
}

function exchangeOf(commandText: string, responseText: string | undefined): TelegramExchange | undefined {
  const command = bytesOf(commandText)
  if (command === undefined || command.length < 5) return undefined
  const [source = 0, target = 0, primary = 0, secondary = 0, count = 0] = command
  if (!isInitiatorAddress(source) || command.length !== 5 + count) return undefined
  const telegram: Telegram = { source, target, primary, secondary, data: command.subarray(5) }
  const answered = classifyTelegramForm(target) === 'initiator-target'
  const response = responseText === undefined ? undefined : counted(responseText)
  if (answered !== (response !== undefined)) return undefined
  return { telegram, response, commandRepeats: 0, responseRepeats: 0 }
}

/** The data after a count byte, if the count is right. */
function counted(text: string): Uint8Array | undefined {
  const bytes = bytesOf(text)
  return bytes !== undefined && bytes.length > 0 && bytes[0] === bytes.length - 1 ? bytes.subarray(1) : undefined
}

function bytesOf(text: string): Uint8Array | undefined {
  return /^([0-9a-f]{2})+$/i.test(text) ? fromHex(text) : undefined
}
