/** The gateway's own adapter code against the virtual heating system, over real TCP sockets. */
import { connect, createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'

import { listenLocally } from '../../local-port.ts'
import { fromHex, toHex } from '../../../src/core/bytes.ts'
import type { Result } from '../../../src/core/result.ts'
import type { EbusConnection, EbusEvent, EbusSendFault, EbusReply } from '../../../src/ebus/adapter/ebus-connection.ts'
import type { EbusConnectionOptions } from '../../../src/ebus/adapter/ebus-connection-client.ts'
import { openEbusConnection } from '../../../src/ebus/adapter/ebus-connection-client.ts'
import type { EbusSimulator, EbusSimulatorOptions } from '../../../src/sim/ebus/simulator-server.ts'
import { startEbusSimulator } from '../../../src/sim/ebus/simulator-server.ts'

const closing: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function simulator(options: EbusSimulatorOptions = {}): Promise<EbusSimulator> {
  const started = await startEbusSimulator({ speed: 20, chatter: false, ...options })
  closing.push(started.stop)
  return started
}

function bus(port: number, options: Partial<EbusConnectionOptions> = {}): EbusConnection {
  const opened = openEbusConnection({
    id: 'test',
    endpoint: { kind: 'enh', host: '127.0.0.1', port },
    source: 0x31,
    listenMs: 100,
    telemetryMs: 500,
    backoff: { firstMs: 20, maxMs: 100, factor: 2 },
    ...options,
  })
  closing.push(() => opened.close())
  return opened
}

/** The first event that fits; subscribes before it returns. */
function awaited(of: EbusConnection, fits: (event: EbusEvent) => boolean): Promise<EbusEvent> {
  const events = of.events()
  return (async () => {
    for await (const event of events) if (fits(event)) return event
    throw new Error('the bus closed')
  })()
}

async function ready(of: EbusConnection): Promise<void> {
  if (of.status().signal) return
  await awaited(of, (event) => event.kind === 'signal' && event.present)
}

function ask(of: EbusConnection, text: string, deadlineMs = 10_000): Promise<Result<EbusReply, EbusSendFault>> {
  const [target = 0, primary = 0, secondary = 0, ...data] = fromHex(text)
  return of.send({ target, primary, secondary, data: Uint8Array.from(data) }, { deadlineMs, repeatable: true })
}

const answer = (result: Result<EbusReply, EbusSendFault>): string =>
  result.ok ? toHex(result.value.response ?? new Uint8Array()) : JSON.stringify(result.fault)
const IDENTITY = 'b5424153563205071704'

/** Between gateway and adapter: whatever the adapter says first comes so much later. */
async function slowToBegin(port: number, lateMs: number): Promise<number> {
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    near.pipe(far)
    setTimeout(() => far.pipe(near), lateMs)
    for (const socket of [near, far]) socket.on('error', () => undefined)
  })
  closing.push(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return listenLocally(server)
}

