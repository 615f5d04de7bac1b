/**
 * Greeting: the answer to a device's hello. It must come before anything else and within ten seconds.
 *
 * Pure: ids and keys are derived from the link's seed and the number of the hello.
 */
import { createHmac } from 'node:crypto'
import type { DeviceHello } from '../wire/hello.ts'
import { encodeUdpHello, encodeWebSocketHello } from '../wire/hello.ts'
import { parseJsonObject } from '../wire/json-text.ts'
import type { UdpKeys } from '../wire/udp-audio.ts'
import { stopWatchingMicrophone } from './microphone.ts'
import type { SessionLink } from './session.ts'
import { NO_LISTING } from './session.ts'
import type { SessionTurn } from './session-turn.ts'
import { emitEffect, sendText, updateSession, updateLink } from './session-turn.ts'

/** Every hello starts discovery again: the device may have been flashed, or be another board behind the same id. */
export function greetDevice(turn: SessionTurn, link: SessionLink, hello: DeviceHello, backend?: string): void {
  const greetings = link.greetings + 1
  const own = derive(link.seed, `session ${greetings}`).slice(0, 32)
  const answer = backend === undefined ? helloAnswer(link, greetings, own) : backendHello(link, greetings, backend)
  const sessionId = backend === undefined ? own : sessionIn(backend)
  stopWatchingMicrophone(turn, link)
  updateLink(turn, { greetings, hello: undefined })
  // Before the answer leaves, so that no packet can be too early.
  if (link.transport === 'mqtt' && link.udp !== undefined)
    emitEffect(turn, { kind: 'audio-keys', keys: udpKeys(link, greetings) })
  sendText(turn, answer)
  const { phase, round, flight } = turn.session
  if (phase === 'greeting') emitEffect(turn, { kind: 'online' })
  // Through somebody else's broker, a question from before the hello may never have reached it. A call keeps its time.
  if (link.transport === 'mqtt-broker' && flight?.purpose.kind !== 'call') updateSession(turn, { flight: undefined })
  updateSession(turn, { sessionId, round: round + 1, attempts: 0, retryAtMs: undefined, listing: NO_LISTING })
  if (hello.mcp) {
    updateSession(turn, { phase: 'initialising' })
    return
  }
  updateSession(turn, { phase: 'ready', tools: [], warnings: ['the device does not announce MCP'] })
  emitEffect(turn, { kind: 'tools', changed: true })
}

function helloAnswer(link: SessionLink, greetings: number, sessionId: string): string {
  if (link.transport === 'websocket') return encodeWebSocketHello(sessionId)
  // A device that gets no UDP endpoint shows an alert; with a broker of somebody else's we may have none to offer.
  const { server, port } = link.udp ?? { server: '127.0.0.1', port: 9 }
  return encodeUdpHello(sessionId, { server, port, ...udpKeys(link, greetings) })
}

/** The backend's own words; only the way the device reaches it by is ours. */
function backendHello(link: SessionLink, greetings: number, text: string): string {
  const message = parseJsonObject(text) ?? {}
  if (link.transport === 'websocket') {
    if (message['transport'] === 'websocket') return text
    const { udp: _udp, ...rest } = message
    return JSON.stringify({ ...rest, version: 1, transport: 'websocket' })
  }
  const { udp } = parseJsonObject(helloAnswer(link, greetings, '')) ?? {}
  return JSON.stringify({ ...message, version: 3, transport: 'udp', udp })
}

function sessionIn(text: string): string {
  const id = parseJsonObject(text)?.['session_id']
  return typeof id === 'string' ? id : ''
}

function udpKeys({ seed }: SessionLink, greetings: number): UdpKeys {
  const keyHex = derive(seed, `key ${greetings}`).slice(0, 32)
  const ssrc = derive(seed, `ssrc ${greetings}`).slice(0, 8)
  return { keyHex, nonceHex: `01000000${ssrc}0000000000000000` }
}

function derive(seed: string, what: string): string {
  return createHmac('sha256', seed).update(what).digest('hex')
}
