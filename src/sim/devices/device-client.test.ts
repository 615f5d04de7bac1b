import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { WebSocket } from 'ws'
import { WebSocketServer } from 'ws'
import { listenLocally } from '../../../test/local-port.ts'
import type { JsonObject } from '../../core/json.ts'
import { startDeviceSimulator } from './device-client.ts'
import { createNumberedIdentity } from './identity.ts'
import type { SimulatedDevice, DeviceSimulatorOptions } from './simulated-device.ts'
import type { FirmwareTool } from './firmware-tool.ts'
import { FirmwareToolError } from './firmware-tool.ts'

const HELLO = '{"type":"hello","transport":"websocket","session_id":"S1"}'
const SLOW: FirmwareTool = { name: 'self.slow', description: '', properties: [], takesMs: 80, run: () => 'slow' }
const THROWS: FirmwareTool = {
  name: 'self.throws',
  description: '',
  properties: [],
  run: () => {
    throw new FirmwareToolError('no')
  },
}

/** A backend that writes down what it hears, and answers only what a test tells it to. */
class Backend {
  readonly http = createServer()
  readonly server = new WebSocketServer({ server: this.http })
  readonly heard: string[] = []
  readonly requests: string[][] = []
  sockets: WebSocket[] = []
  pongs = 0
  greets = true

  async listen(): Promise<string> {
    this.server.on('connection', (socket, request) => {
      this.sockets.push(socket)
      this.requests.push(request.rawHeaders)
      if (this.greets) socket.once('message', () => socket.send(HELLO))
      socket.on('message', (data: Buffer, isBinary) =>
        this.heard.push(isBinary ? `binary ${data.length}` : data.toString()),
      )
      socket.on('pong', () => this.pongs++)
    })
    const port = await listenLocally(this.http)
    return `ws://127.0.0.1:${port}/xiaozhi/v1/`
  }

  get socket(): WebSocket {
    const socket = this.sockets.at(-1)
    if (socket === undefined) throw new Error('nobody is connected')
    return socket
  }

  call(id: number, name: string): void {
    const payload = { jsonrpc: '2.0', method: 'tools/call', params: { name }, id }
    this.socket.send(JSON.stringify({ type: 'mcp', payload }))
  }

  payloads(): JsonObject[] {
    return this.heard.flatMap((text) => {
      const payload = /"payload":(\{.*\})\}$/.exec(text)?.[1]
      return payload === undefined ? [] : [JSON.parse(payload) as JsonObject]
    })
  }
}

