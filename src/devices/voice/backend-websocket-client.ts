/**
 * Backend WebSocket client: connects to a voice backend as the device would, with the device's identity.
 *
 * Audio is bare Opus (version 1), which every backend accepts whatever the header says.
 */
import { WebSocket } from 'ws'
import type { DeviceIdentity } from '../session/fleet.ts'
import type { WebSocketSettings } from '../wire/ota.ts'
import { VOICE_BACKEND_PING_INTERVAL_MS, MAX_UNANSWERED_PINGS } from './voice-backend.ts'
import type { VoiceBackendHandlers, VoiceBackendLink } from './voice-backend.ts'

const CONNECT_MS = 7_000
const MAX_MESSAGE_BYTES = 1_048_576
/** A backend that does not read gets no more audio when this many bytes wait for it. */
const MAX_UNSENT = 262_144

export function connectVoiceBackendOverWebSocket(
  { url, token }: WebSocketSettings,
  { deviceId, clientId }: DeviceIdentity,
  handlers: VoiceBackendHandlers,
): VoiceBackendLink {
  let isEnded = false
  let unansweredPings = 0
  const end = (isClean: boolean, reason: string) => {
    clearInterval(beat)
    if (isEnded) return
    isEnded = true
    handlers.closed(isClean, reason)
  }
  const socket = new WebSocket(url, {
    perMessageDeflate: false,
    handshakeTimeout: CONNECT_MS,
    maxPayload: MAX_MESSAGE_BYTES,
    headers: {
      'Device-Id': deviceId,
      'Client-Id': clientId,
      'Protocol-Version': '1',
      // As in firmware, a token with a blank is a complete header value, and an empty one means no header.
      ...(token === '' ? {} : { Authorization: token.includes(' ') ? token : `Bearer ${token}` }),
    },
  })
  const beat = setInterval(() => {
    if (socket.readyState !== socket.OPEN) return
    if (unansweredPings >= MAX_UNANSWERED_PINGS) {
      socket.terminate()
      end(false, 'it does not answer')
      return
    }
    unansweredPings++
    socket.ping(undefined, true, () => undefined)
  }, VOICE_BACKEND_PING_INTERVAL_MS)
  beat.unref()
  socket.on('pong', () => (unansweredPings = 0))
  socket.on('open', () => handlers.opened())
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    unansweredPings = 0
    if (isBinary) handlers.audio({ timestampMs: 0, opus: data })
    else handlers.text(data.toString('utf8'))
  })
  socket.on('close', (code: number) => end(code === 1_000 || code === 1_001 || code === 1_005, `closed (${code})`))
  socket.on('error', (error) => {
    socket.terminate()
    end(false, error.message)
  })
  return {
    send: (text) => {
      if (socket.readyState === socket.OPEN && socket.bufferedAmount <= MAX_UNSENT) socket.send(text, () => undefined)
    },
    sendAudio: ({ opus }) => {
      // Audio that cannot be sent now is dropped, because old audio is useless.
      if (socket.readyState === socket.OPEN && socket.bufferedAmount <= MAX_UNSENT)
        socket.send(opus, { binary: true }, () => undefined)
    },
    close: () => {
      isEnded = true
      clearInterval(beat)
      socket.close(1_000)
      setTimeout(() => socket.terminate(), 1_000).unref()
    },
  }
}
