/**
 * Observation: the record of one telegram on the wire, complete or broken off.
 *
 *   exchange ─▶ success                       broken ─▶ abandoned_partial, with the contract's word for why
 */
import { toHex } from '../../core/bytes.ts'
import { toCompanionTarget } from '../wire/address.ts'
import { BROADCAST_ADDRESS, SYMBOL_DURATION_MS } from '../wire/symbol.ts'
import { classifyTelegramForm } from '../wire/telegram.ts'
import type { TelegramExchange } from '../wire/telegram.ts'
import type { EbusEvent } from '../adapter/ebus-connection.ts'

/** `active`: sent by this gateway; `passive`: sent by others. */
export type TrafficScope = 'active' | 'passive'

export const VAILLANT_COMMAND_FAMILIES = ['B509', 'B516', 'B524', 'B555', 'other'] as const
export type CommandFamily = (typeof VAILLANT_COMMAND_FAMILIES)[number]

export const FRAME_TYPES = [
  'broadcast',
  'initiator_initiator',
  'initiator_target',
  'local_participant_inbound',
  'abandoned_partial',
] as const
export type FrameType = (typeof FRAME_TYPES)[number]

export const TRAFFIC_OUTCOMES = [
  'success',
  // Outcomes of our own telegrams.
  'timeout',
  'nack',
  'crc_mismatch',
  'echo_mismatch',
  // Outcomes of telegrams of others.
  'corrupted_request',
  'corrupted_target',
  'no_response',
  'no_progress',
  'unexpected_syn',
  'unexpected_symbol',
  'transport_reset',
  'decode_fault',
  'disconnected',
  'scan_timeout',
  'scan_collision',
  'arbitration_fragment',
] as const
export type TrafficOutcome = (typeof TRAFFIC_OUTCOMES)[number]

export interface BusObservation {
  readonly scope: TrafficScope
  readonly family: CommandFamily
  readonly frameType: FrameType
  readonly outcome: TrafficOutcome
  /** The wall-clock time of the last symbol. */
  readonly atMs: number
  /** For a fragment, only as far as it was heard. */
  readonly source: number | undefined
  readonly target: number | undefined
  readonly primary: number | undefined
  readonly secondary: number | undefined
  /** QQ ZZ PB SB NN DD… CRC and NN DD… CRC, logical bytes; no response has no bytes. */
  readonly requestLength: number
  readonly responseLength: number
  /** How long the line was used, from the number of symbols, including acknowledgements and the closing SYN. */
  readonly wireMs: number
  /** The telegram, or the parts of one that broke off. */
  readonly content: TelegramExchange | Pieces
}

/** Logical bytes, each part as far as it was heard. */
interface Pieces {
  readonly command: Uint8Array
  readonly response: Uint8Array
}

/** The telegram in hex: QQ ZZ PB SB NN DD… and NN DD…, without checksums if it is complete. */
export function toObservationHex({ content }: BusObservation): {
  readonly request: string
  readonly response: string | undefined
} {
  if ('command' in content)
    return {
      request: toHex(content.command),
      response: content.response.length === 0 ? undefined : toHex(content.response),
    }
  const { telegram, response } = content
  const { source, target, primary, secondary, data } = telegram
  return {
    request: toHex(Uint8Array.of(source, target, primary, secondary, data.length)) + toHex(data),
    response: response === undefined ? undefined : toHex(Uint8Array.of(response.length)) + toHex(response),
  }
}

export type TelegramExchangeEvent = Extract<EbusEvent, { readonly kind: 'exchange' }>
export type BrokenTelegramEvent = Extract<EbusEvent, { readonly kind: 'broken' }>

/** What cut a telegram off without a trace on the wire. */
export type TelegramCutOffCause = 'transport_reset' | 'decode_fault' | 'disconnected' | 'no_progress'

const REQUEST_FRAME = 6
const RESPONSE_FRAME = 2

export function toExchangeObservation(event: TelegramExchangeEvent, ourAddress: number | undefined): BusObservation {
  const { telegram, response } = event.exchange
  const { source, target, primary, secondary } = telegram
  const requestLength = REQUEST_FRAME + telegram.data.length
  const responseLength = response === undefined ? 0 : RESPONSE_FRAME + response.length
  // An acknowledgement after each part that has one, and the SYN.
  const others = (target === BROADCAST_ADDRESS ? 0 : 1) + (response === undefined ? 0 : 1) + 1
  return {
    scope: event.own ? 'active' : 'passive',
    family: classifyCommandFamily(primary, secondary),
    frameType: frameTypeOf(target, event.own ? undefined : ourAddress),
    outcome: 'success',
    atMs: event.atMs,
    source,
    target,
    primary,
    secondary,
    requestLength,
    responseLength,
    wireMs: (requestLength + responseLength + others) * SYMBOL_DURATION_MS,
    content: event.exchange,
  }
}

