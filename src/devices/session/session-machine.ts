/**
 * Session machine: `stepSession(session, input)`, the whole conversation with one device as a function.
 *
 * After every input the machine sends the next request that the device is ready for: `initialize`, a page of tools, or
 * a call. `nextSessionDeadline` (deadlines.ts) says when the machine needs a tick.
 */
import { decodeDeviceFrame, encodeAnnouncementMessage, encodeKeepAliveTextFrame } from '../wire/device-frame.ts'
import type { RpcMessage } from '../wire/rpc.ts'
import { decodeServerInfo } from '../wire/tool-list.ts'
import { internServerInfo } from './interned-tools.ts'
import {
  handleSpeechAbort,
  stopMicrophoneListening,
  handleUnexpectedAudio,
  NO_VOICE_BACKEND_ALERT,
} from './microphone-stop.ts'
import {
  cancelDeviceCall,
  dropDeviceCalls,
  enqueueDeviceCall,
  startNextDeviceCall,
  handleDeviceCallResult,
} from './device-call-queue.ts'
import { answerDeviceHello } from './hello-answer.ts'
import { requestToolPage, finishToolListing, handleToolPage } from './tool-listing.ts'
import type { SessionEffect, RpcRequestInFlight, SessionInput, SessionLink, DeviceSession } from './session.ts'
import { EMPTY_TOOL_LISTING_PROGRESS } from './session.ts'
import {
  failAllVoiceBackendRequests,
  completeRequestFromVoiceBackend,
  forwardToVoiceBackend,
  startRequestFromVoiceBackend,
  handleVoiceRelayMessage,
} from './session-voice.ts'
import { expireSessionDeadlines } from './deadlines.ts'
import type { SessionStepDraft } from './session-step-draft.ts'
import {
  startRpcRequest,
  addSessionEffect,
  addCallFaultEffect,
  addSendTextEffect,
  updateDraftSession,
  updateDraftLink,
} from './session-step-draft.ts'

const UNPROVEN_REQUEST_MS = 4_000
const NO_IDS: readonly number[] = []

export interface SessionStep {
  readonly session: DeviceSession
  readonly effects: readonly SessionEffect[]
}

export function stepSession(session: DeviceSession, input: SessionInput): SessionStep {
  const turn: SessionStepDraft = { session, effects: [], atMs: input.atMs }
  take(turn, input)
  advance(turn)
  return { session: turn.session, effects: turn.effects }
}

function take(turn: SessionStepDraft, input: SessionInput): void {
  switch (input.kind) {
    case 'connected':
      connect(turn, input)
      return
    case 'text':
      updateDraftLink(turn, { lastHeardMs: turn.atMs, unanswered: 0 })
      receiveText(turn, input.text)
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
      updateDraftLink(turn, { vision: input.vision, visionTold: false, visionStale: false })
      return
    case 'announce':
      if (turn.session.link !== undefined)
        addSendTextEffect(turn, encodeAnnouncementMessage(turn.session.sessionId, input.announcement))
      return
    case 'voice':
      handleVoiceRelayMessage(turn, input.input)
      return
    case 'audio':
      handleUnexpectedAudio(turn)
      return
    case 'relist':
      if (turn.session.phase === 'ready')
        updateDraftSession(turn, {
          phase: 'listing',
          listing: EMPTY_TOOL_LISTING_PROGRESS,
          attempts: 0,
          retryAtMs: undefined,
        })
      return
    case 'tick':
      expireSessionDeadlines(turn)
      return
    default:
      input satisfies never
  }
}

