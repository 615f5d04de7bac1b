/**
 * What the voice relay costs: processor time of the gateway for a second of audio both ways, beside a bare `ws` pipe
 * that passes the same frames on and looks at nothing.
 *
 * Twenty devices talk in real time for HEARTHBUS_BENCH_SECONDS (10): packets of 90 bytes every 60 ms in each direction,
 * first over WebSocket, then over MQTT and UDP, to a backend over WebSocket.
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { WebSocket, WebSocketServer } from 'ws'
import { startSimulatedFleet } from '../src/sim/devices/simulated-fleet.ts'
import type { SimulatedFleet } from '../src/sim/devices/simulated-fleet.ts'
import { Peer, until } from './devices.ts'

const DEVICES = 20
const FRAME_MS = 60
const seconds = Number(process.env['HEARTHBUS_BENCH_SECONDS'] ?? 10)
const OPUS = Uint8Array.from({ length: 90 }, (_, index) => index)
const HELLO = '{"type":"hello","version":1,"features":{"mcp":true},"transport":"websocket"}'

const backend = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false })
await once(backend, 'listening')
const far = new Set<WebSocket>()
let heard = 0
backend.on('connection', (socket) => {
  socket.on('close', () => far.delete(socket))
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (isBinary) heard++
    else if (data.toString().includes('"type":"hello"')) {
      socket.send('{"type":"hello","transport":"websocket","session_id":"s","audio_params":{"sample_rate":24000}}')
      socket.send('{"type":"tts","state":"start"}')
      far.add(socket)
    }
  })
})
const url = `ws://127.0.0.1:${(backend.address() as AddressInfo).port}/`

/** Everybody talks, in real time; processor milliseconds of the peer for one second of one device's audio. */
async function cost(peer: Peer, talk: () => void): Promise<number> {
  const began = await peer.ask<number>('cpuMs')
  const idleBegan = performance.now()
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  const idle = ((await peer.ask<number>('cpuMs')) - began) / (performance.now() - idleBegan)
  const before = await peer.ask<number>('cpuMs')
  const start = performance.now()
  for (let frame = 0; frame < (seconds * 1_000) / FRAME_MS; frame++) {
    const restMs = start + frame * FRAME_MS - performance.now()
    if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs))
    talk()
    for (const socket of far) socket.send(OPUS, { binary: true })
  }
  const spent = (await peer.ask<number>('cpuMs')) - before - idle * (performance.now() - start)
  return spent / (DEVICES * seconds)
}

const say = (text: string) => process.stdout.write(`${text}\n`)
const [gateway, pipe] = [new Peer('gateway', { backend: url }), new Peer('pipe', { backend: url })]
const fleets: SimulatedFleet[] = []
try {
  const ota = await gateway.ask<string>('ota')
  const sockets = await Promise.all(
    Array.from({ length: DEVICES }, async () => {
      const socket = new WebSocket(await pipe.ask<string>('url'), { perMessageDeflate: false })
      await once(socket, 'open')
      socket.send(HELLO)
      return socket
    }),
  )
  await until(async () => far.size === DEVICES)
  const bare = await cost(pipe, () => {
    for (const socket of sockets) socket.send(OPUS, { binary: true })
  })
  say(`bare ws pipe     ${bare.toFixed(2)} ms of CPU for a second of audio both ways`)
  for (const socket of sockets) socket.terminate()
  await until(async () => far.size === 0)
  for (const transport of ['websocket', 'mqtt']) {
    const fleet = await startSimulatedFleet({
      count: DEVICES,
      first: 1 + fleets.length * DEVICES,
      ota,
      awake: true,
      profile: 'fw-2.4',
      kind: 'speaker',
      timing: { activateMs: 100, activateErrorMs: 100, helloMs: 60_000 },
      onDeviceCode: (_, code) => void gateway.ask('approve', code, transport),
    })
    fleets.push(fleet)
    await until(async () => far.size === DEVICES)
    heard = 0
    const relayed = await cost(gateway, () => {
      for (const device of fleet.devices) void device.speak([OPUS])
    })
    const share = heard / (DEVICES * Math.ceil((seconds * 1_000) / FRAME_MS))
    say(
      `${`relay, ${transport}`.padEnd(16)} ${relayed.toFixed(2)} ms of CPU, × ${(relayed / bare).toFixed(1)} of the pipe, adds ${(relayed - bare).toFixed(2)} ms; ${(share * 100).toFixed(1)} % of the packets arrived`,
    )
    fleet.stop()
    await until(async () => far.size === 0)
  }
} finally {
  for (const fleet of fleets) fleet.stop()
  for (const peer of [gateway, pipe]) peer.end()
  backend.close()
  for (const client of backend.clients) client.terminate()
}
