/**
 * eBUS doctor: whether each adapter is there and its bus alive, while no gateway runs.
 *
 * It connects and listens for a moment. Nothing is said on the bus.
 *
 * Does I/O.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { EbusConfig } from '../config/ebus.ts'
import { openBus } from './adapter/bus-client.ts'
import { parseEndpoint } from './adapter/endpoint.ts'
import { reachAdvice } from './advice.ts'

export interface EbusFinding {
  readonly status: 'ok' | 'failing'
  readonly advice: string
}

/** Somebody waits at a keyboard; a bus that is alive says so several times a second. */
const MAX_WAIT_MS = 5_000
const LOOK_EVERY_MS = 50
/** Never used: to find a free address one would have to ask for it. */
const UNUSED_ADDRESS = 0xff

export function examineEbus({ buses }: EbusConfig): Promise<readonly EbusFinding[]> {
  return Promise.all(
    buses.map(async ({ id, adapter }) => {
      const { status, advice } = await busFinding(id, adapter)
      return { status, advice: buses.length > 1 ? `${id}: ${advice}` : advice }
    }),
  )
}

async function busFinding(id: string, adapter: string): Promise<EbusFinding> {
  const endpoint = parseEndpoint(adapter)
  if (!endpoint.ok) return { status: 'failing', advice: `${adapter} is no adapter; ${endpoint.fault.expected}.` }
  const bus = openBus({ id, endpoint: endpoint.value, source: UNUSED_ADDRESS })
  try {
    const endMs = performance.now() + MAX_WAIT_MS
    while (reachAdvice(bus.status(), adapter) !== undefined && performance.now() < endMs) await pause(LOOK_EVERY_MS)
    const advice = reachAdvice(bus.status(), adapter)
    return advice === undefined
      ? { status: 'ok', advice: `The adapter at ${adapter} answers, and the bus carries a signal.` }
      : { status: 'failing', advice }
  } finally {
    await bus.close()
  }
}