export function toBrokenTelegramObservation(event: BrokenTelegramEvent, cause?: TelegramCutOffCause): BusObservation {
  const { command, response, own } = event
  const [source, target, primary, secondary] = command
  return {
    scope: own ? 'active' : 'passive',
    family: primary === undefined || secondary === undefined ? 'other' : classifyCommandFamily(primary, secondary),
    frameType: 'abandoned_partial',
    outcome: own ? activeOutcome(event) : passiveOutcome(event, cause),
    atMs: event.atMs,
    source,
    target,
    primary,
    secondary,
    requestLength: command.length,
    responseLength: response.length,
    wireMs: (command.length + response.length + 1) * SYMBOL_DURATION_MS,
    content: { command, response },
  }
}

export function classifyCommandFamily(primary: number, secondary: number): CommandFamily {
  if (primary !== 0xb5) return 'other'
  switch (secondary) {
    case 0x09:
      return 'B509'
    case 0x16:
      return 'B516'
    case 0x24:
      return 'B524'
    case 0x55:
      return 'B555'
    default:
      return 'other'
  }
}

function frameTypeOf(target: number, ourAddress: number | undefined): FrameType {
  if (ourAddress !== undefined && (target === ourAddress || target === toCompanionTarget(ourAddress)))
    return 'local_participant_inbound'
  switch (classifyTelegramForm(target)) {
    case 'broadcast':
      return 'broadcast'
    case 'initiator-initiator':
      return 'initiator_initiator'
    default:
      return 'initiator_target'
  }
}

function activeOutcome({ reason, command }: BrokenTelegramEvent): TrafficOutcome {
  switch (reason) {
    case 'no-ack':
      return isScan(command) ? 'scan_timeout' : 'timeout'
    case 'no-response':
    case 'cut-response':
    case 'no-final-ack':
    case 'silence':
      return 'timeout'
    case 'nak':
    case 'response-nak':
      return 'nack'
    case 'response-crc':
      return 'crc_mismatch'
    default:
      return 'echo_mismatch'
  }
}

/** A scan for devices finds none at most addresses. */
function isScan(command: Uint8Array): boolean {
  return command[2] === 0x07 && command[3] === 0x04
}

/** Up to three bytes between two SYN are an arbitration, not a telegram. */
const FRAGMENT_LENGTH = 3

function passiveOutcome(
  { reason, command }: BrokenTelegramEvent,
  cause: TelegramCutOffCause | undefined,
): TrafficOutcome {
  const scan = isScan(command)
  switch (reason) {
    case 'arbitration':
      return 'arbitration_fragment'
    case 'cut-command':
      if (command.length <= FRAGMENT_LENGTH) return 'arbitration_fragment'
      return scan ? 'scan_collision' : 'corrupted_request'
    case 'no-ack':
      return scan ? 'scan_timeout' : 'no_response'
    case 'no-response':
      return 'no_response'
    case 'invalid-source':
    case 'invalid-target':
    case 'command-crc':
      return 'corrupted_request'
    case 'invalid-escape':
      return 'decode_fault'
    case 'response-crc':
      return 'crc_mismatch'
    case 'response-nak':
      return 'corrupted_target'
    case 'nak':
      return 'nack'
    case 'cut-response':
    case 'no-final-ack':
      return 'unexpected_syn'
    case 'unexpected-symbol':
      return 'unexpected_symbol'
    default:
      return cause ?? 'no_progress'
  }
}

export const TELEGRAM_ERROR_CLASSES = [
  'timeout',
  'nack',
  'crc_mismatch',
  'echo_mismatch',
  'collision',
  'transport_reset',
  'decode_fault',
  'abandoned',
] as const
export type TelegramErrorClass = (typeof TELEGRAM_ERROR_CLASSES)[number]

/** Arbitrations, scans without an answer, and noise are normal on a healthy bus; everything else counts as an error. */
export function toTelegramErrorClass(outcome: TrafficOutcome): TelegramErrorClass | undefined {
  switch (outcome) {
    case 'timeout':
    case 'no_response':
      return 'timeout'
    case 'nack':
      return 'nack'
    case 'crc_mismatch':
    case 'corrupted_target':
      return 'crc_mismatch'
    case 'echo_mismatch':
      return 'echo_mismatch'
    case 'transport_reset':
    case 'disconnected':
      return 'transport_reset'
    case 'decode_fault':
      return 'decode_fault'
    case 'unexpected_syn':
    case 'unexpected_symbol':
    case 'no_progress':
      return 'abandoned'
    default:
      return undefined
  }
}

export const TELEGRAM_PHASE_BY_ERROR_CLASS: Readonly<Record<TelegramErrorClass, string>> = {
  timeout: 'terminal',
  nack: 'ack',
  crc_mismatch: 'response',
  echo_mismatch: 'request',
  collision: 'request',
  transport_reset: 'terminal',
  decode_fault: 'request',
  abandoned: 'terminal',
}

/** How an address is written where it is a name: `0x10`. */
export function formatBusAddress(address: number): string {
  return `0x${address.toString(16).padStart(2, '0')}`
}
