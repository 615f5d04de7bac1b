/**
 * Bus initiator: sends one telegram at a time, from requesting the bus to a reply or a fault.
 *
 *   idle ──begin──▶ wanting ──started──▶ talking ──▶ idle, with an outcome
 *                     ▲ │ failed                │ spoken over, or lost and repeatable
 *                     └─┴───────────────────────┘
 *
 * Whether a telegram is tried again depends on what the target can have received: after a lost arbitration or an
 * incomplete command always, after a lost answer only if repeating the telegram is harmless.
 *
 * Pure, but for the initiator it is given.
 */
import type { TelegramConversation, ConversationFault, ConversationEffect } from '../wire/telegram-conversation.ts'
import { beginTelegramConversation, continueTelegramConversation } from '../wire/telegram-conversation.ts'
import type { Telegram } from '../wire/telegram.ts'
import type { BusAccessEvent } from './bus-access.ts'
import type { EbusSendFault, EbusReply, SendPhase } from './ebus-connection.ts'

export interface InitiatorTransaction {
  readonly telegram: Telegram
  readonly repeatable: boolean
}

export type InitiatorEffect =
  | { readonly kind: 'want'; readonly address: number }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'say'; readonly symbol: number }
  | { readonly kind: 'reply'; readonly reply: EbusReply }
  | { readonly kind: 'fault'; readonly fault: EbusSendFault }

export interface BusInitiatorState {
  transaction: InitiatorTransaction | undefined
  conversation: TelegramConversation | undefined
  /** How many arbitrations were lost, and to which address the last one. */
  losses: number
  winner: number
  collisions: number
  retries: number
}

const MAX_COLLISIONS = 3
const MAX_RETRIES = 2

export function newBusInitiator(): BusInitiatorState {
  return { transaction: undefined, conversation: undefined, losses: 0, winner: 0, collisions: 0, retries: 0 }
}

export function readTransactionPhase({ transaction, conversation }: BusInitiatorState): SendPhase {
  if (transaction === undefined) return 'queued'
  return conversation === undefined ? 'arbitrating' : 'talking'
}

/** The fault for a caller whose deadline has passed during the telegram. */
export function createLateTransactionFault(initiator: BusInitiatorState, afterMs: number): EbusSendFault {
  const phase = readTransactionPhase(initiator)
  if (phase === 'arbitrating' && initiator.losses > 0)
    return { kind: 'arbitration-lost', winner: initiator.winner, attempts: initiator.losses }
  return { kind: 'timed-out', afterMs, phase }
}

export function beginTransaction(initiator: BusInitiatorState, transaction: InitiatorTransaction): InitiatorEffect[] {
  if (initiator.transaction !== undefined) throw new Error('the initiator is busy')
  Object.assign(initiator, newBusInitiator(), { transaction })
  return [{ kind: 'want', address: transaction.telegram.source }]
}

/** The caller has gone, or the adapter is gone. In the middle of a telegram the AUTO-SYN ends it. */
export function cancelTransaction(initiator: BusInitiatorState): InitiatorEffect[] {
  if (initiator.transaction === undefined) return []
  Object.assign(initiator, newBusInitiator())
  return [{ kind: 'cancel' }]
}

export function handleBusAccessEvent(initiator: BusInitiatorState, event: BusAccessEvent): InitiatorEffect[] {
  const { transaction, conversation } = initiator
  if (transaction === undefined) return []
  switch (event.kind) {
    case 'started': {
      const begun = beginTelegramConversation(transaction.telegram)
      initiator.conversation = begun.conversation
      return take(initiator, transaction, begun.turn)
    }
    case 'failed':
      // Tried again until the deadline: an initiator with low priority loses often, but still gets its turn.
      initiator.losses++
      initiator.winner = event.winner
      return [{ kind: 'want', address: transaction.telegram.source }]
    case 'symbol':
      return conversation === undefined
        ? []
        : take(initiator, transaction, continueTelegramConversation(conversation, event.symbol))
  }
}

function take(
  initiator: BusInitiatorState,
  transaction: InitiatorTransaction,
  turn: ConversationEffect,
): InitiatorEffect[] {
  if (turn.kind === 'listen') return []
  if (turn.kind === 'say') return [{ kind: 'say', symbol: turn.symbol }]
  initiator.conversation = undefined
  const { outcome } = turn
  if (outcome.kind === 'fault') return onConversationFault(initiator, transaction, outcome.fault)
  initiator.transaction = undefined
  const { telegram, response } = outcome.exchange
  return [{ kind: 'reply', reply: { telegram, response } }]
}

function onConversationFault(
  initiator: BusInitiatorState,
  transaction: InitiatorTransaction,
  fault: ConversationFault,
): InitiatorEffect[] {
  const again: InitiatorEffect[] = [{ kind: 'want', address: transaction.telegram.source }]
  switch (fault) {
    case 'collision':
      initiator.collisions++
      if (initiator.collisions < MAX_COLLISIONS) return again
      return end(initiator, { kind: 'collision', attempts: initiator.collisions })
    case 'refused':
      return end(initiator, { kind: 'refused' })
    default:
      if (transaction.repeatable && initiator.retries++ < MAX_RETRIES) return again
      return end(initiator, { kind: fault })
  }
}

function end(initiator: BusInitiatorState, fault: EbusSendFault): InitiatorEffect[] {
  initiator.transaction = undefined
  return [{ kind: 'fault', fault }]
}