function connect(turn: SessionStepDraft, input: Extract<SessionInput, { kind: 'connected' }>): void {
  // The newest connection replaces the older one, which the caller closes.
  if (turn.session.link !== undefined) disconnect(turn, 'replaced')
  const { transport, seed, vision, udp, atMs } = input
  updateDraftSession(turn, {
    // Written out member by member: V8 keeps the properties of a literal in the object itself, and those of a spread
    // outside of it.
    link: {
      transport,
      openedAtMs: atMs,
      seed,
      vision,
      visionTold: false,
      visionStale: false,
      overdue: NO_IDS,
      udp,
      greetings: 0,
      lastSentMs: atMs,
      lastHeardMs: atMs,
      unanswered: 0,
      closing: false,
      hello: undefined,
      microphone: undefined,
    },
    transport,
    // A WebSocket device ignores requests until its hello was answered; over MQTT it answers from the first moment.
    // Behind the owner's broker it may not be connected at all, and counts as connected only after its first message.
    phase: transport === 'mqtt' ? 'initialising' : 'greeting',
    round: turn.session.round + 1,
    attempts: 0,
    listing: EMPTY_TOOL_LISTING_PROGRESS,
  })
  if (transport === 'mqtt') addSessionEffect(turn, { kind: 'online' })
}

function disconnect(turn: SessionStepDraft, reason: string): void {
  if (turn.session.link === undefined) return
  const wasOnline = turn.session.phase !== 'greeting'
  updateDraftSession(turn, {
    link: undefined,
    phase: 'asleep',
    sessionId: '',
    retryAtMs: undefined,
    listing: EMPTY_TOOL_LISTING_PROGRESS,
  })
  failAllVoiceBackendRequests(turn)
  dropDeviceCalls(turn)
  if (wasOnline) addSessionEffect(turn, { kind: 'offline', reason })
}

function receiveText(turn: SessionStepDraft, text: string): void {
  const { link } = turn.session
  if (link === undefined) return
  if (turn.session.phase === 'greeting' && link.transport === 'mqtt-broker') {
    updateDraftSession(turn, { phase: 'initialising' })
    addSessionEffect(turn, { kind: 'online' })
  }
  const frame = decodeDeviceFrame(text)
  if (!frame.ok) {
    addSessionEffect(turn, { kind: 'ignored', what: frame.fault.kind })
    return
  }
  if (frame.value.kind === 'hello') {
    if (!turn.session.settings.hasVoice) answerDeviceHello(turn, link, frame.value.hello)
    else {
      // The device gets the backend's hello, or ours if there is no backend.
      updateDraftLink(turn, { hello: frame.value.hello })
      addSessionEffect(turn, { kind: 'voice', output: { kind: 'hello', text } })
    }
    return
  }
  if (turn.session.phase === 'greeting') {
    addSessionEffect(turn, { kind: 'ignored', what: 'before-hello' })
    return
  }
  if (frame.value.kind === 'mcp') receiveRpc(turn, frame.value.message)
  else if (frame.value.kind === 'ping') addSendTextEffect(turn, encodeKeepAliveTextFrame(turn.session.sessionId))
  else if (turn.session.settings.hasVoice) forwardToVoiceBackend(turn, frame.value, text)
  else if (frame.value.kind === 'goodbye') updateDraftSession(turn, { sessionId: '' })
  else if (frame.value.kind === 'abort') handleSpeechAbort(turn, frame.value)
  else if (frame.value.kind !== 'listen') addSessionEffect(turn, { kind: 'ignored', what: frame.value.type })
  else if (frame.value.state === 'start')
    stopMicrophoneListening(turn, link, { mode: frame.value.mode, notice: NO_VOICE_BACKEND_ALERT })
}

function receiveRpc(turn: SessionStepDraft, message: RpcMessage): void {
  if (message.kind === 'notification') {
    addSessionEffect(turn, { kind: 'notification', method: message.method, params: message.params })
    if (turn.session.settings.hasVoice) {
      const { method, params = {} } = message
      addSessionEffect(turn, { kind: 'voice', output: { kind: 'notification', method, params } })
    }
    if (message.method === 'notifications/tools/list_changed') relistSoon(turn)
    return
  }
  if (message.kind === 'request') {
    addSessionEffect(turn, { kind: 'ignored', what: 'request-from-device' })
    return
  }
  const { flight, link } = turn.session
  if (flight?.id !== message.id) {
    updateDraftLink(turn, { overdue: (link?.overdue ?? []).filter((id) => id !== message.id) })
    addSessionEffect(turn, { kind: 'ignored', what: 'late-answer' })
    return
  }
  updateDraftSession(turn, { flight: undefined })
  land(turn, flight, message)
}

