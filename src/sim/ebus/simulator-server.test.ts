import { connect } from 'node:net'
import type { Socket } from 'node:net'

import { afterEach, describe, expect, it } from 'vitest'

import { fromHex, toHex } from '../../core/bytes.ts'
import type { EbusSimulator, EbusSimulatorOptions } from './simulator-server.ts'
import { startEbusSimulator } from './simulator-server.ts'

const open: { stop: () => Promise<void> | void }[] = []

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.stop()
})

async function simulator(options: EbusSimulatorOptions): Promise<EbusSimulator> {
  const started = await startEbusSimulator({ chatter: false, ...options })
  open.push(started)
  return started
}

/** A client that writes hex and waits for hex, as a stranger's program would. */
class Client {
  readonly #socket: Socket
  #received = ''
  closed = false

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (bytes) => (this.#received += toHex(bytes)))
    socket.on('error', () => undefined)
    socket.on('close', () => (this.closed = true))
  }

  static async connect(port: number): Promise<Client> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    await new Promise((resolve) => socket.once('connect', resolve))
    open.push({ stop: () => void socket.destroy() })
    return new Client(socket)
  }

  write(bytes: string): void {
    this.#socket.write(fromHex(bytes))
  }

  text(line: string): void {
    this.#socket.write(`${line}\n`)
  }

  /** True as soon as `wanted` has come; what came before it is dropped. */
  async hears(wanted: string): Promise<boolean> {
    const needle = wanted.replaceAll(' ', '')
    for (let waited = 0; !this.#received.includes(needle); waited += 2) {
      if (waited > 20_000) return false
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    this.#received = this.#received.slice(this.#received.indexOf(needle) + needle.length)
    return true
  }

  /** Until a text answer is complete. */
  async answer(): Promise<string> {
    await new Promise((resolve) => setTimeout(resolve, 1))
    for (;;) {
      const text = Buffer.from(this.#received, 'hex').toString('latin1')
      const end = text.indexOf('\n\n')
      if (end >= 0) {
        this.#received = this.#received.slice(2 * (end + 2))
        return text.slice(0, end)
      }
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
}

describe('enhanced adapter of the simulator', () => {
  it('carries a whole read, byte for byte as ebusd performs it', async () => {
    const { port } = await simulator({ speed: 2 })
    const client = await Client.connect(port)
    client.write('c0 81')
    expect(await client.hears('c081')).toBe(true)
    client.write('c8 b1')
    expect(await client.hears('c6aa c8b1')).toBe(true)
    for (const [said, echo] of [
      ['c4 95', '15'],
      ['c4 87', '07'],
      ['c4 84', '04'],
      ['c4 80', '00'],
      ['c6 8b', 'c68b'],
    ] as const) {
      client.write(said)
      expect(await client.hears(echo)).toBe(true)
    }
    expect(await client.hears('00 0a c6b5 42 41 53 56 32 05 07 17 04')).toBe(true)
    client.write('c4 80')
    expect(await client.hears('00')).toBe(true)
    client.write('c6 aa')
    expect(await client.hears('c6aa')).toBe(true)
  })

  it('answers INFO some milliseconds later, count first', async () => {
    const { port } = await simulator({})
    const client = await Client.connect(port)
    client.write('cc 80')
    expect(await client.hears('cc88 cca6 cc81')).toBe(true)
    client.write('cc 83')
    expect(await client.hears('cc82 cc80 cca2')).toBe(true)
  })

  it('reports the winner of two simultaneous STARTs to both clients', async () => {
    // At its own speed: both have to come between the same two SYN symbols, which are forty milliseconds apart then.
    const { port } = await simulator({ speed: 1 })
    const [strong, weak] = [await Client.connect(port), await Client.connect(port)]
    weak.write('cb bf')
    strong.write('c8 90')
    expect(await strong.hears('c890')).toBe(true)
    strong.write('c7 be')
    expect(await weak.hears('e890')).toBe(true)
  })

  it('sends RESETTED to every client when it restarts, and counts restarts', async () => {
    const { port, faults } = await simulator({ speed: 20 })
    const client = await Client.connect(port)
    expect(await client.hears('c6aa')).toBe(true)
    faults.adapterReset()
    expect(await client.hears('c081')).toBe(true)
    client.write('cc 86')
    expect(await client.hears('cc82 cc85 cc81')).toBe(true)
  })

  it('disconnects clients during a tcp-drop, and accepts them afterwards', async () => {
    const { port, faults } = await simulator({ speed: 20 })
    const first = await Client.connect(port)
    expect(await first.hears('c6aa')).toBe(true)
    faults.tcpDrop(600_000)
    const second = await Client.connect(port)
    for (; !(first.closed && second.closed);) await new Promise((resolve) => setTimeout(resolve, 5))
    faults.tcpDrop()
    const third = await Client.connect(port)
    expect(await third.hears('c6aa')).toBe(true)
  })
})

describe('ports of the eBUS simulator', () => {
  it('leave none open when one of them is taken', async () => {
    const { udpPort = 0 } = await simulator({ listen: { udpPort: 0 } })
    await expect(startEbusSimulator({ listen: { port: 0, udpPort } })).rejects.toThrow('EADDRINUSE')
    const open = (): readonly string[] => process.getActiveResourcesInfo().filter((each) => /TCPServer|UDP/.test(each))
    // Those of the first one.
    await expect.poll(open).toEqual(['TCPServerWrap', 'UDPWrap'])
  })
})

describe('ebusd port of the eBUS simulator', () => {
  it('sends telegrams and prints the answers', async () => {
    const { ebusdPort = 0 } = await simulator({ speed: 20, listen: { ebusdPort: 0 } })
    const client = await Client.connect(ebusdPort)
    client.text('hex 15070400')
    expect(await client.answer()).toBe('0ab5424153563205071704')
    client.text('hex -s 31 -n 08b5090d1800')
    expect(await client.answer()).toMatch(/^03[0-9a-f]{6}$/)
    client.text('hex fe07fe00')
    expect(await client.answer()).toBe('done broadcast')
    client.text('hex 77070400')
    expect(await client.answer()).toBe('ERR: read timeout')
    client.text('hex xx')
    expect(await client.answer()).toMatch(/^ERR: /)
    client.text('state')
    expect(await client.answer()).toMatch(/^signal acquired/)
  })

  it('prints foreign telegrams in grab and in direct mode', async () => {
    const { ebusdPort = 0 } = await simulator({ speed: 200, chatter: true, listen: { ebusdPort: 0 } })
    const client = await Client.connect(ebusdPort)
    let grabbed = ''
    for (; !/^1008b511/m.test(grabbed);) {
      client.text('grab result all')
      grabbed = await client.answer()
    }
    expect(grabbed).toMatch(/^1008b51101\w\w \/ \w+ = \d+$/m)
    client.text('direct')
    expect(await client.hears(toHex(Buffer.from('direct mode started\n')))).toBe(true)
    expect(await client.hears(toHex(Buffer.from('\n10feb516')))).toBe(true)
  })
})
