/**
 * Bus symbol capture: listens at an adapter and passes on the bus's symbols. It never sends.
 */
import { RECONNECT_BACKOFF } from '../../core/backoff.ts'
import { systemClock } from '../../core/clock.ts'
import { selectTransport } from '../adapter/ebus-connection-client.ts'
import type { AdapterEndpoint } from '../adapter/adapter-endpoint.ts'
import { AdapterPortClient } from '../adapter/adapter-port-client.ts'
import type { RecordedSymbols } from './recording.ts'

export interface BusSymbolCaptureOptions {
  readonly endpoint: AdapterEndpoint
  readonly onSymbols: (piece: RecordedSymbols) => void
  readonly onState: (sentence: string) => void
}

const PIECE_MS = 250

/** Returns at once; the promise of `close` resolves when the connection is closed. */
export function startBusSymbolCapture({ endpoint, onSymbols, onState }: BusSymbolCaptureOptions): {
  close: () => Promise<void>
} {
  const startMs = systemClock.monotonic()
  let pending: number[] = []
  let pendingAtMs = 0
  const { transport, newProtocol } = selectTransport(endpoint)
  const port = new AdapterPortClient({
    transport,
    newProtocol,
    backoff: RECONNECT_BACKOFF,
    clock: systemClock,
    random: Math.random,
    onUp: () => onState('connected'),
    onDown: (reason) => onState(`disconnected: ${reason}`),
    onEvent: (event) => {
      if (event.kind !== 'symbol') return
      if (pending.length === 0) pendingAtMs = systemClock.monotonic() - startMs
      pending.push(event.symbol)
    },
  })
  const flush = (): void => {
    port.tick()
    if (pending.length === 0) return
    const symbols = Uint8Array.from(pending)
    pending = []
    onSymbols({ atMs: pendingAtMs, symbols })
  }
  const timer = setInterval(flush, PIECE_MS)
  return {
    close: async () => {
      clearInterval(timer)
      await port.close()
      flush()
    },
  }
}
