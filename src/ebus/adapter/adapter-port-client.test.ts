import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { RECONNECT_BACKOFF } from '../../core/backoff.ts'
import { systemClock } from '../../core/clock.ts'
import { ok } from '../../core/result.ts'
import { createPlainPortProtocol } from './plain-port.ts'
import { AdapterPortClient } from './adapter-port-client.ts'
import type { ByteConnection, ByteConnector } from './transport.ts'

/** More than may come at once; the rest is held back. */
const FLOOD = 400_000

/** An adapter that says this many symbols in one breath, and then nothing. */
function floodingTransport(): ByteConnector {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>()
  async function* received(): AsyncGenerator<Uint8Array> {
    yield new Uint8Array(FLOOD).fill(0x55)
    await closed
  }
  const connection: ByteConnection = { received: received(), write: () => undefined, close, endReason: () => 'closed' }
  return { name: 'flood', connect: () => Promise.resolve(ok(connection)) }
}

describe('adapter port client', () => {
  it('yields to other work while an adapter floods it, and loses no symbol', async () => {
    const counts = { symbols: 0 }
    const { promise: through, resolve } = Promise.withResolvers<void>()
    const port = new AdapterPortClient({
      transport: floodingTransport(),
      newProtocol: createPlainPortProtocol,
      backoff: RECONNECT_BACKOFF,
      clock: systemClock,
      random: () => 0,
      onUp: () => undefined,
      onDown: () => undefined,
      onEvent: () => {
        counts.symbols++
        if (counts.symbols > FLOOD) resolve()
      },
    })
    let turns = 0
    while (counts.symbols === 0) await nextTurn()
    for (; counts.symbols < FLOOD; turns++) await nextTurn()
    await through
    // A symbol each, and that the port was ready.
    expect(counts.symbols).toBe(FLOOD + 1)
    expect(turns).toBeGreaterThan(100)
    await port.close()
  })
})