describe('connection over an enhanced adapter', () => {
  it('returns a device’s answer at 2400 Bd', async () => {
    const { port } = await simulator({ speed: 1 })
    const heating = bus(port)
    await ready(heating)
    // On a machine that has no time for us, an answer comes too late for the wire now and then: as on a real one.
    let answered = ''
    for (let tries = 0; tries < 10 && answered !== IDENTITY; tries++) answered = answer(await ask(heating, '15 0704'))
    expect(answered).toBe(IDENTITY)
  })

  it('escapes symbols in both directions', async () => {
    const { port } = await simulator()
    const heating = bus(port)
    await ready(heating)
    // A hysteresis of 5.33 K has bytes A9 and AA in its float, on the way there and back.
    expect(answer(await ask(heating, '15 b524 02 01 00 00 27 00 aaa9aa40'))).toBe('')
    expect(answer(await ask(heating, '15 b524 02 00 00 00 27 00'))).toBe('02002700aaa9aa40')
  })

  it('reports all telegrams, and distinguishes its own from foreign ones', async () => {
    const { port } = await simulator({ chatter: true })
    const heating = bus(port)
    await ready(heating)
    const foreign = awaited(heating, (event) => event.kind === 'exchange' && !event.own)
    const own = awaited(heating, (event) => event.kind === 'exchange' && event.own)
    // As above: now and then an answer comes too late for the wire.
    for (let tries = 0; tries < 10; tries++) if ((await ask(heating, '08 0704')).ok) break
    expect(await own).toMatchObject({ exchange: { telegram: { source: 0x31, target: 0x08 } } })
    expect(await foreign).toMatchObject({ kind: 'exchange', own: false })
  })

  it('does not report a lost signal when its own process was blocked', async () => {
    const { port } = await simulator()
    const heating = bus(port)
    await ready(heating)
    const events = heating.events()
    // Nothing runs in this process meanwhile, as on a machine that is busy with something else.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500)
    expect(answer(await ask(heating, '15 0704'))).toBe(IDENTITY)
    await heating.close()
    const signals: boolean[] = []
    for await (const event of events) if (event.kind === 'signal') signals.push(event.present)
    expect(signals).toEqual([])
  })

  it('detects a wrong adapter protocol, in either direction', async () => {
    const { port, plainPort = 0 } = await simulator({ chatter: true, listen: { plainPort: 0 } })
    const host = '127.0.0.1'
    const right = [bus(port), bus(plainPort, { endpoint: { kind: 'tcp', host, port: plainPort } })]
    const wrong = [bus(plainPort), bus(port, { endpoint: { kind: 'tcp', host, port } })]
    for (const each of wrong) await expect.poll(() => each.status().misread).toBe(true)
    expect(right.map((each) => each.status().misread)).toEqual([false, false])
  })

  it('reads the information of an adapter that answers INIT late', async () => {
    const { port } = await simulator()
    const heating = bus(await slowToBegin(port, 900))
    await ready(heating)
    await expect.poll(() => heating.info()).toMatchObject({ infoSupported: true, firmwareVersion: '26' })
  })

  it('reads version, jumpers and reception of the adapter', async () => {
    const { port } = await simulator()
    const heating = bus(port)
    await ready(heating)
    // Asked for last.
    await expect.poll(() => heating.info()?.rssiDbm).toBeDefined()
    expect(heating.info()).toMatchObject({
      infoSupported: true,
      versionLength: 8,
      firmwareVersion: '26',
      jumpers: 0x0b,
      hardwareId: '3485182a7f10000126',
      celsius: 34,
      supplyMillivolts: 5_021,
      busMaxDecivolts: 193,
      busMinDecivolts: 97,
      resetCause: 'power_on',
      rssiDbm: -58,
    })
  })

  it('finds a free source address by listening and probing, and sends nothing before', async () => {
    const { port } = await simulator({ chatter: true, speed: 100 })
    const heating = bus(port, { source: 'auto' })
    await ready(heating)
    expect(heating.status().address).toBeUndefined()
    expect(answer(await ask(heating, '15 0704', 20_000))).toBe(IDENTITY)
    expect(heating.status()).toMatchObject({ source: 'admitted', address: 0xff })
    expect(heating.status().initiators).toContain(0x10)
  })

  it('fails with no-source when the deadline passes before an address is found', async () => {
    const { port } = await simulator()
    const heating = bus(port, { source: 'auto', listenMs: 60_000 })
    await ready(heating)
    expect(await ask(heating, '15 0704', 100)).toEqual({ ok: false, fault: { kind: 'no-source', state: 'listening' } })
  })

  it('gives each of a hundred concurrent callers its own answer', async () => {
    const { port, house } = await simulator({ speed: 50, chatter: true })
    const heating = bus(port, { queueCapacity: 128 })
    await ready(heating)
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => ask(heating, index % 2 === 0 ? '15 0704' : '26 0704', 50_000)),
    )
    expect(answers.map(answer)).toEqual(
      Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? IDENTITY : 'b556525f373101005904')),
    )
    expect(house().zones).toHaveLength(2)
  })

  it('refuses requests beyond its queue capacity', async () => {
    const { port } = await simulator()
    const heating = bus(port, { queueCapacity: 4 })
    await ready(heating)
    const results = await Promise.all(Array.from({ length: 10 }, () => ask(heating, '15 0704')))
    const full = results.filter((result) => !result.ok && result.fault.kind === 'queue-full')
    expect(full.length).toBeGreaterThan(0)
    expect(results.length - full.length).toBeGreaterThanOrEqual(4)
  })

  it('drops cancelled requests, waiting or in progress', async () => {
    const { port } = await simulator()
    const heating = bus(port)
    await ready(heating)
    const cancelled = new AbortController()
    const request = { target: 0x15, primary: 7, secondary: 4, data: new Uint8Array() }
    const sends = [1, 2, 3].map(() => heating.send(request, { deadlineMs: 5_000, signal: cancelled.signal }))
    cancelled.abort()
    for (const send of sends) expect(await send).toMatchObject({ ok: false, fault: { kind: 'cancelled' } })
    expect(answer(await ask(heating, '15 0704'))).toBe(IDENTITY)
  })

  it('distinguishes an absent device from one that refuses', async () => {
    const { port } = await simulator()
    const heating = bus(port)
    await ready(heating)
    expect(await ask(heating, '77 0704')).toEqual({ ok: false, fault: { kind: 'no-answer' } })
    expect(await ask(heating, '08 b599 00')).toEqual({ ok: false, fault: { kind: 'refused' } })
  })

  it('carries all requests of two gateways that share one bus, without mixing answers', async () => {
    const { port } = await simulator({ speed: 100, chatter: true })
    const gateways = [bus(port, { source: 0x31 }), bus(port, { source: 0x37 })]
    await Promise.all(gateways.map(ready))
    const hammer = async (gateway: EbusConnection): Promise<number> => {
      let right = 0
      for (let index = 0; index < 100; index++) if (answer(await ask(gateway, '15 0704', 30_000)) === IDENTITY) right++
      return right
    }
    expect(await Promise.all(gateways.map(hammer))).toEqual([100, 100])
  })
})

