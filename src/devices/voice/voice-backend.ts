/**
 * Voice backend: what the relay needs of the far end that a device's voice is passed on to, whichever way it goes.
 */
import type { AudioFrame } from '../wire/audio-frame.ts'
import type { MqttSettings, WebSocketSettings } from '../wire/ota.ts'

/** Where a backend is, and as whom a device comes to it. */
export type VoiceBackendAddress =
  | { readonly kind: 'websocket'; readonly websocket: WebSocketSettings }
  | { readonly kind: 'mqtt'; readonly mqtt: MqttSettings }

/** One connection on behalf of one device. Nothing of it throws; `closed` is heard exactly once. */
export interface VoiceBackendLink {
  readonly send: (text: string) => void
  readonly sendAudio: (frame: AudioFrame) => void
  readonly close: () => void
}

/**
 * A backend that has gone without a word is lost after this many pings without an answer: a device that listens is to be
 * shut within five seconds. Counted and not timed, so that a stall of our own loses nobody.
 */
export const VOICE_BACKEND_PING_INTERVAL_MS = 1_000
export const MAX_UNANSWERED_PINGS = 3

export interface VoiceBackendHandlers {
  /** Connected: the device's hello can be said. */
  readonly opened: () => void
  readonly text: (text: string) => void
  readonly audio: (frame: AudioFrame) => void
  /** `isClean`: the backend ended the conversation, rather than having gone. */
  readonly closed: (isClean: boolean, reason: string) => void
}
