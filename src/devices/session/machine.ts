/**
 * Machine: `step(session, input)`, the whole conversation with one device as a function.
 *
 * After every input the machine sends the one next thing the device is ready for: `initialize`, a page of tools, a
 * call. `nextSessionDeadline` (deadlines.ts) says when it wants to be woken by a tick, whatever else happens.
 */
import { decodeDeviceFrame, encodeAnnouncement, encodeKeepAlive } from '../wire/envelope.ts'
import type { RpcMessage } from '../wire/rpc.ts'
import { decodeServerInfo } from '../wire/tool-list.ts'
import { abortSpeech, endListening, hearAudio, NO_VOICE_BACKEND_ALERT } from './microphone.ts'
import { cancelDeviceCall, dropCalls, enqueueDeviceCall, startNextCall, takeCallResult } from './calls.ts'
import { greetDevice } from './greeting.ts'
import { askForPage, endListing, takePage } from './listing.ts'
import type { SessionEffect, RequestInFlight, SessionInput, SessionLink, DeviceSession } from './session.ts'
import { NO_LISTING } from './session.ts'
import {
  dropRequests,
  completeVoiceRequest,
  forwardToVoiceBackend,
  startRequest,
  handleVoiceInput,
} from './session-voice.ts'
import { expireDeadlines } from './deadlines.ts'
import type { SessionTurn } from './session-turn.ts'
import { sendRequest, emitEffect, refuseCall, sendText, updateSession, updateLink } from './session-turn.ts'

const KNOCK_MS = 4_000
const NO_IDS: readonly number[] = []

export interface SessionStep {
  readonly session: DeviceSession
  readonly effects: readonly SessionEffect[]
}

export function stepSession(session: DeviceSession, input: SessionInput): SessionStep {
  const turn: SessionTurn = { session, effects: [], atMs: input.atMs }
  take(turn, input)
  advance(turn)
  return { session: turn.session, effects: turn.effects }
}

function take(turn: SessionTurn, input: SessionInput): void {
  switch (input.kind) {
    case 'connected':
      connect(turn, input)
      return
    case 'text':
      updateLink(turn, { lastHeardMs: turn.atMs, unanswered: 0 })
      hear(turn, input.text)
      return
    case 'disconnected':
      disconnect(turn, input.reason)
      return
    case 'call':
      enqueueDeviceCall(turn, input.request)
      return
    case 'cancel':
      cancelDeviceCall(turn, input.call, input.late ?? false)
      return
    case 'vision':
      updateLink(turn, { vision: input.vision, visionTold: false, visionStale: false })
      return
    case 'announce':
      if (turn.session.link !== undefined)
        sendText(turn, encodeAnnouncement(turn.session.sessionId, input.announcement))
      return
    case 'voice':
      handleVoiceInput(turn, input.input)
      return
    case 'audio':
      hearAudio(turn)
      return
    case 'relist':
      if (turn.session.phase === 'ready')
        updateSession(turn, { phase: 'listing', listing: NO_LISTING, attempts: 0, retryAtMs: undefined })
      return
    case 'tick':
      expireDeadlines(turn)
      return
    default:
      input satisfies never
  }
}

function connect(turn: SessionTurn, input: Extract<SessionInput, { kind: 'connected' }>): void {
  // The newest connection wins; whoever holds the links closes the old one.
  if (turn.session.link !== undefined) disconnect(turn, 'replaced')
  const { transport, seed, vision, udp, atMs } = input
  const times = { openedAtMs: atMs, lastSentMs: atMs, lastHeardMs: atMs }
  const fresh = { visionTold: false, visionStale: false, overdue: NO_IDS, greetings: 0, unanswered: 0, closing: false }
  updateSession(turn, {
    link: { transport, seed, vision, udp, hello: undefined, microphone: undefined, ...fresh, ...times },
    transport,
    // A WebSocket device is deaf until it has been greeted; over MQTT it answers from the first moment. Behind somebody
    // else's broker it may not be there at all, and counts only once it has said something.
    phase: transport === 'mqtt' ? 'initialising' : 'greeting',
    round: turn.session.round + 1,
    attempts: 0,
    listing: NO_LISTING,
  })
  if (transport === 'mqtt') emitEffect(turn, { kind: 'online' })
}

function disconnect(turn: SessionTurn, reason: string): void {
  if (turn.session.link === undefined) return
  const wasOnline = turn.session.phase !== 'greeting'
  updateSession(turn, { link: undefined, phase: 'asleep', sessionId: '', retryAtMs: undefined, listing: NO_LISTING })
  dropRequests(turn)
  dropCalls(turn)
  if (wasOnline) emitEffect(turn, { kind: 'offline', reason })
}

