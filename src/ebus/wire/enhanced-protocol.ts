/**
 * Enhanced protocol: how a host and an adapter talk about a bus without having to keep its timing.
 *
 *   0ddddddd                  a data byte below 80: please send, or received
 *   11ccccdd 10dddddd         c = command, d = data
 *
 * The second byte of a pair is recognisable by its top bits, so a lost byte is seen. Symbols pass through untouched in
 * both directions: escaping is the host's business.
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

/** START with this address takes a pending START back. */
export const CANCEL_START_ADDRESS = 0xaa
/** Feature bit of INIT and RESETTED. */
export const INFO_FEATURE_FLAG = 0x01
/** Data of ERROR_EBUS and ERROR_HOST; the other one, 01, is overrun. */
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

/** Always the two-byte form, as ebusd does: some adapters know no other. */
export function encodeHostMessage({ command, data }: HostMessage): Uint8Array {
  return pair(HOST_CODES[command], data)
}

/** Received symbols below 80 in the short form, everything else as a pair. */
export function encodeAdapterMessage({ event, data }: AdapterMessage): Uint8Array {
  if (event === 'received' && data < 0x80) return Uint8Array.of(data)
  return pair(ADAPTER_CODES[event], data)
}

function pair(code: number, data: number): Uint8Array {
  if (!Number.isInteger(data) || data < 0 || data > 0xff) throw new RangeError(`enhanced data ${data}`)
  return Uint8Array.of(0xc0 | (code << 2) | (data >> 6), 0x80 | (data & 0x3f))
}

export type EnhancedFault =
  /** A second half without a first. */
  | { readonly kind: 'stray-byte'; readonly byte: number }
  /** A first half whose second never came; `byte` came instead and is read anew. */
  | { readonly kind: 'broken-pair'; readonly byte: number }
  | { readonly kind: 'unknown-command'; readonly code: number; readonly data: number }

export interface EnhancedParser {
  /** First half of a pair, or -1. */
  first: number
}

export function newEnhancedParser(): EnhancedParser {
  return { first: -1 }
}

/**
 * What an adapter said; `onFault` hears what could not be read, after which the parser starts afresh. It hears it
 * between the messages between which it came: what stands before a hole in the stream is whole.
 */
export function* parseAdapterBytes(
  parser: EnhancedParser,
  bytes: Uint8Array,
  onFault: (fault: EnhancedFault) => void,
): Generator<AdapterMessage, void> {
  for (const { code, data } of parse(parser, bytes, onFault)) {
    const event = ADAPTER_BY_CODE.get(code)
    if (event === undefined) onFault({ kind: 'unknown-command', code, data })
    else yield { event, data }
  }
}

/** What a host said. */
export function* parseHostBytes(
  parser: EnhancedParser,
  bytes: Uint8Array,
  onFault: (fault: EnhancedFault) => void,
): Generator<HostMessage, void> {
  for (const { code, data } of parse(parser, bytes, onFault)) {
    const command = HOST_BY_CODE.get(code)
    if (command === undefined) onFault({ kind: 'unknown-command', code, data })
    else yield { command, data }
  }
}

/** The short form means the same as code 1 in both directions. */
const SHORT_FORM = 0x1

function* parse(
  parser: EnhancedParser,
  bytes: Uint8Array,
  onFault: (fault: EnhancedFault) => void,
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
