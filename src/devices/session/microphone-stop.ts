/**
 * Microphone stop: stops a device from listening when no voice backend can hear it. A device streams the audio of its
 * room until it is told to stop, and does not detect silence by itself (measured: still sending after 160 s).
 *
 *   MQTT        listen start ▸ goodbye ▸ alert              idle, connected, callable
 *   WebSocket   listen start ▸ tts start ▸ alert            "speaking": the microphone is shut, the socket stays open
 *     manual    listen start ▸ tts start ▸ tts stop ▸ alert idle
 *     realtime  listen start ▸ alert ▸ close                its microphone stays open while it speaks
 *   audio nevertheless ▸ told again over MQTT, closed over WebSocket
 */
import type { AnnouncementToPerson, DeviceFrame, ListenMode } from '../wire/device-frame.ts'
import { encodeAnnouncementMessage, encodeGoodbyeMessage, encodeTtsStartOrStopMessage } from '../wire/device-frame.ts'
import type { SessionLink, MicrophoneStopState } from './session.ts'
import type { SessionStepDraft } from './session-step-draft.ts'
import { addCloseLinkEffect, addSessionEffect, addSendTextEffect, updateDraftLink } from './session-step-draft.ts'

/** Audio packets may still be in transit when the device was told to stop. */
const IN_TRANSIT_MS = 1_500
/** A device that becomes idle clears its screen, and with it an alert that was sent before. */
const ALERT_AFTER_MS = 400
/** Long enough to read the alert, and well within the five seconds in which a microphone must be shut. */
const CLOSE_AFTER_MS = 2_000
const NEVER = Number.POSITIVE_INFINITY

/** Shown once per absence of the backend. */
export const VOICE_BACKEND_UNREACHABLE_ALERT = {
  kind: 'alert',
  status: 'Hearthbus',
  message: 'The voice service does not answer. Tools work.',
  emotion: 'neutral',
} as const

export const NO_VOICE_BACKEND_ALERT = {
  kind: 'alert',
  status: 'Hearthbus',
  message: 'No voice service is set up. Tools work. See: hearthbus doctor',
  emotion: 'neutral',
} as const

interface ListeningEnd {
  readonly mode: ListenMode
  /** The alert for the person at the device. */
  readonly notice: AnnouncementToPerson | undefined
}

export function stopMicrophoneListening(
  turn: SessionStepDraft,
  link: SessionLink,
  { mode, notice }: ListeningEnd,
): void {
  const { sessionId } = turn.session
  const quietFromMs = turn.atMs + IN_TRANSIT_MS
  addSessionEffect(turn, { kind: 'unheard' })
  if (link.transport !== 'websocket') {
    addSendTextEffect(turn, encodeGoodbyeMessage(sessionId))
    // A notice that is still due is kept when the device is woken again meanwhile.
    const due = notice ?? dueNotice(link)
    const alertAtMs = due === undefined ? undefined : turn.atMs + ALERT_AFTER_MS
    watch(turn, { quietFromMs, notice: due, alertAtMs, closeAtMs: undefined })
    return
  }
  const closeAtMs = mode === 'realtime' ? turn.atMs + CLOSE_AFTER_MS : undefined
  if (mode !== 'realtime') addSendTextEffect(turn, encodeTtsStartOrStopMessage(sessionId, 'start'))
  // In manual mode the device becomes idle after the speech, with the socket open.
  if (mode === 'manual') addSendTextEffect(turn, encodeTtsStartOrStopMessage(sessionId, 'stop'))
  watch(turn, { quietFromMs: closeAtMs ?? quietFromMs, notice: undefined, alertAtMs: undefined, closeAtMs })
  if (notice !== undefined) addSendTextEffect(turn, encodeAnnouncementMessage(sessionId, notice))
}

/**
 * After a wake word the device listens again by itself. After a button press it "speaks" until it is told to stop, and
 * then listens. A person who presses the button wants neither, so the connection is closed unless a call waits for the
 * device's answer.
 */
export function handleSpeechAbort(
  turn: SessionStepDraft,
  { byWakeWord }: Extract<DeviceFrame, { kind: 'abort' }>,
): void {
  const { link, flight, queue, sessionId } = turn.session
  if (byWakeWord || link?.transport !== 'websocket') return
  if (flight === undefined && queue.length === 0) addCloseLinkEffect(turn, 'a person ended it')
  else addSendTextEffect(turn, encodeTtsStartOrStopMessage(sessionId, 'stop'))
}

/** This input only says that audio arrived, and comes at most once a second. */
export function handleUnexpectedAudio(turn: SessionStepDraft): void {
  const { link, sessionId } = turn.session
  if (link === undefined) return
  // Audio without a `listen start`, as when a wake word is sent ahead: the next message is awaited.
  if (link.microphone === undefined) {
    // A relay that is still connecting decides itself what happens to the audio.
    if (turn.session.settings.hasVoice) return
    const quietFromMs = turn.atMs + IN_TRANSIT_MS
    watch(turn, { quietFromMs, notice: undefined, alertAtMs: undefined, closeAtMs: undefined })
    return
  }
  if (turn.atMs < link.microphone.quietFromMs) return
  if (link.transport === 'websocket') {
    addCloseLinkEffect(turn, 'its microphone stays open')
    return
  }
  addSendTextEffect(turn, encodeGoodbyeMessage(sessionId))
  watch(turn, { ...link.microphone, quietFromMs: turn.atMs + IN_TRANSIT_MS })
}

/** Ends the watch, except for a notice that is still due. */
export function clearMicrophoneStopState(turn: SessionStepDraft, link: SessionLink): void {
  const microphone = dueNotice(link) === undefined ? undefined : link.microphone
  updateDraftLink(turn, { microphone: microphone === undefined ? undefined : { ...microphone, quietFromMs: NEVER } })
}

function dueNotice({ microphone }: SessionLink): AnnouncementToPerson | undefined {
  return microphone?.alertAtMs === undefined ? undefined : microphone.notice
}

export function nextMicrophoneDeadline({ microphone }: SessionLink): number {
  return Math.min(microphone?.alertAtMs ?? NEVER, microphone?.closeAtMs ?? NEVER)
}

export function expireMicrophoneDeadlines(turn: SessionStepDraft, { microphone }: SessionLink): 'closed' | 'open' {
  if (microphone === undefined) return 'open'
  if (turn.atMs >= (microphone.closeAtMs ?? NEVER)) {
    addCloseLinkEffect(turn, 'nobody listens')
    return 'closed'
  }
  if (turn.atMs >= (microphone.alertAtMs ?? NEVER)) {
    if (microphone.notice !== undefined)
      addSendTextEffect(turn, encodeAnnouncementMessage(turn.session.sessionId, microphone.notice))
    watch(turn, { ...microphone, alertAtMs: undefined })
  }
  return 'open'
}

function watch(turn: SessionStepDraft, microphone: MicrophoneStopState): void {
  updateDraftLink(turn, { microphone })
}
