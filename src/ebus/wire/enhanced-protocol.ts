/**
 * Enhanced protocol: how a host and an adapter talk about a bus without having to keep its timing.
 *
 *   0ddddddd                  a data byte below 80 that the host wants sent, or that the adapter received
 *   11ccccdd 10dddddd         c = command, d = data
 *
 * The second byte of a pair is recognisable by its top bits, so the parser notices a lost byte. Symbols pass through
 * untouched in both directions: the host does the escaping.
 *
 * Pure, but for the parser it is given.
 */
type HostCommand = 'init' | 'send' | 'start' | 'info'
type AdapterEvent = 'resetted' | 'received' | 'started' | 'info' | 'failed' | 'error-ebus' | 'error-host'

export interface HostMessage {
  readonly command: HostCommand
  readonly data: number
}

export interface AdapterMessage {
  readonly event: AdapterEvent
  readonly data: number
}

/** A START with this address cancels a START that is still pending. */
export const CANCEL_START_ADDRESS = 0xaa
/** The feature bit in INIT and RESETTED by which host and adapter agree on INFO requests. */
export const INFO_FEATURE_FLAG = 0x01
/** The data byte of ERROR_EBUS and ERROR_HOST that means a framing error; the only other one, 01, means an overrun. */
export const FRAMING_ERROR_CODE = 0x00

const HOST_CODES: Readonly<Record<HostCommand, number>> = { init: 0x0, send: 0x1, start: 0x2, info: 0x3 }
const ADAPTER_CODES: Readonly<Record<AdapterEvent, number>> = {
  resetted: 0x0,
  received: 0x1,
  started: 0x2,
  info: 0x3,
  failed: 0xa,
  'error-ebus': 0xb,
  'error-host': 0xc,
}
const HOST_BY_CODE = new Map(Object.entries(HOST_CODES).map(([name, code]) => [code, name as HostCommand]))
const ADAPTER_BY_CODE = new Map(Object.entries(ADAPTER_CODES).map(([name, code]) => [code, name as AdapterEvent]))

/** Always writes the two-byte form, as ebusd does, because some adapters know no other. */
export function encodeHostMessage({ command, data }: HostMessage): Uint8Array {
  return pair(HOST_CODES[command], data)
}

/** Writes received symbols below 80 in the short form and everything else as a pair. */
export function encodeAdapterMessage({ event, data }: AdapterMessage): Uint8Array {
  if (event === 'received' && data < 0x80) return Uint8Array.of(data)
  return pair(ADAPTER_CODES[event], data)
}

function pair(code: number, data: number): Uint8Array {
  if (!Number.isInteger(data) || data < 0 || data > 0xff) throw new RangeError(`enhanced data ${data}`)
  return Uint8Array.of(0xc0 | (code << 2) | (data >> 6), 0x80 | (data & 0x3f))
}

export type EnhancedProtocolFault =
  /** The second byte of a pair arrived without a first one. */
  | { readonly kind: 'stray-byte'; readonly byte: number }
  /**
   * The second byte of a pair never arrived; `byte` arrived instead, and the parser reads it as the start of something
   * new.
   */
  | { readonly kind: 'broken-pair'; readonly byte: number }
  | { readonly kind: 'unknown-command'; readonly code: number; readonly data: number }

export interface EnhancedProtocolParserState {
  /** The first byte of a pair that waits for its second one, or -1. */
  first: number
}

export function newEnhancedParser(): EnhancedProtocolParserState {
  return { first: -1 }
}

/**
 * Yields the messages of the adapter. The parser calls `onFault` for bytes that it cannot read and then starts afresh.
 * The call happens between the messages before and after the unreadable bytes, so that the caller knows where the gap
 * is.
 */
export function* parseAdapterBytes(
  parser: EnhancedProtocolParserState,
  bytes: Uint8Array,
  onFault: (fault: EnhancedProtocolFault) => void,
): Generator<AdapterMessage, void> {
  for (const { code, data } of parse(parser, bytes, onFault)) {
    const event = ADAPTER_BY_CODE.get(code)
    if (event === undefined) onFault({ kind: 'unknown-command', code, data })
    else yield { event, data }
  }
}

/** Yields the messages of a host. */
export function* parseHostBytes(
  parser: EnhancedProtocolParserState,
  bytes: Uint8Array,
  onFault: (fault: EnhancedProtocolFault) => void,
): Generator<HostMessage, void> {
  for (const { code, data } of parse(parser, bytes, onFault)) {
    const command = HOST_BY_CODE.get(code)
    if (command === undefined) onFault({ kind: 'unknown-command', code, data })
    else yield { command, data }
  }
}

/** A byte in the short form means the same as a pair with command code 1, in both directions. */
const SHORT_FORM = 0x1

function* parse(
  parser: EnhancedProtocolParserState,
  bytes: Uint8Array,
  onFault: (fault: EnhancedProtocolFault) => void,
): Generator<{ readonly code: number; readonly data: number }, void> {
  for (const byte of bytes) {
    const { first } = parser
    parser.first = -1
    const isSecond = (byte & 0xc0) === 0x80
    if (first >= 0 && isSecond) {
      yield { code: (first >> 2) & 0xf, data: ((first & 0x03) << 6) | (byte & 0x3f) }
      continue
    }
    if (first >= 0) onFault({ kind: 'broken-pair', byte })
    else if (isSecond) onFault({ kind: 'stray-byte', byte })
    if (byte < 0x80) yield { code: SHORT_FORM, data: byte }
    else if (!isSecond) parser.first = byte
  }
}
