/** Everything from a wire is hostile: a million bytes of rubbish, and the next good telegram is still heard. */
import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { listenLocally } from '../../local-port.ts'
import { concatBytes, fromHex } from '../../../src/core/bytes.ts'
import { openEbusConnection } from '../../../src/ebus/adapter/ebus-connection-client.ts'
import type { AdapterEndpoint } from '../../../src/ebus/adapter/adapter-endpoint.ts'
import { encodeAdapterMessage } from '../../../src/ebus/wire/enhanced-protocol.ts'
import { encodeExchange } from '../../telegram-exchange.ts'
import { createSeededRandomSource } from '../../../src/sim/ebus/seeded-random.ts'

const GOOD = encodeExchange(
  { source: 0x10, target: 0x08, primary: 0xb5, secondary: 0x11, data: fromHex('aa') },
  fromHex('a9 aa 53 36'),
)
const BYTES = 1_000_000
const CHUNK = 4_096

function collectGarbage(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}

/** Half noise, half a good stream with every tenth byte changed. */
function rubbish(seed: number, good: Uint8Array): Uint8Array[] {
  const chance = createSeededRandomSource(seed)
  const byte = (): number => Math.floor(chance() * 256)
  return Array.from({ length: Math.ceil(BYTES / CHUNK) }, () => {
    const mutate = chance() < 0.5
    return Uint8Array.from({ length: CHUNK }, (_, index) =>
      mutate && chance() > 0.1 ? (good[index % good.length] ?? 0) : byte(),
    )
  })
}

describe('a million random bytes', () => {
  it.each([
    ['enhanced', 'enh', (symbols: Uint8Array) => concatBytes(...Array.from(symbols, enhanced))],
    ['plain', 'tcp', (symbols: Uint8Array) => symbols],
  ] as const)(
    'through a %s adapter: nothing throws, memory stays bounded, and the next telegram is decoded',
    async (_, kind, encode) => {
      const visits = Promise.withResolvers<Socket>()
      const server = createServer((socket) => {
        visits.resolve(socket)
        // Whatever the bus writes is swallowed.
        socket.on('data', () => undefined)
        socket.on('error', () => undefined)
      })
      const port = await listenLocally(server)
      const endpoint: AdapterEndpoint = { kind, host: '127.0.0.1', port }
      const bus = openEbusConnection({ id: 'fuzzed', endpoint, source: 0x31 })
      using slow = bus.events()
      const pending = bus.send(
        { target: 0x15, primary: 7, secondary: 4, data: new Uint8Array() },
        { deadlineMs: 50_000, repeatable: true },
      )
      const visitor = await visits.promise
      const good = encode(Uint8Array.from([0xaa, ...GOOD, 0xaa]))
      const before = collectGarbage()
      for (const chunk of rubbish(42, good))
        if (!visitor.write(chunk)) await new Promise((resolve) => visitor.once('drain', resolve))
      using events = bus.events()
      const heard = (async () => {
        for await (const event of events)
          if (event.kind === 'exchange' && event.exchange.telegram.data[0] === 0xaa) return event.exchange.response
        return undefined
      })()
      visitor.write(encode(Uint8Array.from([0xaa, 0xaa])))
      const again = setInterval(() => visitor.write(good), 20)
      expect(await heard).toEqual(fromHex('a9 aa 53 36'))
      clearInterval(again)
      expect(collectGarbage() - before).toBeLessThan(16_000_000)
      await bus.close()
      expect((await pending).ok).toBe(false)
      let kept = 0
      for await (const _event of slow) kept++
      expect(kept).toBeLessThanOrEqual(1_024)
      visitor.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  )
})

const enhanced = (symbol: number): Uint8Array => encodeAdapterMessage({ event: 'received', data: symbol })
