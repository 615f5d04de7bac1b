/**
 * Session voice: what a session does with a voice relay. Words of the device that are not MCP are passed on; words of the
 * backend are sent as they are; the backend's MCP requests wait for their turn like any call, under ids of our own.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { encodeGoodbyeMessage } from '../wire/device-frame.ts'
import type { DeviceFrame } from '../wire/device-frame.ts'
import type { RpcMessage } from '../wire/rpc.ts'
import { answerDeviceHello } from './hello-answer.ts'
import {
  abortDeviceSpeech,
  VOICE_BACKEND_UNREACHABLE_ALERT,
  stopMicrophoneListening,
  stopWatchingMicrophone,
} from './microphone.ts'
import type { VoiceInput, VoiceRequest } from './session.ts'
import type { SessionStepDraft } from './session-step-draft.ts'
import {
  sendRpcRequest,
  closeSessionLink,
  addSessionEffect,
  sendTextToDevice,
  updateDraftSession,
} from './session-step-draft.ts'

/** As many as the calls that may wait. */
const MAX_REQUESTS = 16
const FAILED = -32_000

export function handleVoiceInput(turn: SessionStepDraft, input: VoiceInput): void {
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
      stopWatchingMicrophone(turn, link)
      return
    case 'unheard':
      stopMicrophoneListening(turn, link, {
        mode: input.mode,
        notice: input.isAlerted ? undefined : VOICE_BACKEND_UNREACHABLE_ALERT,
      })
      return
    case 'text':
      sendTextToDevice(turn, input.text)
      return
    case 'ended':
      if (link.transport === 'websocket') closeSessionLink(turn, 'the voice backend ended it')
      else sendTextToDevice(turn, encodeGoodbyeMessage(sessionId))
      return
    case 'request':
      enqueueRequest(turn, input)
      return
    default:
      input satisfies never
  }
}

/** A device that speaks because we shut its microphone is interrupted here; any other conversation is the backend's. */
export function forwardToVoiceBackend(turn: SessionStepDraft, frame: DeviceFrame, text: string): void {
  const { link } = turn.session
  const isShut = link?.microphone !== undefined
  if (frame.kind === 'abort' && isShut) abortDeviceSpeech(turn, frame)
  else {
    if (frame.kind === 'listen' && frame.state === 'start' && link !== undefined) stopWatchingMicrophone(turn, link)
    addSessionEffect(turn, { kind: 'voice', output: { kind: 'text', text } })
  }
}

function enqueueRequest(turn: SessionStepDraft, given: Extract<VoiceInput, { kind: 'request' }>): void {
  const { requests } = turn.session
  const { key, method, params, timeoutMs } = given
  if (requests.length >= MAX_REQUESTS) {
    answerRequest(turn, key, { error: { code: FAILED, message: 'The device is busy.' } })
    return
  }
  const request = { key, method, params, timeoutMs, sinceMs: turn.atMs, expiresAtMs: turn.atMs + timeoutMs }
  updateDraftSession(turn, { requests: [...requests, request] })
}

/** `initialize` is answered from what the device told us: another one would redirect its pictures. */
export function startVoiceRequest(turn: SessionStepDraft, request: VoiceRequest): void {
  const { requests, info, round } = turn.session
  const { key, method, params, timeoutMs } = request
  updateDraftSession(turn, { requests: requests.filter((each) => each !== request) })
  if (method !== 'initialize') {
    sendRpcRequest(turn, { method, params, purpose: { kind: 'request', key, round }, timeoutMs })
    return
  }
  const serverInfo = { name: info?.name ?? '', version: info?.version ?? '' }
  const result = { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo }
  answerRequest(turn, key, { result })
}

export function completeVoiceRequest(
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

export function failVoiceRequest(turn: SessionStepDraft, key: number, message: string): void {
  answerRequest(turn, key, { error: { code: FAILED, message } })
}

export function expireVoiceRequests(turn: SessionStepDraft): void {
  const expired = turn.session.requests.filter(({ expiresAtMs }) => expiresAtMs <= turn.atMs)
  if (expired.length === 0) return
  updateDraftSession(turn, { requests: turn.session.requests.filter(({ expiresAtMs }) => expiresAtMs > turn.atMs) })
  for (const { key } of expired) failVoiceRequest(turn, key, 'The device is busy. Nothing was sent.')
}

/** The connection is gone. Whether what was sent has been done, nobody knows. */
export function dropVoiceRequests(turn: SessionStepDraft): void {
  const { requests, flight } = turn.session
  if (flight?.purpose.kind === 'request')
    failVoiceRequest(turn, flight.purpose.key, 'The device disconnected. It may have acted all the same.')
  for (const { key } of requests) failVoiceRequest(turn, key, 'The device disconnected. Nothing was sent.')
  if (requests.length > 0) updateDraftSession(turn, { requests: NO_VOICE_REQUESTS })
}

const NO_VOICE_REQUESTS: readonly VoiceRequest[] = []

function answerRequest(turn: SessionStepDraft, key: number, answer: { result: Json } | { error: JsonObject }): void {
  addSessionEffect(turn, { kind: 'voice', output: { kind: 'answer', key, answer } })
}
