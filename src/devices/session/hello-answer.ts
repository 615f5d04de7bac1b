/**
 * Hello answer: the answer to a device's hello. It must come before anything else and within ten seconds.
 *
 * Pure: ids and keys are derived from the link's seed and the number of the hello.
 */
import { createHmac } from 'node:crypto'
import type { DeviceHello } from '../wire/hello.ts'
import { encodeUdpHello, encodeWebSocketHello } from '../wire/hello.ts'
import { parseBoundedJsonObject } from '../wire/bounded-json.ts'
import type { UdpAudioKeys } from '../wire/udp-audio.ts'
import { clearMicrophoneStopState } from './microphone-stop.ts'
import type { SessionLink } from './session.ts'
import { EMPTY_TOOL_LISTING_PROGRESS } from './session.ts'
import type { SessionStepDraft } from './session-step-draft.ts'
import { addSessionEffect, addSendTextEffect, updateDraftSession, updateDraftLink } from './session-step-draft.ts'

/** Every hello restarts discovery: the device may have new firmware, or be another board with the same id. */
export function answerDeviceHello(
  turn: SessionStepDraft,
  link: SessionLink,
  hello: DeviceHello,
  backend?: string,
): void {
  const greetings = link.greetings + 1
  const own = derive(link.seed, `session ${greetings}`, 16)
  const answer = backend === undefined ? helloAnswer(link, greetings, own) : backendHello(link, greetings, backend)
  const sessionId = backend === undefined ? own : sessionIn(backend)
  clearMicrophoneStopState(turn, link)
  updateDraftLink(turn, { greetings, hello: undefined })
  // The audio session is opened before the answer is sent, so that no packet arrives too early.
  if (link.transport === 'mqtt' && link.udp !== undefined)
    addSessionEffect(turn, { kind: 'audio-keys', keys: udpKeys(link, greetings) })
  addSendTextEffect(turn, answer)
  const { phase, round, flight } = turn.session
  if (phase === 'greeting') addSessionEffect(turn, { kind: 'online' })
  // Through the owner's broker, a request from before the hello may never have reached the device, so it is sent again.
  // A call keeps its time limit.
  if (link.transport === 'mqtt-broker' && flight?.purpose.kind !== 'call')
    updateDraftSession(turn, { flight: undefined })
  updateDraftSession(turn, {
    sessionId,
    round: round + 1,
    attempts: 0,
    retryAtMs: undefined,
    listing: EMPTY_TOOL_LISTING_PROGRESS,
  })
  if (hello.mcp) {
    updateDraftSession(turn, { phase: 'initialising' })
    return
  }
  updateDraftSession(turn, { phase: 'ready', tools: [], warnings: ['the device does not announce MCP'] })
  addSessionEffect(turn, { kind: 'tools', changed: true })
}

function helloAnswer(link: SessionLink, greetings: number, sessionId: string): string {
  if (link.transport === 'websocket') return encodeWebSocketHello(sessionId)
  // A device that is given no UDP endpoint shows an alert, so a placeholder is sent when the owner's broker has no UDP
  // audio.
  const { server, port } = link.udp ?? { server: '127.0.0.1', port: 9 }
  return encodeUdpHello(sessionId, { server, port, ...udpKeys(link, greetings) })
}

/** The backend's hello, changed only where it describes the transport, which is ours. */
function backendHello(link: SessionLink, greetings: number, text: string): string {
  const message = parseBoundedJsonObject(text) ?? {}
  if (link.transport === 'websocket') {
    if (message['transport'] === 'websocket') return text
    const { udp: _udp, ...rest } = message
    return JSON.stringify({ ...rest, version: 1, transport: 'websocket' })
  }
  const { udp } = parseBoundedJsonObject(helloAnswer(link, greetings, '')) ?? {}
  return JSON.stringify({ ...message, version: 3, transport: 'udp', udp })
}

function sessionIn(text: string): string {
  const id = parseBoundedJsonObject(text)?.['session_id']
  return typeof id === 'string' ? id : ''
}

function udpKeys({ seed }: SessionLink, greetings: number): UdpAudioKeys {
  const keyHex = derive(seed, `key ${greetings}`, 16)
  const ssrc = derive(seed, `ssrc ${greetings}`, 4)
  return { keyHex, nonceHex: `01000000${ssrc}0000000000000000` }
}

function derive(seed: string, what: string, bytes: number): string {
  return createHmac('sha256', seed).update(what).digest().toString('hex', 0, bytes)
}
