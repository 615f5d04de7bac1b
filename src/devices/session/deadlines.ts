/**
 * Deadlines: what a session does when no input arrives: time-outs, retries, keep-alive and probes.
 */
import { encodeKeepAliveTextFrame } from '../wire/device-frame.ts'
import { expireWaitingDeviceCalls } from './device-call-queue.ts'
import { finishPartialToolListing } from './tool-listing.ts'
import { nextMicrophoneDeadline, expireMicrophoneDeadlines } from './microphone-stop.ts'
import type { RpcRequestInFlight, SessionLink, DeviceSession } from './session.ts'
import { expireRequestsFromVoiceBackend, failRequestFromVoiceBackend } from './session-voice.ts'
import type { SessionStepDraft } from './session-step-draft.ts'
import {
  startRpcRequest,
  addCloseLinkEffect,
  addSessionEffect,
  addCallFaultEffect,
  addSendTextEffect,
  updateDraftSession,
  updateDraftLink,
} from './session-step-draft.ts'

/** After this many attempts at discovery, the device is used with the tools that are known. */
const MAX_ATTEMPTS = 3
/** After this many unanswered probes, a device behind the owner's broker counts as absent. */
const MAX_PROBES = 2
/** The limit for remembered unanswered calls of one device. */
const MAX_OVERDUE = 16
const NEVER = Number.POSITIVE_INFINITY

/** The earliest moment at which a tick changes something; `undefined` while only an input from outside can. */
export function nextSessionDeadline(session: DeviceSession): number | undefined {
  const { link, flight, queue, retryAtMs } = session
  const deadlines = [...queue, ...session.requests].map((waiting) => waiting.expiresAtMs)
  if (flight !== undefined) deadlines.push(flight.deadlineMs)
  if (link !== undefined && !link.closing) {
    if (retryAtMs !== undefined) deadlines.push(retryAtMs)
    deadlines.push(helloDue(session, link), keepAliveDue(session, link), probeDue(session, link))
    deadlines.push(nextMicrophoneDeadline(link))
  }
  const earliest = Math.min(...deadlines)
  return Number.isFinite(earliest) ? earliest : undefined
}

function helloDue({ phase, settings }: DeviceSession, link: SessionLink): number {
  return phase === 'greeting' && link.transport === 'websocket' && link.hello === undefined
    ? link.openedAtMs + settings.helloMs
    : NEVER
}

/** The firmware considers a WebSocket channel closed 120 s after the last data frame that it received. */
function keepAliveDue({ phase, settings }: DeviceSession, link: SessionLink): number {
  if (link.transport !== 'websocket' || phase === 'greeting') return NEVER
  return link.lastSentMs + (settings.keepAliveMs ?? NEVER)
}

function probeDue({ phase, settings, flight }: DeviceSession, link: SessionLink): number {
  const idle = link.transport === 'mqtt-broker' && phase === 'ready' && flight === undefined
  return idle ? link.lastHeardMs + settings.probeMs : NEVER
}

export function expireSessionDeadlines(turn: SessionStepDraft): void {
  const { atMs } = turn
  expireWaitingDeviceCalls(turn)
  expireRequestsFromVoiceBackend(turn)
  const { flight } = turn.session
  if (flight !== undefined && atMs >= flight.deadlineMs) giveUp(turn, flight)
  const { session } = turn
  const { link, retryAtMs, settings } = session
  if (link === undefined || link.closing) return
  if (atMs >= helloDue(session, link)) {
    addCloseLinkEffect(turn, 'no hello')
    return
  }
  if (expireMicrophoneDeadlines(turn, link) === 'closed') return
  if (retryAtMs !== undefined && atMs >= retryAtMs) {
    updateDraftSession(turn, { retryAtMs: undefined })
    if (session.phase === 'ready') updateDraftSession(turn, { phase: 'initialising' })
  }
  if (atMs >= keepAliveDue(session, link)) addSendTextEffect(turn, encodeKeepAliveTextFrame(session.sessionId))
  if (atMs < probeDue(turn.session, link)) return
  // No firmware implements `ping`, but its error answer is a sign of life as well.
  const purpose = { kind: 'probe', round: session.round } as const
  startRpcRequest(turn, { method: 'ping', params: {}, purpose, timeoutMs: settings.requestMs })
}

function giveUp(turn: SessionStepDraft, flight: RpcRequestInFlight): void {
  const { purpose } = flight
  updateDraftSession(turn, { flight: undefined })
  if (purpose.kind === 'call') {
    const { call } = purpose.waiting
    if (!purpose.abandoned) addCallFaultEffect(turn, call, { kind: 'timed-out', afterMs: turn.atMs - flight.sentAtMs })
    // The picture of the old call may still arrive, and must not be taken for that of the next call.
    const { link } = turn.session
    if (link?.vision !== undefined) {
      updateDraftLink(turn, { visionStale: true, overdue: [...link.overdue, flight.id].slice(-MAX_OVERDUE) })
      addSessionEffect(turn, { kind: 'vision-stale' })
    }
    return
  }
  if (purpose.kind === 'request') {
    failRequestFromVoiceBackend(turn, purpose.key, 'The device did not answer in time. It may have acted all the same.')
    return
  }
  const { link, attempts, settings } = turn.session
  const unanswered = (link?.unanswered ?? 0) + 1
  updateDraftLink(turn, { unanswered, lastHeardMs: turn.atMs })
  // The owner's broker does not report disconnections, so a device behind it counts as absent when it is silent.
  const patience = purpose.kind === 'probe' ? MAX_PROBES : MAX_ATTEMPTS
  if (link?.transport === 'mqtt-broker' && unanswered >= patience) {
    addCloseLinkEffect(turn, 'no answer')
    return
  }
  if (purpose.kind === 'probe' || purpose.kind === 'vision' || purpose.round !== turn.session.round) return
  if (attempts + 1 < MAX_ATTEMPTS) {
    updateDraftSession(turn, { attempts: attempts + 1, retryAtMs: turn.atMs + settings.retryMs * 2 ** attempts })
    return
  }
  finishPartialToolListing(turn, `${purpose.kind === 'list' ? 'tools/list' : 'initialize'} was not answered`)
  updateDraftSession(turn, { retryAtMs: turn.atMs + settings.relistMs })
}
