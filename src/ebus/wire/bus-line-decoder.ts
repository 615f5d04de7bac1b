/**
 * Bus line decoder: decodes the symbols on the wire one by one into exchanges.
 *
 *   deaf ──SYN──▶ idle ──QQ──▶ command ──CRC──▶ command-ack ──ACK──▶ response ──CRC──▶ response-ack ──ACK──▶ closing
 *                  ▲               ▲                │ NAK, once          ▲                   │ NAK, once         │
 *                  │               └────────────────┘                    └───────────────────┘                   │
 *                  └───────────────────────── SYN, from anywhere ────────────────────────────────────────────────┘
 *
 * Escapes are undone inside, symbol by symbol, so an escaped data byte AA is never taken for a SYN. A command with a
 * wrong CRC is not dropped at once: its target may refuse it, and then its repetition counts.
 *
 * A line changes in place and `step` allocates only when it has something to say: a replayed day is twenty million
 * symbols. It has no clock and no I/O; equal inputs give equal outputs.
 */
import { classifyAddress, isInitiatorAddress } from './address.ts'
import { addEscapedByteToCrc, addByteToCrc } from './crc.ts'
import { ACK, BROADCAST_ADDRESS, ESC, NAK, SYN, unescapePair } from './symbol.ts'
import type { TelegramExchange } from './telegram.ts'
import { MAX_TELEGRAM_DATA_BYTES } from './telegram.ts'

/** Fed instead of a symbol when the stream has a gap: no signal, a lost connection, a restarted adapter. */
export const STREAM_GAP_SYMBOL = -1

export type BrokenTelegramCause =
  /** Only an address between two SYN: an arbitration without a winner, or a winner that sent nothing. */
  | 'arbitration'
  | 'invalid-source'
  | 'invalid-target'
  | 'invalid-escape'
  /** SYN before the command's CRC. */
  | 'cut-command'
  | 'command-crc'
  /** SYN where the target's acknowledgement was due. */
  | 'no-ack'
  /** The target refused the command, and its repetition if there was one. */
  | 'nak'
  /** Neither ACK nor NAK where one was due, or a repetition that differs. */
  | 'unexpected-symbol'
  | 'no-response'
  | 'cut-response'
  | 'response-crc'
  | 'no-final-ack'
  | 'response-nak'
  | 'silence'

export type BusLineEvent =
  | { readonly kind: 'exchange'; readonly exchange: TelegramExchange }
  | {
      readonly kind: 'broken'
      readonly reason: BrokenTelegramCause
      /** The logical bytes so far: QQ ZZ PB SB NN DD… CRC, and NN DD… CRC; both may be incomplete. */
      readonly command: Uint8Array
      readonly response: Uint8Array
    }

type LinePhase = 'deaf' | 'idle' | 'command' | 'command-ack' | 'response' | 'response-ack' | 'closing'

export interface BusLineDecoderState {
  phase: LinePhase
  escaping: boolean
  /** Of the part that is being collected, without the CRC byte. */
  crc: number
  /** How many bytes are left before the next one that decides something: PB and SB before NN, data before the CRC. */
  plainLeft: number
  partGood: boolean
  readonly command: Uint8Array
  commandLength: number
  /** The source of the refused first attempt while its repetition is awaited, so that a refusal can still name it. */
  refusedLength: number
  commandRepeats: number
  readonly response: Uint8Array
  responseLength: number
  responseRepeats: number
  /** All symbols since the beginning, including SYN and unusable ones before the first SYN. */
  symbols: number
  syns: number
  noise: number
}

/** The index of NN. */
const COMMAND_COUNT_AT = 4
const RESPONSE_COUNT_AT = 0

export function newBusLineDecoder(): BusLineDecoderState {
  return {
    phase: 'deaf',
    escaping: false,
    crc: 0,
    plainLeft: 0,
    partGood: false,
    command: new Uint8Array(COMMAND_COUNT_AT + 1 + MAX_TELEGRAM_DATA_BYTES + 1),
    commandLength: 0,
    refusedLength: 0,
    commandRepeats: 0,
    response: new Uint8Array(RESPONSE_COUNT_AT + 1 + MAX_TELEGRAM_DATA_BYTES + 1),
    responseLength: 0,
    responseRepeats: 0,
    symbols: 0,
    syns: 0,
    noise: 0,
  }
}

