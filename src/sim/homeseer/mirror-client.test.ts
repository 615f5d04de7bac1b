import { createServer, type Server } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listenLocally } from '../../../test/local-port.ts'
import { systemClock } from '../../core/clock.ts'
import { AsciiPushClient } from '../../homeseer/wire/ascii-push-client.ts'
import { JsonClient } from '../../homeseer/wire/json-client.ts'
import type { DeviceMirrorPollIntervals } from '../../homeseer/wire/device-mirror.ts'
import { DeviceMirrorClient } from '../../homeseer/wire/device-mirror-client.ts'
import { createWebhookHandler } from '../../homeseer/wire/webhook-handler.ts'
import { HARD_CASE_DEVICE_REFS } from './hard-case-devices.ts'
import { startHomeseerSimulator, type HomeseerSimulator } from './homeseer-server.ts'

const KEY = 'key-of-the-web-hook'
let simulator: HomeseerSimulator
let json: JsonClient
let mirror: DeviceMirrorClient
let ascii: AsciiPushClient | undefined
let listener: Server

beforeEach(async () => {
  listener = createServer()
  const hook = `http://127.0.0.1:${await listenLocally(listener)}/hook?key=${KEY}`
  simulator = await startHomeseerSimulator({ host: '127.0.0.1', httpPort: 0, asciiPort: 0, webhooks: [hook] })
})
afterEach(async () => {
  ascii?.stop()
  ascii = undefined
  mirror.stop()
  json.close()
  listener.closeAllConnections()
  listener.close()
  await simulator.stop()
})

function begin(rules: DeviceMirrorPollIntervals): void {
  const credentials = { user: 'default', password: 'default' }
  json = new JsonClient({
    baseUrl: `http://127.0.0.1:${simulator.httpPort}`,
    credentials,
    authentication: 'basic',
    timeoutMs: 5_000,
    readRetries: 1,
    readRetryBackoffMs: 10,
    allTriesMs: 25_000,
    restMs: 0,
    maxReplyBytes: 8_000_000,
  })
  mirror = new DeviceMirrorClient({ json, rules, clock: systemClock })
  mirror.start()
}

function listenToPush(): void {
  ascii = new AsciiPushClient({
    host: '127.0.0.1',
    port: simulator.asciiPort,
    credentials: { user: 'default', password: 'default' },
    pingMs: 60_000,
    patienceMs: 5_000,
    onChanges: (changes) => mirror.pushed('ascii', changes),
    onState: (state) => mirror.pushState(state.up),
  })
  ascii.start()
}

const lamp = () => mirror.entries.get(HARD_CASE_DEVICE_REFS.hallLamp)?.live

describe('HomeSeer mirror client', () => {
  it('follows devices by polling without push', async () => {
    begin({ pollMs: 20, resyncMs: 60_000 })
    await expect.poll(lamp).toMatchObject({ value: 35, status: 'Dim 35%', source: 'poll' })
    simulator.move(HARD_CASE_DEVICE_REFS.hallLamp, 60)
    await expect.poll(lamp).toMatchObject({ value: 60, status: 'Dim 60%', source: 'poll' })
    expect(mirror.structure).toBe(1)
  })

  it('follows devices by push, and reads the text that push does not carry', async () => {
    begin({ pollMs: 60_000, resyncMs: 60_000 })
    listenToPush()
    await expect.poll(() => mirror.pushUp && mirror.entries.size > 0).toBe(true)
    const sources: string[] = []
    mirror.subscribe((changes) =>
      sources.push(...changes.filter(({ ref }) => ref === 101).map(({ live }) => live.source)),
    )
    simulator.move(HARD_CASE_DEVICE_REFS.hallLamp, 60)
    await expect.poll(lamp).toMatchObject({ value: 60, status: 'Dim 60%' })
    expect(sources[0]).toBe('ascii')
  })

  it('reads the changes that it missed when push reconnects', async () => {
    begin({ pollMs: 60_000, resyncMs: 60_000 })
    listenToPush()
    await expect.poll(() => mirror.pushUp && mirror.entries.size > 0).toBe(true)
    simulator.faults.pushSilent = true
    simulator.move(HARD_CASE_DEVICE_REFS.hallLamp, 60)
    await expect.poll(() => simulator.house.stored(HARD_CASE_DEVICE_REFS.hallLamp)?.value).toBe(60)
    expect(lamp()?.value).toBe(35)
    simulator.hangUp('ascii')
    await expect.poll(lamp).toMatchObject({ value: 60 })
  })

  it('follows devices by web hook, with text and time', async () => {
    begin({ pollMs: 60_000, resyncMs: 60_000 })
    const handle = createWebhookHandler({ key: KEY, onChange: (change) => mirror.pushed('webhook', [change]) })
    listener.on('request', (request, response) => {
      const pieces: Uint8Array[] = []
      request.on('data', (piece: Uint8Array) => pieces.push(piece))
      request.on('end', () => {
        const init = { method: request.method ?? '', body: Buffer.concat(pieces) }
        void handle(new Request(`http://host${request.url}`, init)).then((answer) =>
          response.writeHead(answer.status).end(),
        )
      })
    })
    await expect.poll(() => mirror.entries.size).toBeGreaterThan(0)
    simulator.move(HARD_CASE_DEVICE_REFS.hallLamp, 60)
    await expect.poll(lamp).toMatchObject({ value: 60, status: 'Dim 60%', source: 'webhook' })
    expect(lamp()?.lastChangeMs).toBeTypeOf('number')
  })

  it('reads devices on demand, and knows the age of the others', async () => {
    begin({ pollMs: 60_000, resyncMs: 60_000 })
    await expect.poll(() => mirror.entries.size).toBeGreaterThan(0)
    simulator.house.store(HARD_CASE_DEVICE_REFS.hallLamp, { value: 77 }, Date.now())
    const read = await mirror.read([HARD_CASE_DEVICE_REFS.hallLamp, 9_999])
    expect(read.ok && [...read.value.keys()]).toEqual([HARD_CASE_DEVICE_REFS.hallLamp])
    expect(lamp()).toMatchObject({ value: 77, source: 'read' })
    const entry = mirror.entries.get(HARD_CASE_DEVICE_REFS.kitchenSwitch)
    expect(entry && mirror.ageMs(entry)).toBeGreaterThanOrEqual(0)
  })

  it('waits for a value, and gives up after the timeout', async () => {
    begin({ pollMs: 20, resyncMs: 60_000 })
    await mirror.refresh()
    const waiting = mirror.waitFor(HARD_CASE_DEVICE_REFS.hallLamp, (entry) => entry.live.value === 60, {
      timeoutMs: 10_000,
    })
    simulator.move(HARD_CASE_DEVICE_REFS.hallLamp, 60)
    expect((await waiting)?.live.value).toBe(60)
    expect(await mirror.waitFor(HARD_CASE_DEVICE_REFS.hallLamp, () => false, { timeoutMs: 20 })).toBeUndefined()
    const stopped = mirror.waitFor(HARD_CASE_DEVICE_REFS.hallLamp, () => false, { timeoutMs: 60_000 })
    mirror.stop()
    expect(await stopped).toBeUndefined()
  })

  it('reports why a read failed, and keeps the known values', async () => {
    begin({ pollMs: 60_000, resyncMs: 60_000 })
    await expect.poll(() => mirror.entries.size).toBeGreaterThan(0)
    simulator.faults.jsonDisabled = true
    expect(await mirror.refresh()).toMatchObject({ ok: false, fault: { kind: 'json-disabled' } })
    expect(lamp()?.value).toBe(35)
  })
})
