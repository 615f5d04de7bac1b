/**
 * Enhanced port: the enhanced adapter protocol from the host's side.
 *
 *   opened ▸ INIT ▸ ┬ RESETTED ─────────────▶ ready, features known
 *                   └ nothing for 500 ms ───▶ ready all the same, features unknown (some adapters never answer)
 *                                             └ RESETTED after all ─▶ ready, features known
 *   RESETTED later ─▶ the adapter restarted: INIT again, the answer to which is not taken for another restart
 *
 * One INFO question at a time. The host escapes; symbols pass through as they are.
 */
import type { AdapterMessage, EnhancedProtocolFault } from '../wire/enhanced-protocol.ts'
import {
  INFO_FEATURE_FLAG,
  CANCEL_START_ADDRESS,
  encodeHostMessage,
  newEnhancedParser,
  parseAdapterBytes,
} from '../wire/enhanced-protocol.ts'
import type { AdapterInfoId } from './adapter-info.ts'
import type { AdapterPortEvent, AdapterPortOutput, AdapterPortProtocol } from './adapter-port.ts'
import { EMPTY_BYTES } from './adapter-port.ts'

const INIT_TIMEOUT_MS = 500
/** ebusd's figure: adapters answer one INIT twice, and the second answer does not mean a restart. */
const INIT_ECHO_MS = 3_000
const INFO_TIMEOUT_MS = 1_000

interface PendingInfo {
  readonly id: AdapterInfoId
  readonly requestedMs: number
  /** Known after the first byte of the answer. */
  count: number | undefined
  readonly data: number[]
}

export function createEnhancedPortProtocol(): AdapterPortProtocol {
  const parser = newEnhancedParser()
  let ready = false
  /** Whether this connection has had a RESETTED with features. */
  let met = false
  let initMs = 0
  let info: PendingInfo | undefined

  function initialise(nowMs: number): Uint8Array {
    initMs = nowMs
    info = undefined
    return encodeHostMessage({ command: 'init', data: INFO_FEATURE_FLAG })
  }

  function translate({ event, data }: AdapterMessage, nowMs: number): AdapterPortOutput {
    switch (event) {
      case 'received':
        return only({ kind: 'symbol', symbol: data })
      case 'started':
        return only({ kind: 'started', address: data })
      case 'failed':
        return only({ kind: 'failed', winner: data })
      case 'error-ebus':
        return only({ kind: 'error', side: 'ebus', code: data })
      case 'error-host':
        return only({ kind: 'error', side: 'host', code: data })
      case 'info':
        return onInfo(data)
      case 'resetted':
        return onResetted(data, nowMs)
    }
  }

  function onResetted(features: number, nowMs: number): AdapterPortOutput {
    const first = !met
    const answersInit = !ready || nowMs - initMs < INIT_ECHO_MS
    ready = true
    met = true
    if (answersInit) return first ? only({ kind: 'ready', features }) : { events: [], bytes: EMPTY_BYTES }
    return { events: [{ kind: 'reset', features }], bytes: initialise(nowMs) }
  }

  function onInfo(data: number): AdapterPortOutput {
    if (info === undefined) return { events: [], bytes: EMPTY_BYTES }
    if (info.count === undefined) info.count = data
    else info.data.push(data)
    if (info.data.length < info.count) return { events: [], bytes: EMPTY_BYTES }
    const answer: AdapterPortEvent = { kind: 'info', id: info.id, data: Uint8Array.from(info.data) }
    info = undefined
    return only(answer)
  }

  return {
    opened: (nowMs) => ({ events: [], bytes: initialise(nowMs) }),
    read(bytes, nowMs) {
      const events: AdapterPortEvent[] = []
      const onFault = (fault: EnhancedProtocolFault): void =>
        void events.push({ kind: 'decode-fault', detail: describe(fault) })
      const written: number[] = []
      for (const message of parseAdapterBytes(parser, bytes, onFault)) {
        const output = translate(message, nowMs)
        events.push(...output.events)
        written.push(...output.bytes)
      }
      return { events, bytes: Uint8Array.from(written) }
    },
    tick(nowMs) {
      if (info !== undefined && nowMs - info.requestedMs >= INFO_TIMEOUT_MS) info = undefined
      if (ready || nowMs - initMs < INIT_TIMEOUT_MS) return { events: [], bytes: EMPTY_BYTES }
      ready = true
      return only({ kind: 'ready', features: undefined })
    },
    start: (address) => encodeHostMessage({ command: 'start', data: address }),
    cancelStart: () => encodeHostMessage({ command: 'start', data: CANCEL_START_ADDRESS }),
    send: (symbol) => encodeHostMessage({ command: 'send', data: symbol }),
    requestInfo(id, nowMs) {
      if (info !== undefined) return undefined
      info = { id, requestedMs: nowMs, count: undefined, data: [] }
      return encodeHostMessage({ command: 'info', data: id })
    },
  }
}

function only(event: AdapterPortEvent): AdapterPortOutput {
  return { events: [event], bytes: EMPTY_BYTES }
}

function describe(fault: EnhancedProtocolFault): string {
  const hex = (value: number): string => value.toString(16).padStart(2, '0')
  switch (fault.kind) {
    case 'stray-byte':
      return `second half ${hex(fault.byte)} of a pair without a first`
    case 'broken-pair':
      return `first half of a pair followed by ${hex(fault.byte)}`
    case 'unknown-command':
      return `unknown command ${hex(fault.code)} with data ${hex(fault.data)}`
  }
}
