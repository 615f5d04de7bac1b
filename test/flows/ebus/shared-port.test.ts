/**
 * Another program at our adapter: it speaks the enhanced protocol to us and must not be able to tell the difference.
 */
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { fromHex, toHex } from '../../../src/core/bytes.ts'
import type { EbusConnection } from '../../../src/ebus/adapter/ebus-connection.ts'
import { openEbusConnection } from '../../../src/ebus/adapter/ebus-connection-client.ts'
import { SharedPort } from '../../../src/ebus/adapter/shared-port-server.ts'
import type { EbusSimulator } from '../../../src/sim/ebus/simulator-server.ts'
import { startEbusSimulator } from '../../../src/sim/ebus/simulator-server.ts'
import { hasSignal } from '../../contracts/ebus-bus.ts'

const closing: (() => Promise<void> | void)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function lending(): Promise<{ simulator: EbusSimulator; lender: EbusConnection; port: number }> {
  const simulator = await startEbusSimulator({ speed: 20, chatter: false })
  const lender = openEbusConnection({
    id: 'lender',
    endpoint: { kind: 'enh', host: '127.0.0.1', port: simulator.port },
    source: 0xff,
    listenMs: 50,
    backoff: { firstMs: 20, maxMs: 100, factor: 2 },
  })
  if (lender.clientAcceptor === undefined) throw new Error('nothing to share')
  const shared = await SharedPort.open(lender.clientAcceptor, { host: '127.0.0.1', port: 0 })
  if (!shared.ok) throw shared.fault.error
  closing.push(
    simulator.stop,
    () => lender.close(),
    () => shared.value.close(),
  )
  await hasSignal(lender)
  for (let waited = 0; lender.info()?.hardwareId === undefined && waited < 5_000; waited += 10)
    await new Promise((resolve) => setTimeout(resolve, 10))
  return { simulator, lender, port: shared.value.port }
}

/** Writes and expects bytes as ebusd does, in lockstep. */
class Stranger {
  readonly #socket: Socket
  #unread = ''
  closed = false

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (bytes) => (this.#unread += toHex(bytes)))
    socket.on('error', () => undefined)
    socket.on('close', () => (this.closed = true))
  }

  static async arrives(port: number): Promise<Stranger> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    await new Promise((resolve) => socket.once('connect', resolve))
    closing.push(() => void socket.destroy())
    return new Stranger(socket)
  }

  write(bytes: string): void {
    this.#socket.write(fromHex(bytes))
  }

  leave(): void {
    this.#socket.destroy()
  }

  async hears(wanted: string): Promise<boolean> {
    const needle = wanted.replaceAll(' ', '')
    for (let waited = 0; !this.#unread.includes(needle); waited += 2) {
      if (waited > 20_000) return false
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    this.#unread = this.#unread.slice(this.#unread.indexOf(needle) + needle.length)
    return true
  }

  /** 07 04 to the regulator, from START to SYN; whether every step came as it should. */
  async identifies(): Promise<boolean> {
    this.write('c8b1')
    if (!(await this.hears('c8b1'))) return false
    for (const [said, echo] of [
      ['c495', '15'],
      ['c487', '07'],
      ['c484', '04'],
      ['c480', '00'],
      ['c68b', 'c68b'],
    ] as const) {
      this.write(said)
      if (!(await this.hears(echo))) return false
    }
    if (!(await this.hears('000ac6b5424153563205071704'))) return false
    this.write('c480')
    if (!(await this.hears('00'))) return false
    this.write('c6aa')
    return this.hears('c6aa')
  }
}

const identify = (bus: EbusConnection) =>
  bus.send({ target: 0x26, primary: 7, secondary: 4, data: new Uint8Array() }, { deadlineMs: 30_000, repeatable: true })