describe('a simulated device', () => {
  const backend = new Backend()
  let url: string
  const devices: SimulatedDevice[] = []
  beforeAll(async () => {
    url = await backend.listen()
  })
  afterAll(() => {
    for (const device of devices) device.stop()
    backend.server.close()
    backend.http.close()
  })

  const start = async (options: Partial<DeviceSimulatorOptions> = {}, greet = true) => {
    backend.heard.length = 0
    const device = await startDeviceSimulator({
      profile: 'fw-2.4',
      kind: 'speaker',
      identity: createNumberedIdentity(77),
      websocket: { url, token: 'T' },
      tools: [SLOW, THROWS],
      ...options,
    })
    devices.push(device)
    backend.greets = greet
    return device
  }

  it('sends its headers in the order of the firmware, and Host without the port', async () => {
    const device = await start()
    await device.wake()
    const headers = backend.requests.at(-1) ?? []
    expect(headers.filter((_line, index) => index % 2 === 0)).toEqual([
      'Host',
      'Authorization',
      'Client-Id',
      'Connection',
      'Device-Id',
      'Protocol-Version',
      'Sec-WebSocket-Key',
      'Sec-WebSocket-Version',
      'Upgrade',
    ])
    expect(headers.slice(0, 4)).toEqual(['Host', '127.0.0.1', 'Authorization', 'Bearer T'])
  })

  it('sends the hello of the firmware, without a session id', async () => {
    const device = await start()
    await device.wake()
    expect(backend.heard[0]).toBe(
      '{"type":"hello","version":1,"features":{"mcp":true,"glyph_push":false},"transport":"websocket","audio_params":{"format":"opus","sample_rate":16000,"channels":1,"frame_duration":60}}',
    )
    expect(device.sessionId()).toBe('S1')
    expect(device.channelOpen()).toBe(true)
  })

  it('is not connected before it is woken', async () => {
    const device = await start()
    expect(device.connected()).toBe(false)
  })

  it('gives up without a hello in answer, or with one for another transport', async () => {
    const device = await start({ timing: { helloMs: 2_000 } }, false)
    backend.server.once('connection', (socket) => socket.send('{"type":"hello","session_id":"S1"}'))
    await expect(device.wake()).rejects.toThrow('nobody answered the hello')
    expect(device.shown()).toEqual(['network error'])
    expect(device.connected()).toBe(false)
  })

  it('closes its channel some time after the last data frame, and pings do not count', async () => {
    const device = await start({ timing: { channelMs: 200 } })
    await device.wake()
    backend.socket.ping()
    await expect.poll(() => device.channelOpen()).toBe(false)
    expect(device.connected()).toBe(true)
    // Said again with every look: on a busy machine the channel may have closed once more before anybody looked.
    await vi.waitFor(
      () => {
        backend.socket.send('{"type":"anything"}')
        expect(device.channelOpen()).toBe(true)
      },
      { timeout: 60_000 },
    )
  })

  it('delays every answer behind a slow tool, as the main loop does', async () => {
    const device = await start()
    await device.wake()
    backend.call(4, 'self.throws')
    backend.call(5, 'self.slow')
    backend.call(6, 'self.get_device_status')
    await expect.poll(() => backend.payloads()).toHaveLength(3)
    expect(backend.payloads().map(({ id }) => id)).toEqual([4, 5, 6])
  })

  it('answers out of order before 2.0, where each call had a thread', async () => {
    const device = await start({ profile: 'fw-1.9' })
    await device.wake()
    backend.call(5, 'self.slow')
    backend.call(6, 'self.get_device_status')
    await expect.poll(() => backend.payloads()).toHaveLength(2)
    expect(backend.payloads().map(({ id }) => id)).toEqual([6, 5])
  })

  it('reads messages before the hello, and answers them after it', async () => {
    const device = await start({}, false)
    backend.server.once('connection', (socket) => {
      socket.send('{"type":"mcp","payload":{"jsonrpc":"2.0","method":"initialize","id":1}}')
      setTimeout(() => socket.send(HELLO), 40)
    })
    await device.wake()
    await expect.poll(() => backend.payloads()).toHaveLength(1)
    expect(backend.heard.at(-1)).toContain('"session_id":"S1"')
  })

  it('answers pings, unless it is a board that does not', async () => {
    const device = await start()
    await device.wake()
    backend.pongs = 0
    backend.socket.ping('x')
    await expect.poll(() => backend.pongs).toBe(1)
    device.faults.noPong = true
    backend.socket.ping('x')
    backend.call(9, 'self.get_device_status')
    await expect.poll(() => backend.payloads()).toHaveLength(1)
    expect(backend.pongs).toBe(1)
  })

  it('reads fragmented messages', async () => {
    const device = await start()
    await device.wake()
    const text = '{"type":"mcp","payload":{"jsonrpc":"2.0","method":"ping","id":3}}'
    backend.socket.send(text.slice(0, 20), { fin: false })
    backend.socket.send(text.slice(20), { fin: true })
    await expect.poll(() => backend.payloads()).toHaveLength(1)
  })

  it('closes the channel on a close frame, and leaves the socket to the backend', async () => {
    const device = await start()
    await device.wake()
    const { socket } = backend
    socket.close()
    await expect.poll(() => device.connected()).toBe(false)
    expect(socket.readyState).toBe(socket.CLOSING)
    socket.terminate()
  })

  it('sends audio as bare Opus in version 1', async () => {
    const device = await start()
    await device.wake()
    await device.speak(2)
    await expect.poll(() => backend.heard.filter((text) => text === 'binary 3')).toHaveLength(2)
  })

  // Seen of firmware 2.4.2 (run ws-life-v1): no answer, and TCP is closed about a second later.
  it('reboots without an answer when told to', async () => {
    const device = await start({ timing: { rebootMs: 10 } })
    await device.wake()
    backend.call(7, 'self.reboot')
    await expect.poll(() => device.connected()).toBe(false)
    expect(backend.payloads()).toEqual([])
  })
})