describe('connection over an enhanced adapter with a fault', () => {
  async function shaken(): Promise<{ simulated: EbusSimulator; heating: EbusConnection }> {
    const simulated = await simulator()
    const heating = bus(simulated.port)
    await ready(heating)
    return { simulated, heating }
  }

  /** Asks until the bus is well again. */
  async function recovers(heating: EbusConnection): Promise<string> {
    for (let tries = 0; tries < 400; tries++) {
      const result = await ask(heating, '15 0704', 2_000)
      if (result.ok) return answer(result)
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
    return 'never'
  }

  it('reports a repeatedly corrupt checksum as a garbled answer', async () => {
    const { simulated, heating } = await shaken()
    simulated.faults.corruptCrc(1)
    expect(answer(await ask(heating, '15 0704'))).toBe(IDENTITY)
    simulated.faults.corruptCrc(2)
    const request = { target: 0x15, primary: 7, secondary: 4, data: new Uint8Array() }
    expect(await heating.send(request, { deadlineMs: 5_000 })).toEqual({ ok: false, fault: { kind: 'answer-garbled' } })
    expect(await recovers(heating)).toBe(IDENTITY)
  })

  it('repeats a request that lost a symbol', async () => {
    const { simulated, heating } = await shaken()
    for (let round = 0; round < 5; round++) {
      simulated.faults.dropByte(1)
      expect(answer(await ask(heating, '15 0704'))).toBe(IDENTITY)
    }
  })

  it('reports a stuck bus as no signal, and recovers', async () => {
    const { simulated, heating } = await shaken()
    const complaint = awaited(heating, (event) => event.kind === 'adapter-error')
    const lost = awaited(heating, (event) => event.kind === 'signal' && !event.present)
    simulated.faults.stickBus(2_500)
    const result = await ask(heating, '15 0704', 5_000)
    expect(result).toMatchObject({ ok: false, fault: { kind: 'no-signal' } })
    expect(await complaint).toMatchObject({ side: 'ebus', code: 0 })
    await lost
    expect(await ask(heating, '15 0704', 5_000)).toMatchObject({ ok: false, fault: { kind: 'no-signal' } })
    await awaited(heating, (event) => event.kind === 'signal' && event.present)
    expect(await recovers(heating)).toBe(IDENTITY)
  })

  it('recovers from an answer that comes too late', async () => {
    const { simulated, heating } = await shaken()
    simulated.faults.slowResponse(60, 1)
    const request = { target: 0x15, primary: 7, secondary: 4, data: new Uint8Array() }
    const result = await heating.send(request, { deadlineMs: 5_000 })
    expect(result.ok || ['no-answer', 'answer-lost', 'collision'].includes(result.fault.kind)).toBe(true)
    expect(await recovers(heating)).toBe(IDENTITY)
  })

  it('reconnects after the connection was lost and refused for a while', async () => {
    const { simulated, heating } = await shaken()
    const down = awaited(heating, (event) => event.kind === 'disconnected')
    const pending = ask(heating, '77 0704', 5_000)
    simulated.faults.tcpDrop(200)
    expect(await pending).toMatchObject({ ok: false, fault: { kind: 'disconnected' } })
    await down
    expect(await recovers(heating)).toBe(IDENTITY)
    expect(heating.status().reconnects).toBeGreaterThan(0)
  })

  it('reports a restart of the adapter, and recovers', async () => {
    const { simulated, heating } = await shaken()
    // Within three seconds of our INIT a RESETTED is taken for its second answer.
    await new Promise((resolve) => setTimeout(resolve, 3_100))
    const noticed = awaited(heating, (event) => event.kind === 'adapter-reset')
    simulated.faults.adapterReset()
    await noticed
    expect(await recovers(heating)).toBe(IDENTITY)
    await expect.poll(() => heating.info()).toMatchObject({ resetCause: 'external_reset', restartCount: 1 })
  })

  it('recovers from an initiator that wins every arbitration', async () => {
    const { simulated, heating } = await shaken()
    simulated.faults.arbitrationStorm(40)
    const result = await ask(heating, '15 0704', 10_000)
    expect(result.ok || result.fault.kind === 'arbitration-lost').toBe(true)
    expect(await recovers(heating)).toBe(IDENTITY)
  })

  it('reports an adapter that does not exist as disconnected', async () => {
    const heating = bus(1)
    await awaited(heating, (event) => event.kind === 'disconnected')
    expect(await ask(heating, '15 0704')).toMatchObject({ ok: false, fault: { kind: 'disconnected' } })
  })
})