describe('shared eBUS port', () => {
  it('carries a whole telegram of a client, with an echo for each symbol', async () => {
    const { port } = await lending()
    const stranger = await Stranger.arrives(port)
    stranger.write('c081')
    expect(await stranger.hears('c081')).toBe(true)
    expect(await stranger.identifies()).toBe(true)
  })

  it('lets gateway and client take turns until all is sent, while another client listens', async () => {
    const { lender, port } = await lending()
    const [stranger, watcher] = [await Stranger.arrives(port), await Stranger.arrives(port)]
    const hammer = async (act: () => Promise<boolean>): Promise<number> => {
      let right = 0
      for (let index = 0; index < 20; index++) if (await act()) right++
      return right
    }
    const results = await Promise.all([
      hammer(async () => (await identify(lender)).ok),
      hammer(() => stranger.identifies()),
    ])
    expect(results).toEqual([20, 20])
    expect(await watcher.hears('15 07 04 00 c68b 00 0a')).toBe(true)
  })

  it('reports a client’s telegrams as foreign, and shows our own to the client', async () => {
    const { lender, port } = await lending()
    const stranger = await Stranger.arrives(port)
    using events = lender.events()
    expect(await stranger.identifies()).toBe(true)
    for await (const event of events) {
      if (event.kind !== 'exchange') continue
      expect(event).toMatchObject({ own: false, exchange: { telegram: { source: 0x31, target: 0x15 } } })
      break
    }
    await identify(lender)
    expect(await stranger.hears('c7bf 26 07 04 00')).toBe(true)
  })

  it('answers INFO from the cache, and never resets the adapter for a client', async () => {
    const { lender, port } = await lending()
    using events = lender.events()
    const stranger = await Stranger.arrives(port)
    stranger.write('c081 cc81')
    expect(await stranger.hears('c081 cc89 ccb4')).toBe(true)
    stranger.write('cc83')
    expect(await stranger.hears('cc82 cc80 cca2')).toBe(true)
    expect((await identify(lender)).ok).toBe(true)
    for await (const event of events) {
      expect(event.kind).not.toBe('adapter-reset')
      if (event.kind === 'exchange') break
    }
  })

  it('frees the bus when a client disconnects during its telegram', async () => {
    const { lender, port } = await lending()
    const stranger = await Stranger.arrives(port)
    stranger.write('c8b1')
    expect(await stranger.hears('c8b1')).toBe(true)
    stranger.write('c495')
    expect(await stranger.hears('15')).toBe(true)
    stranger.leave()
    expect((await identify(lender)).ok).toBe(true)
  })

  it('frees the bus when a client cancels its START', async () => {
    const { lender, port } = await lending()
    const stranger = await Stranger.arrives(port)
    stranger.write('c8b1 caaa')
    expect((await identify(lender)).ok).toBe(true)
    expect(await stranger.identifies()).toBe(true)
  })

  it('answers invalid bytes of a client with an error, and keeps working', async () => {
    const { lender, port } = await lending()
    const stranger = await Stranger.arrives(port)
    stranger.write('aa d080 ff'.repeat(500))
    expect(await stranger.hears('f080')).toBe(true)
    expect((await identify(lender)).ok).toBe(true)
  })

  it('admits a ninth client by closing a silent one, and keeps an active one', async () => {
    const { port } = await lending()
    const first = await Stranger.arrives(port)
    for (let count = 0; count < 7; count++) await Stranger.arrives(port)
    first.write('c081')
    expect(await first.hears('c081')).toBe(true)
    const ninth = await Stranger.arrives(port)
    expect(await ninth.identifies()).toBe(true)
    expect(await first.identifies()).toBe(true)
  })

  it('disconnects clients when the adapter is lost, and accepts them when it is back', async () => {
    const { simulator, lender, port } = await lending()
    const stranger = await Stranger.arrives(port)
    simulator.faults.tcpDrop()
    for (let waited = 0; !stranger.closed && waited < 10_000; waited += 5)
      await new Promise((resolve) => setTimeout(resolve, 5))
    expect(stranger.closed).toBe(true)
    await hasSignal(lender)
    const again = await Stranger.arrives(port)
    expect(await again.identifies()).toBe(true)
  })
})
