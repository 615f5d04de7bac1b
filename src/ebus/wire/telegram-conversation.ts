/**
 * Conversation: the initiator's side of a telegram, from winning the bus until the SYN that frees it.
 *
 *   saying ──CRC echoed──▶ listening ──answer whole──▶ acknowledging ──▶ closing ──SYN──▶ over
 *     ▲                        │ NAK, once                  │ NAK, once
 *     └────────────────────────┘◀───────────────────────────┘
 *
 * The initiator sends the next symbol only after it has read back the previous one, so it notices a collision at the
 * symbol where it happens. A bus line decoder inside follows the telegram; this file decides who has to send next.
 *
 * Pure, but for the conversation it is given.
 */
import type { BrokenTelegramCause, BusLineEvent, BusLineDecoderState } from './bus-line-decoder.ts'
import { newBusLineDecoder, stepBusLineDecoder as hear } from './bus-line-decoder.ts'
import { ACK, NAK, SYN } from './symbol.ts'
import type { TelegramExchange, Telegram } from './telegram.ts'
import { encodeTelegramCommand } from './telegram.ts'

export type ConversationFault =
  /**
   * The symbol read back differs from the symbol sent, or a SYN interrupted the command: the bus did not carry the
   * whole command.
   */
  | 'collision'
  /** The target did not acknowledge. */
  | 'no-answer'
  | 'refused'
  /** The target acknowledged, or may have acknowledged, but no complete answer arrived. */
  | 'answer-lost'
  | 'answer-garbled'

export type ConversationOutcome =
  | { readonly kind: 'exchange'; readonly exchange: TelegramExchange }
  | { readonly kind: 'fault'; readonly fault: ConversationFault }

export type ConversationEffect =
  /** The caller puts this symbol on the bus now. */
  | { readonly kind: 'say'; readonly symbol: number }
  | { readonly kind: 'listen' }
  | { readonly kind: 'over'; readonly outcome: ConversationOutcome }

export interface TelegramConversation {
  readonly line: BusLineDecoderState
  readonly wire: Uint8Array
  /** Index of the command symbol whose echo is expected next. */
  at: number
  /** The symbol sent last, which must be read back. */
  awaiting: number | undefined
  /** Set once the outcome is decided and only the closing SYN remains to be sent. */
  outcome: ConversationOutcome | undefined
}

const LISTEN: ConversationEffect = { kind: 'listen' }

/** The caller begins a conversation when it has read back its own address unaltered; the first turn is ZZ. */
export function beginTelegramConversation(telegram: Telegram): {
  readonly conversation: TelegramConversation
  readonly turn: ConversationEffect
} {
  const wire = encodeTelegramCommand(telegram)
  const line = newBusLineDecoder()
  hear(line, SYN)
  hear(line, telegram.source)
  const conversation: TelegramConversation = { line, wire, at: 1, awaiting: undefined, outcome: undefined }
  return { conversation, turn: say(conversation, wire[1] ?? SYN) }
}

/** Takes one symbol from the bus, including the echoes of our own symbols. */
export function continueTelegramConversation(conversation: TelegramConversation, symbol: number): ConversationEffect {
  const { line, wire, outcome } = conversation
  // This symbol is the closing SYN or another device's symbol in its place; the outcome is decided either way.
  if (outcome !== undefined) return { kind: 'over', outcome }
  if (conversation.awaiting !== undefined && symbol !== conversation.awaiting) return over(spokenOver(conversation))
  conversation.awaiting = undefined
  const event = hear(line, symbol)
  if (event !== undefined) return finish(conversation, event, symbol)
  switch (line.phase) {
    case 'command':
      // The length is 0 here only after the target answered NAK: the repeat starts with QQ again, without a new
      // arbitration.
      conversation.at = line.commandLength === 0 && !line.escaping ? 0 : conversation.at + 1
      return say(conversation, wire[conversation.at] ?? SYN)
    case 'response-ack':
      return say(conversation, line.partGood ? ACK : NAK)
    default:
      return LISTEN
  }
}

/** Before the last symbol of a command is sent, no device can have acted on it; from that symbol on, one may have. */
function spokenOver({ line, wire, at }: TelegramConversation): ConversationFault {
  return line.phase === 'command' && at < wire.length - 1 ? 'collision' : 'answer-lost'
}

function finish(conversation: TelegramConversation, event: BusLineEvent, symbol: number): ConversationEffect {
  const outcome: ConversationOutcome =
    event.kind === 'exchange'
      ? { kind: 'exchange', exchange: event.exchange }
      : { kind: 'fault', fault: faultOf(event.reason) }
  // A SYN ended the exchange, so the bus is already free.
  if (symbol === SYN) return { kind: 'over', outcome }
  conversation.outcome = outcome
  return say(conversation, SYN)
}

function faultOf(reason: BrokenTelegramCause): ConversationFault {
  switch (reason) {
    case 'no-ack':
      return 'no-answer'
    case 'nak':
      return 'refused'
    case 'response-crc':
    case 'response-nak':
      return 'answer-garbled'
    case 'unexpected-symbol':
    case 'no-response':
    case 'cut-response':
    case 'no-final-ack':
    case 'invalid-escape':
      return 'answer-lost'
    default:
      return 'collision'
  }
}

function say(conversation: TelegramConversation, symbol: number): ConversationEffect {
  conversation.awaiting = symbol
  return { kind: 'say', symbol }
}

function over(fault: ConversationFault): ConversationEffect {
  return { kind: 'over', outcome: { kind: 'fault', fault } }
}