/**
 * Lists again after a pause, once for several requests: a device that announces a change after every listing would
 * otherwise be listed endlessly.
 */
function relistSoon(turn: SessionStepDraft): void {
  const { phase, settings, retryAtMs = Number.POSITIVE_INFINITY } = turn.session
  if (phase === 'ready') updateDraftSession(turn, { retryAtMs: Math.min(retryAtMs, turn.atMs + settings.retryMs) })
}

function land(
  turn: SessionStepDraft,
  flight: RpcRequestInFlight,
  message: Extract<RpcMessage, { kind: 'result' | 'error' }>,
): void {
  const { purpose } = flight
  if (purpose.kind === 'probe' || purpose.kind === 'vision') return
  if (purpose.kind === 'call') {
    if (purpose.abandoned) return
    if (message.kind === 'result') handleDeviceCallResult(turn, purpose.waiting, message.result)
    else addCallFaultEffect(turn, purpose.waiting.call, { kind: 'device-error', ...message.error })
    return
  }
  if (purpose.kind === 'request') {
    completeRequestFromVoiceBackend(turn, purpose.key, message)
    return
  }
  if (purpose.round !== turn.session.round) return
  if (purpose.kind === 'initialise') {
    if (message.kind === 'result')
      updateDraftSession(turn, { info: internServerInfo(decodeServerInfo(message.result)) })
    // A device that refuses `initialize` may still list its tools: stock firmware does not enforce the order.
    updateDraftSession(turn, { phase: 'listing', listing: EMPTY_TOOL_LISTING_PROGRESS, attempts: 0 })
  } else if (message.kind === 'result') handleToolPage(turn, message.result)
  else finishToolListing(turn, message.error.message)
}

function advance(turn: SessionStepDraft): void {
  const { link, flight, phase, retryAtMs, queue } = turn.session
  if (link === undefined || link.closing || flight !== undefined) return
  if (phase === 'ready') {
    if (link.visionStale) return
    // Any tool may turn out to take a picture, so no call is sent before the device has a token that it can use.
    const [request] = turn.session.requests
    const isDue = queue.length > 0 || request?.method === 'tools/call'
    if (isDue && link.vision !== undefined && !link.visionTold) initialise(turn, link, 'vision')
    // Requests of the backend and calls are served in the order of their arrival.
    else if (request !== undefined && request.sinceMs <= (queue[0]?.sinceMs ?? Number.POSITIVE_INFINITY)) {
      startRequestFromVoiceBackend(turn, request)
      advance(turn)
    } else startNextDeviceCall(turn)
    return
  }
  if (retryAtMs !== undefined && retryAtMs > turn.atMs) return
  if (phase === 'initialising' || (phase === 'greeting' && link.transport === 'mqtt-broker'))
    initialise(turn, link, 'initialise')
  else if (phase === 'listing') requestToolPage(turn)
}

/**
 * Sends `initialize`, again whenever the picture token changes, because firmware keeps the token that it was told last.
 */
function initialise(turn: SessionStepDraft, { vision }: SessionLink, kind: 'initialise' | 'vision'): void {
  const { round, settings, phase } = turn.session
  updateDraftLink(turn, { visionTold: true })
  // It is not known yet whether a device is connected, so the time-out is short and the request is repeated.
  const timeoutMs = phase === 'greeting' ? Math.min(settings.requestMs, UNPROVEN_REQUEST_MS) : settings.requestMs
  startRpcRequest(turn, {
    method: 'initialize',
    params: { capabilities: vision === undefined ? {} : { vision: { url: vision.url, token: vision.token } } },
    purpose: { kind, round },
    timeoutMs,
  })
}
