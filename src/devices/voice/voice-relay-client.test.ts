/** A voice backend at the far end of a real socket, which does what no honest one does. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { WebSocketServer } from 'ws'
import type { WebSocket } from 'ws'
import { systemClock } from '../../core/clock.ts'
import type { VoiceChannel } from '../session/fleet.ts'
import type { VoiceRelayToSessionMessage } from '../session/session.ts'
import type { AudioFrame } from '../wire/audio-frame.ts'
import { createVoiceRelayService } from './voice-relay-client.ts'

const HELLO = '{"type":"hello","version":1,"features":{"mcp":true},"transport":"websocket"}'
const LISTEN = (mode: string) => `{"session_id":"s","type":"listen","state":"start","mode":"${mode}"}`

let server: WebSocketServer
let far: WebSocket
let channel: VoiceChannel
let inputs: VoiceRelayToSessionMessage[]
let audio: AudioFrame[]
beforeEach(async () => {
  // Answers no pings, like a machine that has gone without a word.
  server = new WebSocketServer({ host: '127.0.0.1', port: 0, autoPong: false, perMessageDeflate: false })
  await once(server, 'listening')
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const websocket = { url, token: '' }
  ;[inputs, audio] = [[], []]
  const relays = createVoiceRelayService({
    address: async () => ({ kind: 'websocket', websocket }),
    onPresence: () => undefined,
    clock: systemClock,
  })
  channel = relays.open(
    { deviceId: '02:00:00:00:00:01', clientId: 'c' },
    { input: (input) => inputs.push(input), audio: (frame) => audio.push(frame) },
  )
  const arrived = once(server, 'connection')
  channel.output({ kind: 'hello', text: HELLO })
  ;[far] = (await arrived) as [WebSocket]
  await once(far, 'message')
  far.send('{"type":"hello","transport":"websocket","session_id":"s"}')
  await vi.waitUntil(() => inputs.length === 1)
})
afterEach(() => {
  channel.close()
  for (const client of server.clients) client.terminate()
  server.close()
})

describe('the voice relay of a device', () => {
  it('drops oversized audio packets and messages, and forwards what follows', async () => {
    // 65,536 bytes have no place in a v3 frame, whose size has two bytes.
    for (const size of [8_193, 65_536, 900_000, 8_192]) far.send(Buffer.alloc(size, 1), { binary: true })
    far.send(JSON.stringify({ type: 'stt', text: 'x'.repeat(70_000) }))
    far.send('{"type":"stt","text":"lamp"}')
    await expect.poll(() => inputs.length).toBe(2)
    expect(inputs[1]).toEqual({ kind: 'text', text: '{"type":"stt","text":"lamp"}' })
    expect(audio.map(({ opus }) => opus.length)).toEqual([8_192])
  })

  it.each(['auto', 'manual', 'realtime'])(
    'ends listening in mode %s when a backend floods it with messages',
    async (mode) => {
      channel.output({ kind: 'text', text: LISTEN(mode) })
      for (let count = 0; count < 1_000; count++) far.send('{"type":"llm","emotion":"happy"}')
      await expect.poll(() => inputs.at(-1)).toEqual({ kind: 'unheard', mode, isAlerted: false })
      expect(inputs.length).toBeLessThan(600)
    },
  )

  it('ends listening when a backend disappears without a close', async () => {
    channel.output({ kind: 'text', text: LISTEN('auto') })
    await expect
      .poll(() => inputs.at(-1), { timeout: 20_000 })
      .toEqual({
        kind: 'unheard',
        mode: 'auto',
        isAlerted: false,
      })
  })
})