export function stepBusLineDecoder(line: BusLineDecoderState, symbol: number): BusLineEvent | undefined {
  // Most symbols are in the middle of a part and need no decision, so they take a fast path.
  if (line.plainLeft > 0 && !line.escaping && symbol !== ESC && symbol !== SYN && symbol !== STREAM_GAP_SYMBOL) {
    line.symbols++
    line.plainLeft--
    line.crc = addByteToCrc(line.crc, symbol)
    if (line.phase === 'command') line.command[line.commandLength++] = symbol
    else line.response[line.responseLength++] = symbol
    return undefined
  }
  if (symbol === STREAM_GAP_SYMBOL) return endAt(line, 'deaf', 'silence')
  line.symbols++
  if (symbol === SYN) {
    line.syns++
    if (line.phase !== 'idle' && line.phase !== 'closing') return endAt(line, 'idle', undefined)
    line.phase = 'idle'
    return undefined
  }
  switch (line.phase) {
    case 'command':
    case 'response':
      return onPart(line, symbol)
    case 'idle':
      beginCommand(line)
      return onPart(line, symbol)
    case 'command-ack':
      return onCommandAck(line, symbol)
    case 'response-ack':
      return onResponseAck(line, symbol)
    case 'deaf':
      line.noise++
      return undefined
    default:
      // A symbol after the last acknowledgement belongs to nothing.
      line.noise++
      line.phase = 'deaf'
      return undefined
  }
}

function beginCommand(line: BusLineDecoderState): void {
  line.phase = 'command'
  line.escaping = false
  line.crc = 0
  line.plainLeft = 0
  line.commandLength = 0
  line.refusedLength = 0
  line.commandRepeats = 0
  line.responseLength = 0
  line.responseRepeats = 0
}

/** A symbol of a command or a response: half of an escape, or a byte. */
function onPart(line: BusLineDecoderState, symbol: number): BusLineEvent | undefined {
  if (!line.escaping && symbol === ESC) {
    line.escaping = true
    return undefined
  }
  const value = line.escaping ? unescapePair(symbol) : symbol
  line.escaping = false
  if (value === undefined) return endAt(line, 'deaf', 'invalid-escape')
  return line.phase === 'command' ? onCommand(line, value) : onResponse(line, value)
}

function onCommand(line: BusLineDecoderState, value: number): BusLineEvent | undefined {
  const at = line.commandLength
  // A repetition begins with the same QQ, without a new arbitration.
  if (at === 0 && line.commandRepeats > 0 && value !== line.command[0]) return endAt(line, 'deaf', 'unexpected-symbol')
  line.command[at] = value
  line.commandLength = at + 1
  if (at === 0 && !isInitiatorAddress(value)) return endAt(line, 'deaf', 'invalid-source')
  if (at === 1 && classifyAddress(value) === 'reserved') return endAt(line, 'deaf', 'invalid-target')
  if (at <= COMMAND_COUNT_AT || line.plainLeft > 0) {
    line.crc = addEscapedByteToCrc(line.crc, value)
    if (at === COMMAND_COUNT_AT) line.plainLeft = value
    else if (line.plainLeft > 0) line.plainLeft--
    else if (at === 1) line.plainLeft = COMMAND_COUNT_AT - 2
    return undefined
  }
  line.partGood = value === line.crc
  if (byteAt(line.command, 1) === BROADCAST_ADDRESS) return closeExchange(line)
  line.phase = 'command-ack'
  return undefined
}

function onCommandAck(line: BusLineDecoderState, symbol: number): BusLineEvent | undefined {
  if (symbol === NAK) {
    if (line.commandRepeats > 0) return endAt(line, 'deaf', 'nak')
    line.commandRepeats = 1
    line.refusedLength = line.commandLength
    line.commandLength = 0
    line.crc = 0
    line.phase = 'command'
    return undefined
  }
  if (symbol !== ACK) return endAt(line, 'deaf', 'unexpected-symbol')
  // The target accepted it, but it is garbled here, so its content is unknown.
  if (!line.partGood) return endAt(line, 'deaf', 'command-crc')
  if (isInitiatorAddress(byteAt(line.command, 1))) return closeExchange(line)
  line.phase = 'response'
  line.crc = 0
  return undefined
}

