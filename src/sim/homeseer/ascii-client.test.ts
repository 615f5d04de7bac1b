import { createServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  AsciiPushClient,
  type AsciiPushClientOptions,
  type AsciiConnectionState,
} from '../../homeseer/wire/ascii-push-client.ts'
import type { AsciiDeviceChange } from '../../homeseer/wire/ascii.ts'
import { HARD_CASE_DEVICE_REFS } from './hard-case-devices.ts'
import { startHomeseerSimulator, type HomeseerSimulator } from './homeseer-server.ts'

let simulator: HomeseerSimulator
let client: AsciiPushClient | undefined
let states: AsciiConnectionState[]
let changes: AsciiDeviceChange[]

beforeEach(async () => {
  simulator = await startHomeseerSimulator({ host: '127.0.0.1', httpPort: 0, asciiPort: 0 })
  states = []
  changes = []
})
afterEach(async () => {
  client?.stop()
  await simulator.stop()
})

function listen(part: Partial<AsciiPushClientOptions> = {}): void {
  client = new AsciiPushClient({
    host: '127.0.0.1',
    port: simulator.asciiPort,
    credentials: { user: 'default', password: 'default' },
    pingMs: 60_000,
    patienceMs: 5_000,
    onChanges: (heard) => changes.push(...heard),
    onState: (state) => states.push(state),
    ...part,
  })
  client.start()
}

const seen = () => states.map((state) => (state.up ? 'up' : state.reason))

describe('HomeSeer ASCII client', () => {
  it('logs in and reports changes', async () => {
    listen()
    await expect.poll(seen).toEqual(['up'])
    simulator.move(HARD_CASE_DEVICE_REFS.hallLamp, 60)
    await expect.poll(() => changes).toMatchObject([{ ref: 101, value: 60, previous: 35 }])
  })

  it('reports changes without a login where none is configured', async () => {
    listen({ credentials: undefined })
    await expect.poll(seen).toEqual(['up'])
    simulator.move(HARD_CASE_DEVICE_REFS.hallLamp, 60)
    await expect.poll(() => changes.length).toBe(1)
  })

  it('reports that its login was refused', async () => {
    listen({ credentials: { user: 'default', password: 'wrong' } })
    await expect.poll(seen).toEqual(['refused'])
  })

  it('reconnects after a disconnection, and reports changes again', async () => {
    listen()
    await expect.poll(seen).toEqual(['up'])
    simulator.hangUp('ascii')
    await expect.poll(seen).toEqual(['up', 'lost', 'up'])
    simulator.move(HARD_CASE_DEVICE_REFS.hallLamp, 60)
    await expect.poll(() => changes.length).toBe(1)
  })

  it('reports silence when HomeSeer no longer answers, and reconnects', async () => {
    listen({ pingMs: 30, patienceMs: 50 })
    await expect.poll(() => seen()[0]).toBe('up')
    simulator.faults.asciiDeaf = true
    await expect.poll(() => seen()[1]).toBe('silent')
    simulator.faults.asciiDeaf = false
    await expect.poll(() => seen().at(-1)).toBe('up')
  })

  it('stays up without changes while HomeSeer answers its pings', async () => {
    listen({ pingMs: 10, patienceMs: 5_000 })
    await expect.poll(seen).toEqual(['up'])
    simulator.move(HARD_CASE_DEVICE_REFS.hallLamp, 60)
    await expect.poll(() => changes.length).toBe(1)
    expect(seen()).toEqual(['up'])
  })

  it('keeps trying while nothing listens', async () => {
    const port = simulator.asciiPort
    await simulator.stop()
    listen({ port })
    await expect.poll(() => seen().length).toBeGreaterThan(1)
    expect(new Set(seen())).toEqual(new Set(['lost']))
  })

  it('does not reconnect after it was stopped', async () => {
    const port = simulator.asciiPort
    await simulator.stop()
    listen({ port })
    await expect.poll(() => seen()[0]).toBe('lost')
    client?.stop()
    let callers = 0
    const server = createServer(() => callers++).listen(port, '127.0.0.1')
    // The next try would come after half a second at the latest.
    await wait(700)
    server.close()
    expect(callers).toBe(0)
  })

  it('does not reconnect when it is stopped from its own state listener', async () => {
    const port = simulator.asciiPort
    await simulator.stop()
    listen({
      port,
      onState: (state) => {
        states.push(state)
        client?.stop()
      },
    })
    await expect.poll(seen).toEqual(['lost'])
    let came = false
    const listener = createServer(() => (came = true)).listen(port, '127.0.0.1')
    await wait(1_500)
    listener.close()
    expect([came, seen()]).toEqual([false, ['lost']])
  })
})
