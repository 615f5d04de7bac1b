/** Behind somebody's ebusd: what it refuses and what it is slow at. */
import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { listenLocally } from '../../local-port.ts'
import { fromHex } from '../../../src/core/bytes.ts'
import type { EbusConnection } from '../../../src/ebus/adapter/ebus-connection.ts'
import { openEbusConnection } from '../../../src/ebus/adapter/ebus-connection-client.ts'
import { hasSignal } from '../../contracts/ebus-bus.ts'

const closing: (() => Promise<void> | void)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** An ebusd that answers each line with what `answers` makes of it; `undefined` is silence. */
async function fakeEbusd(answers: (line: string, socket: Socket) => string | undefined): Promise<EbusConnection> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.setEncoding('latin1')
    socket.on('error', () => undefined)
    socket.on('data', (text: string) => {
      for (const line of text.split('\n').filter((each) => each !== '')) {
        const answer = answers(line, socket)
        if (answer !== undefined) socket.write(answer)
      }
    })
  })
  const port = await listenLocally(server)
  const bus = openEbusConnection({ id: 'ebusd', endpoint: { kind: 'ebusd', host: '127.0.0.1', port }, source: 'auto' })
  closing.push(
    () => new Promise<void>((resolve) => server.close(() => resolve())),
    () => sockets.forEach((socket) => socket.destroy()),
    () => bus.close(),
  )
  return bus
}

const STATE = 'signal acquired, 24 symbols/sec (78 max), 2 masters\n\n'
const identify = { target: 0x15, primary: 7, secondary: 4, data: new Uint8Array() }

describe('connection over ebusd', () => {
  it('reads grab results when direct mode is refused, without reporting old telegrams', async () => {
    // More than anybody keeps, and none of it said again.
    const old = Array.from(
      { length: 5_000 },
      (_, at) => `1008b509030d${at.toString(16).padStart(4, '0')} / 0101 = 7\n`,
    ).join('')
    let listings = 0
    const bus = await fakeEbusd((line, socket) => {
      if (line === 'state') return STATE
      if (line === 'direct') return 'ERR: command not enabled\n\n'
      if (!line.startsWith('grab result')) return 'done\n\n'
      listings++
      // In the middle of a listing, after which it has to be looked at afresh.
      if (listings === 3) setImmediate(() => socket.end())
      const later = listings < 3 ? '' : '0364b5120202fe / 0101 = 1\n'
      return `10feb51603013008 = ${listings}\n${later}${old}${listings === 3 ? '' : '\n'}`
    })
    await hasSignal(bus)
    using events = bus.events()
    const seen: string[] = []
    for await (const event of events) {
      if (event.kind === 'exchange') seen.push(`${event.exchange.telegram.target.toString(16)} in ${listings}`)
      if (listings >= 5) break
    }
    expect(seen).toEqual(['fe in 2', 'fe in 3', '64 in 3', 'fe in 5'])
  })

  it('gives up at the deadline, and does not use the late answer for the next request', async () => {
    let asked = 0
    const bus = await fakeEbusd((line, socket) => {
      if (line === 'state') return STATE
      if (!line.startsWith('hex')) return 'direct mode started\n'
      asked++
      if (asked > 1) return '0155\n\n'
      setTimeout(() => socket.write('01aa\n\n'), 300)
      return undefined
    })
    await hasSignal(bus)
    expect(await bus.send(identify, { deadlineMs: 50 })).toEqual({
      ok: false,
      fault: { kind: 'timed-out', afterMs: 50, phase: 'talking' },
    })
    const second = await bus.send(identify, { deadlineMs: 5_000 })
    expect(second.ok && second.value.response).toEqual(fromHex('55'))
  })

  it('disconnects from an ebusd whose answer does not end, and reconnects', async () => {
    let asked = 0
    const bus = await fakeEbusd((line) => {
      if (line === 'state') return STATE
      if (!line.startsWith('hex')) return undefined
      asked++
      return asked === 1 ? 'ERR: and so on\n'.repeat(300) : '0ab5484d5530300502300d\n\n'
    })
    await hasSignal(bus)
    // Less than it takes until an ebusd that says nothing is hung up on.
    const cut = await bus.send(identify, { deadlineMs: 20_000 })
    expect(cut).toMatchObject({ ok: false, fault: { kind: 'disconnected', phase: 'talking' } })
    await expect.poll(() => bus.status().reconnects).toBe(1)
    await hasSignal(bus)
    expect((await bus.send(identify, { deadlineMs: 60_000 })).ok).toBe(true)
  })

  it('returns ebusd’s own error message', async () => {
    const bus = await fakeEbusd((line) => (line === 'state' ? STATE : 'ERR: send error\n\n'))
    await hasSignal(bus)
    expect(await bus.send(identify, { deadlineMs: 5_000 })).toEqual({
      ok: false,
      fault: { kind: 'ebusd', message: 'ERR: send error' },
    })
  })

  it('asks an ebusd without --enablehex once, and again after it restarted', async () => {
    let enabled = false
    let hangUp = (): void => undefined
    const asked: string[] = []
    const bus = await fakeEbusd((line, socket) => {
      if (line === 'state') return STATE
      if (!line.startsWith('hex')) return 'direct mode started\n'
      asked.push(line)
      if (enabled) return '0155\n\n'
      hangUp = () => socket.destroy()
      return 'ERR: command not enabled\n\n'
    })
    await hasSignal(bus)
    const forbidden = { ok: false, fault: { kind: 'no-source', state: 'forbidden' } }
    expect(await bus.send(identify, { deadlineMs: 5_000 })).toEqual(forbidden)
    expect(await bus.send(identify, { deadlineMs: 5_000 })).toEqual(forbidden)
    expect(bus.status().source).toBe('forbidden')
    expect(asked).toHaveLength(1)
    enabled = true
    hangUp()
    await expect.poll(() => bus.status().source).toBe('admitted')
    await hasSignal(bus)
    expect(await bus.send(identify, { deadlineMs: 5_000 })).toMatchObject({ ok: true })
  })

  it('reports no-signal when ebusd has no signal', async () => {
    const bus = await fakeEbusd((line) => (line === 'state' ? 'ERR: no signal\n\n' : 'ERR: no signal\n\n'))
    expect(
      await (async () => {
        for (let tries = 0; tries < 100; tries++) {
          const result = await bus.send(identify, { deadlineMs: 1_000 })
          if (!result.ok && result.fault.kind !== 'disconnected') return result
          await new Promise((resolve) => setTimeout(resolve, 10))
        }
        return undefined
      })(),
    ).toMatchObject({ ok: false, fault: { kind: 'no-signal' } })
    expect(bus.status().signal).toBe(false)
  })
})