function onResponse(line: BusLineDecoderState, value: number): BusLineEvent | undefined {
  const at = line.responseLength
  line.response[at] = value
  line.responseLength = at + 1
  if (at === RESPONSE_COUNT_AT || line.plainLeft > 0) {
    line.crc = addEscapedByteToCrc(line.crc, value)
    if (at === RESPONSE_COUNT_AT) line.plainLeft = value
    else line.plainLeft--
    return undefined
  }
  line.partGood = value === line.crc
  line.phase = 'response-ack'
  return undefined
}

function onResponseAck(line: BusLineDecoderState, symbol: number): BusLineEvent | undefined {
  if (symbol === NAK) {
    if (line.responseRepeats > 0) return endAt(line, 'deaf', 'response-nak')
    line.responseRepeats = 1
    line.responseLength = 0
    line.crc = 0
    line.phase = 'response'
    return undefined
  }
  if (symbol !== ACK) return endAt(line, 'deaf', 'unexpected-symbol')
  return closeExchange(line)
}

/** The last symbol of a telegram has arrived. */
function closeExchange(line: BusLineDecoderState): BusLineEvent {
  const answered = line.phase === 'response-ack'
  if (!line.partGood) return broken(line, 'deaf', answered ? 'response-crc' : 'command-crc')
  line.phase = 'closing'
  return {
    kind: 'exchange',
    exchange: {
      telegram: {
        source: byteAt(line.command, 0),
        target: byteAt(line.command, 1),
        primary: byteAt(line.command, 2),
        secondary: byteAt(line.command, 3),
        data: copied(line.command, COMMAND_COUNT_AT + 1, line.commandLength - 1),
      },
      response: answered ? copied(line.response, RESPONSE_COUNT_AT + 1, line.responseLength - 1) : undefined,
      commandRepeats: line.commandRepeats,
      responseRepeats: line.responseRepeats,
    },
  }
}

/** Goes to `next`, and reports a telegram that was cut off. Without a reason, a SYN did it. */
function endAt(
  line: BusLineDecoderState,
  next: 'deaf' | 'idle',
  reason: BrokenTelegramCause | undefined,
): BusLineEvent | undefined {
  const underWay = line.phase !== 'deaf' && line.phase !== 'idle' && line.phase !== 'closing'
  if (underWay) return broken(line, next, reason ?? cutBySyn(line))
  line.phase = next
  return undefined
}

function cutBySyn(line: BusLineDecoderState): BrokenTelegramCause {
  switch (line.phase) {
    case 'command':
      if (line.commandRepeats > 0) return line.commandLength === 0 ? 'nak' : 'cut-command'
      return line.commandLength === 1 && !line.escaping ? 'arbitration' : 'cut-command'
    case 'command-ack':
      return line.partGood ? 'no-ack' : 'command-crc'
    case 'response':
      if (line.responseLength > 0 || line.escaping) return 'cut-response'
      return line.responseRepeats > 0 ? 'response-nak' : 'no-response'
    case 'response-ack':
      return line.partGood ? 'no-final-ack' : 'response-crc'
    default:
      throw new Error(`nothing can be cut off in phase ${line.phase}`)
  }
}

function broken(line: BusLineDecoderState, next: 'deaf' | 'idle', reason: BrokenTelegramCause): BusLineEvent {
  line.phase = next
  line.escaping = false
  line.plainLeft = 0
  return {
    kind: 'broken',
    reason,
    command: line.command.slice(0, Math.max(line.commandLength, line.refusedLength)),
    response: line.response.slice(0, line.responseLength),
  }
}

/** A loop copies a dozen bytes faster than a library function. */
function copied(bytes: Uint8Array, from: number, to: number): Uint8Array {
  const copy = new Uint8Array(to - from)
  for (let at = from; at < to; at++) copy[at - from] = byteAt(bytes, at)
  return copy
}

/** Always in range, because both buffers hold the longest possible part. */
function byteAt(bytes: Uint8Array, index: number): number {
  return bytes[index] ?? 0
}
