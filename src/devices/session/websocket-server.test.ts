import { createServer } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { listenLocally } from '../../../test/local-port.ts'
import type { DeviceLink, DeviceLinkAttacher } from './fleet.ts'
import type { LivenessSettings } from './liveness.ts'
import type { WebSocketDeviceServer } from './websocket-server.ts'
import { createWebSocketDeviceServer } from './websocket-server.ts'

const IDENTITY = { deviceId: 'a0:b1:c2:d3:e4:f5', clientId: '7b94d69a-9808-4c59-9c9b-704333b38aff' }
const HEADERS = { 'device-id': IDENTITY.deviceId, 'client-id': IDENTITY.clientId, authorization: 'Bearer T' }

/** A acceptor that keeps what it hears, so that only the server is under test. */
class Quay implements DeviceLinkAttacher {
  readonly texts: string[] = []
  readonly closed: string[] = []
  stirred = 0
  links: DeviceLink[] = []
  readonly attach: DeviceLinkAttacher['attach'] = (_identity, link) => {
    this.links.push(link)
    return {
      text: (text) => void this.texts.push(text),
      audio: () => undefined,
      stir: () => void this.stirred++,
      closed: (reason) => void this.closed.push(reason),
    }
  }
}

describe('WebSocket server', () => {
  const server = createServer()
  let quay: Quay
  let devices: WebSocketDeviceServer
  let port: number
  let token: string
  const open = async (liveness?: LivenessSettings, maxConnections = 4) => {
    devices = createWebSocketDeviceServer({
      server,
      acceptor: quay,
      admit: (claim) => Promise.resolve(claim.kind === 'token' && claim.token === token ? IDENTITY : undefined),
      maxConnections,
      ...(liveness === undefined ? {} : { liveness }),
    })
    port = await listenLocally(server)
  }
  const dial = (options = {}, path = '/xiaozhi/v1/') =>
    new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers: HEADERS, ...options })
  const welcome = (socket: WebSocket) => new Promise<void>((resolve) => socket.once('open', () => resolve()))
  const refusal = (socket: WebSocket) =>
    new Promise<string>((resolve) => socket.once('error', (error) => resolve(error.message)))
  beforeEach(() => {
    quay = new Quay()
    token = 'T'
  })
  afterEach(async () => {
    devices.close()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  })

  it('forwards text frames and drops audio frames of every protocol version', async () => {
    await open()
    const [one, two, three] = ['1', '2', '3'].map((version) =>
      dial({ headers: { ...HEADERS, 'protocol-version': version } }),
    )
    for (const [socket, frame] of [
      [one, '01020304'],
      [two, '0002000000000000000000000000000401020304'],
      [three, '0000000401020304'],
      [three, '0000000901020304'],
    ] as const) {
      if (socket?.readyState !== WebSocket.OPEN) await new Promise((resolve) => socket?.once('open', resolve))
      socket?.send(Buffer.from(frame, 'hex'))
    }
    const socket = three ?? dial()
    socket.send('héllo')
    await expect.poll(() => quay.texts).toEqual(['héllo'])
    await expect.poll(() => devices.dropped()).toEqual({ audio: 3, other: 1 })
    expect(quay.links[0]).toMatchObject({
      transport: 'websocket',
      remoteAddress: '127.0.0.1',
      localAddress: '127.0.0.1',
    })
  })

  it('negotiates no compression and no subprotocol', async () => {
    await open()
    const socket = dial({ perMessageDeflate: true })
    await welcome(socket)
    expect([socket.extensions, socket.protocol]).toEqual(['', ''])
  })

  it('answers 404 to another path, 401 to a wrong token and 503 beyond its connection limit', async () => {
    await open(undefined, 1)
    expect(await refusal(dial({}, '/elsewhere'))).toContain('404')
    expect(await refusal(dial({ headers: { ...HEADERS, authorization: 'Bearer x' } }))).toContain('401')
    await welcome(dial())
    expect(await refusal(dial())).toContain('503')
    expect(devices.connections()).toBe(1)
  })

  it('refuses a device whose credentials are revoked between the request and its answer', async () => {
    await open()
    server.once('upgrade', () => (token = 'another'))
    expect(await refusal(dial())).toContain('401')
    expect(quay.links).toEqual([])
  })

  it('keeps to its connection limit when devices connect at the same moment', async () => {
    await open(undefined, 1)
    const outcomes = await Promise.all(
      [dial(), dial(), dial()].map((socket) => Promise.race([refusal(socket), welcome(socket)])),
    )
    expect(outcomes.filter((outcome) => outcome === undefined)).toHaveLength(1)
    expect(quay.links).toHaveLength(1)
  })

  it('accepts no connection after it is closed, even if the upgrade was requested before', async () => {
    await open()
    server.once('upgrade', () => devices.close())
    expect(await refusal(dial())).toContain('503')
    expect(quay.links).toEqual([])
  })

  it('closes the connection on a message that exceeds the maximum payload', async () => {
    await open()
    const socket = dial()
    await welcome(socket)
    socket.send('x'.repeat(200_000))
    await expect.poll(() => quay.closed).toEqual(['Max payload size exceeded'])
    expect(quay.texts).toEqual([])
  })

  it('accepts a burst of 1,000 audio frames, and closes on a device that does not stop', async () => {
    await open()
    const socket = dial()
    await welcome(socket)
    const frame = Buffer.from('01020304', 'hex')
    for (let each = 0; each < 1_000; each++) socket.send(frame)
    await expect.poll(() => devices.dropped().audio).toBe(1_000)
    expect(quay.closed).toEqual([])
    for (let each = 0; each < 2_000; each++) socket.send(frame)
    await expect.poll(() => quay.closed).toEqual(['too many frames'])
  })

  it('counts a pong as a sign of life', async () => {
    await open({ pingMs: 10, missedPings: 3, silenceMs: 60_000 })
    await welcome(dial())
    await expect.poll(() => quay.stirred).toBeGreaterThan(0)
  })

  it('answers pings, and closes the connection of a device that sends thousands of them', async () => {
    await open()
    const socket = dial()
    await welcome(socket)
    const pong = new Promise<string>((resolve) => socket.once('pong', (data) => resolve(data.toString())))
    socket.ping('are you there?')
    expect(await pong).toBe('are you there?')
    for (let each = 0; each < 2_000; each++) socket.ping()
    await expect.poll(() => quay.closed).toEqual(['too many frames'])
  })

  it('closes a connection although the device does not answer the close frame', async () => {
    await open()
    const socket = dial()
    await welcome(socket)
    socket.pause()
    quay.links[0]?.close('enough')
    await expect.poll(() => quay.closed).toHaveLength(1)
    quay.links[0]?.send('into the void')
    socket.terminate()
  })

  it('keeps a device that sends messages without answering pings, and drops one that does neither', async () => {
    await open({ pingMs: 10, missedPings: 3, silenceMs: 1_500 })
    const [talks, silent] = [dial({ autoPong: false }), dial({ autoPong: false })]
    await Promise.all([welcome(talks), welcome(silent)])
    const talking = setInterval(() => talks.send('still here'), 10)
    await expect.poll(() => silent.readyState).toBe(WebSocket.CLOSED)
    expect(talks.readyState).toBe(WebSocket.OPEN)
    clearInterval(talking)
    await expect.poll(() => talks.readyState).toBe(WebSocket.CLOSED)
  })
})