function hear(turn: SessionTurn, text: string): void {
  const { link } = turn.session
  if (link === undefined) return
  if (turn.session.phase === 'greeting' && link.transport === 'mqtt-broker') {
    updateSession(turn, { phase: 'initialising' })
    emitEffect(turn, { kind: 'online' })
  }
  const frame = decodeDeviceFrame(text)
  if (!frame.ok) {
    emitEffect(turn, { kind: 'ignored', what: frame.fault.kind })
    return
  }
  if (frame.value.kind === 'hello') {
    if (!turn.session.settings.hasVoice) greetDevice(turn, link, frame.value.hello)
    else {
      // The hello that it hears is the backend's; ours only if there is none.
      updateLink(turn, { hello: frame.value.hello })
      emitEffect(turn, { kind: 'voice', output: { kind: 'hello', text } })
    }
    return
  }
  if (turn.session.phase === 'greeting') {
    emitEffect(turn, { kind: 'ignored', what: 'before-hello' })
    return
  }
  if (frame.value.kind === 'mcp') hearRpc(turn, frame.value.message)
  else if (frame.value.kind === 'ping') sendText(turn, encodeKeepAlive(turn.session.sessionId))
  else if (turn.session.settings.hasVoice) forwardToVoiceBackend(turn, frame.value, text)
  else if (frame.value.kind === 'goodbye') updateSession(turn, { sessionId: '' })
  else if (frame.value.kind === 'abort') abortSpeech(turn, frame.value)
  else if (frame.value.kind !== 'listen') emitEffect(turn, { kind: 'ignored', what: frame.value.type })
  else if (frame.value.state === 'start')
    endListening(turn, link, { mode: frame.value.mode, notice: NO_VOICE_BACKEND_ALERT })
}

function hearRpc(turn: SessionTurn, message: RpcMessage): void {
  if (message.kind === 'notification') {
    emitEffect(turn, { kind: 'notification', method: message.method, params: message.params })
    if (turn.session.settings.hasVoice) {
      const { method, params = {} } = message
      emitEffect(turn, { kind: 'voice', output: { kind: 'notification', method, params } })
    }
    if (message.method === 'notifications/tools/list_changed') relistSoon(turn)
    return
  }
  if (message.kind === 'request') {
    emitEffect(turn, { kind: 'ignored', what: 'request-from-device' })
    return
  }
  const { flight, link } = turn.session
  if (flight?.id !== message.id) {
    updateLink(turn, { overdue: (link?.overdue ?? []).filter((id) => id !== message.id) })
    emitEffect(turn, { kind: 'ignored', what: 'late-answer' })
    return
  }
  updateSession(turn, { flight: undefined })
  land(turn, flight, message)
}

/** After a pause, and once for many: a device that said so after every listing would be asked without end. */
function relistSoon(turn: SessionTurn): void {
  const { phase, settings, retryAtMs = Number.POSITIVE_INFINITY } = turn.session
  if (phase === 'ready') updateSession(turn, { retryAtMs: Math.min(retryAtMs, turn.atMs + settings.retryMs) })
}

function land(
  turn: SessionTurn,
  flight: RequestInFlight,
  message: Extract<RpcMessage, { kind: 'result' | 'error' }>,
): void {
  const { purpose } = flight
  if (purpose.kind === 'probe' || purpose.kind === 'vision') return
  if (purpose.kind === 'call') {
    if (purpose.abandoned) return
    if (message.kind === 'result') takeCallResult(turn, purpose.waiting, message.result)
    else refuseCall(turn, purpose.waiting.call, { kind: 'device-error', ...message.error })
    return
  }
  if (purpose.kind === 'request') {
    completeVoiceRequest(turn, purpose.key, message)
    return
  }
  if (purpose.round !== turn.session.round) return
  if (purpose.kind === 'initialise') {
    if (message.kind === 'result') updateSession(turn, { info: decodeServerInfo(message.result) })
    // A device that refuses to be initialised may still list: stock firmware does not insist on the order.
    updateSession(turn, { phase: 'listing', listing: NO_LISTING, attempts: 0 })
  } else if (message.kind === 'result') takePage(turn, message.result)
  else endListing(turn, message.error.message)
}

function advance(turn: SessionTurn): void {
  const { link, flight, phase, retryAtMs, queue } = turn.session
  if (link === undefined || link.closing || flight !== undefined) return
  if (phase === 'ready') {
    if (link.visionStale) return
    // Any tool may turn out to take a picture, so no call goes out before the device knows a token it can use.
    const [request] = turn.session.requests
    const isDue = queue.length > 0 || request?.method === 'tools/call'
    if (isDue && link.vision !== undefined && !link.visionTold) initialise(turn, link, 'vision')
    // First come, first served, whoever asks.
    else if (request !== undefined && request.sinceMs <= (queue[0]?.sinceMs ?? Number.POSITIVE_INFINITY)) {
      startRequest(turn, request)
      advance(turn)
    } else startNextCall(turn)
    return
  }
  if (retryAtMs !== undefined && retryAtMs > turn.atMs) return
  if (phase === 'initialising' || (phase === 'greeting' && link.transport === 'mqtt-broker'))
    initialise(turn, link, 'initialise')
  else if (phase === 'listing') askForPage(turn)
}

/** Repeated whenever the picture token changes: firmware keeps the one it was told last. */
function initialise(turn: SessionTurn, { vision }: SessionLink, kind: 'initialise' | 'vision'): void {
  const { round, settings, phase } = turn.session
  updateLink(turn, { visionTold: true })
  // Nobody knows yet whether anybody is there: rather ask again than wait.
  const timeoutMs = phase === 'greeting' ? Math.min(settings.requestMs, KNOCK_MS) : settings.requestMs
  sendRequest(turn, {
    method: 'initialize',
    params: { capabilities: vision === undefined ? {} : { vision: { url: vision.url, token: vision.token } } },
    purpose: { kind, round },
    timeoutMs,
  })
}
