/**
 * Session voice: connects a session with a voice relay. Messages of the device that are not MCP are passed to the
 * backend; messages of the backend are sent to the device unchanged; the backend's MCP requests wait for their turn
 * like any call, with ids of our own.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { encodeGoodbyeMessage } from '../wire/device-frame.ts'
import type { DeviceFrame } from '../wire/device-frame.ts'
import type { RpcMessage } from '../wire/rpc.ts'
import { answerDeviceHello } from './hello-answer.ts'
import {
  handleSpeechAbort,
  VOICE_BACKEND_UNREACHABLE_ALERT,
  stopMicrophoneListening,
  clearMicrophoneStopState,
} from './microphone-stop.ts'
import type { VoiceRelayToSessionMessage, RequestFromVoiceBackend } from './session.ts'
import type { SessionStepDraft } from './session-step-draft.ts'
import {
  startRpcRequest,
  addCloseLinkEffect,
  addSessionEffect,
  addSendTextEffect,
  updateDraftSession,
} from './session-step-draft.ts'

/** The same limit as for waiting calls. */
const MAX_REQUESTS = 16
const FAILED = -32_000

export function handleVoiceRelayMessage(turn: SessionStepDraft, input: VoiceRelayToSessionMessage): void {
  const { link, sessionId } = turn.session
  if (link === undefined) return
  switch (input.kind) {
    case 'hello':
      if (link.hello !== undefined) answerDeviceHello(turn, link, link.hello, input.text)
      return
    case 'away':
      if (link.hello !== undefined) answerDeviceHello(turn, link, link.hello)
      return
    case 'resumed':
      clearMicrophoneStopState(turn, link)
      return
    case 'unheard':
      stopMicrophoneListening(turn, link, {
        mode: input.mode,
        notice: input.isAlerted ? undefined : VOICE_BACKEND_UNREACHABLE_ALERT,
      })
      return
    case 'text':
      addSendTextEffect(turn, input.text)
      return
    case 'ended':
      if (link.transport === 'websocket') addCloseLinkEffect(turn, 'the voice backend ended it')
      else addSendTextEffect(turn, encodeGoodbyeMessage(sessionId))
      return
    case 'request':
      enqueueRequest(turn, input)
      return
    default:
      input satisfies never
  }
}

/**
 * An abort of speech that we started in order to shut the microphone is handled here; any other abort goes to the
 * backend.
 */
export function forwardToVoiceBackend(turn: SessionStepDraft, frame: DeviceFrame, text: string): void {
  const { link } = turn.session
  const isShut = link?.microphone !== undefined
  if (frame.kind === 'abort' && isShut) handleSpeechAbort(turn, frame)
  else {
    if (frame.kind === 'listen' && frame.state === 'start' && link !== undefined) clearMicrophoneStopState(turn, link)
    addSessionEffect(turn, { kind: 'voice', output: { kind: 'text', text } })
  }
}

function enqueueRequest(turn: SessionStepDraft, given: Extract<VoiceRelayToSessionMessage, { kind: 'request' }>): void {
  const { requests } = turn.session
  const { key, method, params, timeoutMs } = given
  if (requests.length >= MAX_REQUESTS) {
    answerRequest(turn, key, { error: { code: FAILED, message: 'The device is busy.' } })
    return
  }
  const request = { key, method, params, timeoutMs, sinceMs: turn.atMs, expiresAtMs: turn.atMs + timeoutMs }
  updateDraftSession(turn, { requests: [...requests, request] })
}

/** `initialize` is answered from what the device told us: sending it to the device would redirect its pictures. */
export function startRequestFromVoiceBackend(turn: SessionStepDraft, request: RequestFromVoiceBackend): void {
  const { requests, info, round } = turn.session
  const { key, method, params, timeoutMs } = request
  updateDraftSession(turn, { requests: requests.filter((each) => each !== request) })
  if (method !== 'initialize') {
    startRpcRequest(turn, { method, params, purpose: { kind: 'request', key, round }, timeoutMs })
    return
  }
  const serverInfo = { name: info?.name ?? '', version: info?.version ?? '' }
  const result = { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo }
  answerRequest(turn, key, { result })
}

export function completeRequestFromVoiceBackend(
  turn: SessionStepDraft,
  key: number,
  message: Extract<RpcMessage, { kind: 'result' | 'error' }>,
): void {
  if (message.kind === 'result') answerRequest(turn, key, { result: message.result })
  else {
    const { code, message: text } = message.error
    answerRequest(turn, key, { error: { ...(code === undefined ? {} : { code }), message: text } })
  }
}

export function failRequestFromVoiceBackend(turn: SessionStepDraft, key: number, message: string): void {
  answerRequest(turn, key, { error: { code: FAILED, message } })
}

export function expireRequestsFromVoiceBackend(turn: SessionStepDraft): void {
  const expired = turn.session.requests.filter(({ expiresAtMs }) => expiresAtMs <= turn.atMs)
  if (expired.length === 0) return
  updateDraftSession(turn, { requests: turn.session.requests.filter(({ expiresAtMs }) => expiresAtMs > turn.atMs) })
  for (const { key } of expired) failRequestFromVoiceBackend(turn, key, 'The device is busy. Nothing was sent.')
}

/** The connection is gone. It is not known whether the device carried out the requests that were sent. */
export function failAllVoiceBackendRequests(turn: SessionStepDraft): void {
  const { requests, flight } = turn.session
  if (flight?.purpose.kind === 'request')
    failRequestFromVoiceBackend(turn, flight.purpose.key, 'The device disconnected. It may have acted all the same.')
  for (const { key } of requests) failRequestFromVoiceBackend(turn, key, 'The device disconnected. Nothing was sent.')
  if (requests.length > 0) updateDraftSession(turn, { requests: NO_VOICE_REQUESTS })
}

const NO_VOICE_REQUESTS: readonly RequestFromVoiceBackend[] = []

function answerRequest(turn: SessionStepDraft, key: number, answer: { result: Json } | { error: JsonObject }): void {
  addSessionEffect(turn, { kind: 'voice', output: { kind: 'answer', key, answer } })
}
