/**
 * Firmware voice task: the part of a device that listens and speaks. Its microphone stays open until a message or the
 * button ends it; silence does not.
 *
 *   idle ──wake──▶ listening ──tts start──▶ speaking ──tts stop──▶ listening (manual: idle)
 *     ▲               │  goodbye, close, button    │ wake word: abort, listening     button: abort, still speaking
 *     └───────────────┴────────────────────────────┘
 */
import type { ListenMode } from '../../devices/wire/device-frame.ts'

export type FirmwareVoiceState = 'idle' | 'listening' | 'speaking'

export interface FirmwareVoiceTaskOptions {
  readonly mode: ListenMode
  readonly frameMs: number
  /** Sends the fields that follow `session_id`. */
  readonly send: (fields: Readonly<Record<string, string>>) => void
  /** Sends one packet of microphone audio. */
  readonly sendAudio: () => void
}

export class FirmwareVoiceTask {
  state: FirmwareVoiceState = 'idle'
  /** Opus packets that were played, which are only those that arrive while it speaks. */
  readonly played: Uint8Array[] = []
  readonly #options: FirmwareVoiceTaskOptions
  #microphone: NodeJS.Timeout | undefined

  constructor(options: FirmwareVoiceTaskOptions) {
    this.#options = options
  }

  get microphoneOpen(): boolean {
    return this.#microphone !== undefined
  }

  wake(): void {
    const { send, mode } = this.#options
    if (this.state === 'speaking') send({ type: 'abort', reason: 'wake_word_detected' })
    else if (mode !== 'manual') send({ type: 'listen', state: 'detect', text: '你好小智' })
    this.#listen()
  }

  /** Presses the button: it interrupts speech, and ends listening in manual mode. */
  press(): void {
    const { send } = this.#options
    if (this.state === 'speaking') send({ type: 'abort' })
    else if (this.state === 'listening' && this.#options.mode === 'manual') {
      send({ type: 'listen', state: 'stop' })
      this.reset()
    }
  }

  handleSpeechState(state: 'start' | 'stop'): void {
    if (state === 'start') {
      this.state = 'speaking'
      if (this.#options.mode !== 'realtime') this.#shut()
    } else if (this.state === 'speaking') {
      if (this.#options.mode === 'manual') this.reset()
      else this.#listen()
    }
  }

  receiveAudio(opus: Uint8Array): void {
    if (this.state === 'speaking') this.played.push(opus)
  }

  /** The channel is closed. */
  reset(): void {
    this.state = 'idle'
    this.#shut()
  }

  #listen(): void {
    const { send, mode, sendAudio, frameMs } = this.#options
    this.state = 'listening'
    send({ type: 'listen', state: 'start', mode })
    this.#shut()
    this.#microphone = setInterval(sendAudio, frameMs)
    this.#microphone.unref()
  }

  #shut(): void {
    clearInterval(this.#microphone)
    this.#microphone = undefined
  }
}
