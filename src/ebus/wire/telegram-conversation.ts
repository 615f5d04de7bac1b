/**
 * Conversation: an initiator's side of a telegram, from the moment it has won the bus until the SYN that gives it back.
 *
 *   saying ──CRC echoed──▶ listening ──answer whole──▶ acknowledging ──▶ closing ──SYN──▶ over
 *     ▲                        │ NAK, once                  │ NAK, once
 *     └────────────────────────┘◀───────────────────────────┘
 *
 * In lockstep: a symbol is only followed by the next one after it was heard back, so a collision is noticed at the
 * symbol where it happens. A second line inside follows the telegram; this file decides who has to speak next.
 *
 * Pure, but for the conversation it is given.
 */
import type { BrokenTelegramCause, BusLineEvent, BusLineDecoderState } from './bus-line.ts'
import { newBusLineDecoder, stepBusLineDecoder as hear } from './bus-line.ts'
import { ACK, NAK, SYN } from './symbol.ts'
import type { TelegramExchange, Telegram } from './telegram.ts'
import { encodeTelegramCommand } from './telegram.ts'

export type ConversationFault =
  /** What came back is not what was sent, or a SYN cut in: the command is not on the bus as a whole. */
  | 'collision'
  /** Nobody acknowledged. */
  | 'no-answer'
  | 'refused'
  /** Acknowledged, or perhaps acknowledged, but without a whole answer. */
  | 'answer-lost'
  | 'answer-garbled'

export type ConversationOutcome =
  | { readonly kind: 'exchange'; readonly exchange: TelegramExchange }
  | { readonly kind: 'fault'; readonly fault: ConversationFault }

export type ConversationAction =
  /** Put this symbol on the bus now. */
  | { readonly kind: 'say'; readonly symbol: number }
  | { readonly kind: 'listen' }
  | { readonly kind: 'over'; readonly outcome: ConversationOutcome }

export interface TelegramConversation {
  readonly line: BusLineDecoderState
  readonly wire: Uint8Array
  /** Index of the command symbol whose echo is due. */
  at: number
  /** Whatever was said last and must come back. */
  awaiting: number | undefined
  /** Set once everything is decided and only the closing SYN is left. */
  outcome: ConversationOutcome | undefined
}

const LISTEN: ConversationAction = { kind: 'listen' }

/** Call when the own address has just stood on the bus unaltered; the first turn is ZZ. */
export function beginTelegramConversation(telegram: Telegram): {
  readonly conversation: TelegramConversation
  readonly turn: ConversationAction
} {
  const wire = encodeTelegramCommand(telegram)
  const line = newBusLineDecoder()
  hear(line, SYN)
  hear(line, telegram.source)
  const conversation: TelegramConversation = { line, wire, at: 1, awaiting: undefined, outcome: undefined }
  return { conversation, turn: say(conversation, wire[1] ?? SYN) }
}

/** One symbol from the bus, our own echoes among them. */
export function continueTelegramConversation(conversation: TelegramConversation, symbol: number): ConversationAction {
  const { line, wire, outcome } = conversation
  // The closing SYN, or whatever somebody put there: the matter is decided either way.
  if (outcome !== undefined) return { kind: 'over', outcome }
  if (conversation.awaiting !== undefined && symbol !== conversation.awaiting) return over(spokenOver(conversation))
  conversation.awaiting = undefined
  const heard = hear(line, symbol)
  if (heard !== undefined) return finish(conversation, heard, symbol)
  switch (line.phase) {
    case 'command':
      // Length 0 only after a refusal: the repeat starts with QQ again, without a new arbitration.
      conversation.at = line.commandLength === 0 && !line.escaping ? 0 : conversation.at + 1
      return say(conversation, wire[conversation.at] ?? SYN)
    case 'response-ack':
      return say(conversation, line.partGood ? ACK : NAK)
    default:
      return LISTEN
  }
}

/** Up to its last symbol nobody can have acted on a command; from there on somebody may have. */
function spokenOver({ line, wire, at }: TelegramConversation): ConversationFault {
  return line.phase === 'command' && at < wire.length - 1 ? 'collision' : 'answer-lost'
}

function finish(conversation: TelegramConversation, heard: BusLineEvent, symbol: number): ConversationAction {
  const outcome: ConversationOutcome =
    heard.kind === 'exchange'
      ? { kind: 'exchange', exchange: heard.exchange }
      : { kind: 'fault', fault: faultOf(heard.reason) }
  // Ended by a SYN: the bus is already free.
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

function say(conversation: TelegramConversation, symbol: number): ConversationAction {
  conversation.awaiting = symbol
  return { kind: 'say', symbol }
}

function over(fault: ConversationFault): ConversationAction {
  return { kind: 'over', outcome: { kind: 'fault', fault } }
}
