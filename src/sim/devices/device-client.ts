/**
 * Device client: a complete simulated device. It boots, requests its settings, connects, sends its hello and answers.
 *
 *   boot ▸ OTA ▸ MQTT: connected from now on        WebSocket: silent until woken
 *   wake ▸ hello ▸ (main loop blocked, 10 s) ▸ channel open
 */
import { setTimeout as delay } from 'node:timers/promises'
import { RingBuffer } from '../../toolbox/ring-buffer.ts'
import type { JsonObject } from '../../core/json.ts'
import type { MqttSettings, WebSocketSettings } from '../../devices/wire/ota.ts'
import type { SimulatedIdentity } from './identity.ts'
import { createHelloText } from './identity.ts'
import type { DeviceConnection, DeviceConnectionEvents } from './device-connection.ts'
import { MAX_SENT_WEBSOCKET_MESSAGE_BYTES, FirmwareMcpServer } from './firmware-mcp-server.ts'
import { connectSimulatedDevice } from './device-connection-client.ts'
import { AudioChannelClient } from './audio-channel-client.ts'
import { bootDevice } from './ota-client.ts'
import type { FirmwareProfile } from './firmware-profile.ts'
import { FIRMWARE_PROFILES } from './firmware-profile.ts'
import { readServerMessage } from './server-message.ts'
import type {
  SimulatedDeviceFaults,
  SimulatedDevice,
  DeviceSimulatorOptions,
  FirmwareTiming,
  DeviceMessageTranscriptLine,
} from './simulated-device.ts'
import { FIRMWARE_TIMING, NO_DEVICE_FAULTS } from './simulated-device.ts'
import { FirmwareVoiceTask } from './firmware-voice-task.ts'

const TRANSCRIPT_LINES = 500
const SHOWN_LINES = 100

/**
 * Resolves when the device has booted: enrolled if it had to be, and connected if it is a kind that stays connected.
 */
export async function startDeviceSimulator(options: DeviceSimulatorOptions): Promise<SimulatedDevice> {
  const { signal } = options
  signal?.throwIfAborted()
  const device = new DeviceClient(options)
  signal?.addEventListener('abort', device.stop, { once: true })
  try {
    await device.start()
  } catch (error) {
    device.stop()
    throw error
  }
  return device
}

class DeviceClient implements SimulatedDevice {
  readonly identity: SimulatedIdentity
  readonly faults: SimulatedDeviceFaults
  readonly #options: DeviceSimulatorOptions
  readonly #profile: FirmwareProfile
  readonly #timing: FirmwareTiming
  readonly #task: FirmwareMcpServer
  readonly #voice: FirmwareVoiceTask
  readonly #audio: AudioChannelClient
  readonly #stopping = new AbortController()
  readonly #transcript = new RingBuffer<DeviceMessageTranscriptLine>(TRANSCRIPT_LINES)
  readonly #shown = new RingBuffer<string>(SHOWN_LINES)
  readonly #extraLines = new Set<DeviceConnection>()
  #websocket: WebSocketSettings | undefined
  #mqtt: MqttSettings | undefined
  #otaAnswer: JsonObject | undefined
  #line: DeviceConnection | undefined
  /** Counts connections, so that messages of an older one are ignored. */
  #epoch = 0
  #sessionId = ''
  #greeted = false
  #failed = false
  #rebooting = false
  #lastDataMs = 0
  #greeting: ((answered: boolean) => void) | undefined

  constructor(options: DeviceSimulatorOptions) {
    this.#options = options
    this.identity = options.identity
    this.faults = { ...NO_DEVICE_FAULTS, ...options.faults }
    this.#profile = FIRMWARE_PROFILES[options.profile]
    this.#timing = { ...FIRMWARE_TIMING, ...options.timing }
    this.#websocket = options.websocket
    this.#mqtt = options.mqtt
    this.#audio = new AudioChannelClient(options.audioVersion ?? 1, (opus) => this.#voice.receiveAudio(opus))
    this.#task = new FirmwareMcpServer({
      device: options,
      faults: this.faults,
      send: (payload) =>
        this.#send(`{"session_id":${JSON.stringify(this.#sessionId)},"type":"mcp","payload":${payload}}`),
      reboot: () => void this.#reboot(),
      drop: () => this.cut(),
    })
    this.#voice = new FirmwareVoiceTask({
      mode: options.listens ?? 'auto',
      frameMs: this.#profile.frameMs,
      send: (fields) => this.#send(JSON.stringify({ session_id: this.#sessionId, ...fields })),
      sendAudio: () => void this.speak(1),
    })
  }

  readonly otaAnswer = () => this.#otaAnswer
  readonly voice = () => ({ state: this.#voice.state, microphoneOpen: this.#voice.microphoneOpen })
  readonly played = () => [...this.#voice.played]
  readonly press = () => this.#voice.press()
  readonly state = () => this.#task.board.state()
  readonly transcript = () => this.#transcript.newest()
  readonly shown = () => this.#shown.newest()
  readonly connected = () => this.#line !== undefined
  readonly sessionId = () => this.#sessionId
  readonly say = (text: string): void => this.#send(text)
  readonly notify = (method: string, params: JsonObject): void => this.#task.notify(method, params)
  readonly cut = (): void => this.#line?.destroy()

  readonly channelOpen = () =>
    this.#line !== undefined &&
    this.#greeted &&
    !this.#failed &&
    performance.now() - this.#lastDataMs < this.#timing.channelMs

  async start(): Promise<void> {
    const { ota, awake } = this.#options
    if (ota !== undefined) {
      const answer = await bootDevice({
        url: ota,
        identity: this.identity,
        profile: this.#profile,
        board: this.#task.board.name,
        timing: this.#timing,
        signal: this.#stopping.signal,
        onCode: (code) => this.#options.onCode?.(code),
      })
      // The device may have been approved and switched off in the same moment.
      this.#stopping.signal.throwIfAborted()
      this.#otaAnswer = answer.raw
      this.#mqtt = answer.mqtt
      this.#websocket = answer.websocket
      this.#audio.version = answer.audioVersion ?? this.#audio.version
    }
    if (this.#mqtt !== undefined) await this.#dial()
    if (awake === true) await this.wake()
    if (this.faults.duplicate && this.#line !== undefined) await this.duplicate()
  }

  /**
   * Runs on the main loop: messages that arrive meanwhile are parsed, but nothing is answered before the channel is
   * open.
   */
  readonly wake = (): Promise<void> =>
    new Promise((resolve, reject) => {
      this.#task.loop.schedule(() => this.#open().then(resolve, reject))
    })

  readonly sleep = (): void => {
    this.#greeted = false
    this.#endVoice()
    if (this.#mqtt === undefined) this.#hangUp()
    else this.#send(JSON.stringify({ session_id: this.#sessionId, type: 'goodbye' }))
  }

  readonly speak = (packets: number | readonly Uint8Array[]): Promise<void> =>
    this.#audio.send(packets, () => this.#line)

  readonly duplicate = async (): Promise<void> => {
    const ignore = () => undefined
    const opened = (line: DeviceConnection) => {
      this.#extraLines.add(line)
      if (this.#mqtt === undefined) line.send(createHelloText(this.#profile, this.#audio.version))
    }
    const events = { opened, text: ignore, audio: ignore, data: ignore, closed: ignore, answersPings: () => true }
    await this.#connect(events)
  }

  readonly stop = (): void => {
    this.#stopping.abort()
    this.#task.loop.clear()
    this.#endVoice()
    for (const line of this.#extraLines) line.destroy()
    this.#hangUp()
  }

  async #open(): Promise<void> {
    if (this.channelOpen()) {
      if (this.#options.listens !== undefined) this.#voice.wake()
      return
    }
    // A WebSocket device opens a fresh socket for every channel and simply drops the old one.
    if (this.#mqtt === undefined) this.#hangUp()
    if (this.#line === undefined) await this.#dial()
    await this.#greet()
    if (this.#options.listens !== undefined) this.#voice.wake()
  }

  #connect(events: DeviceConnectionEvents): Promise<void> {
    return connectSimulatedDevice({
      identity: this.identity,
      profile: this.#profile,
      timing: this.#timing,
      mqtt: this.#mqtt,
      websocket: this.#websocket,
      audioVersion: this.#audio.version,
      events,
    })
  }

  #dial(): Promise<void> {
    const epoch = ++this.#epoch
    const ifCurrent = (then: () => void) => {
      if (this.#epoch === epoch) then()
    }
    return this.#connect({
      opened: (line) => {
        if (this.#epoch === epoch) this.#line = line
        else line.destroy()
      },
      text: (text) => ifCurrent(() => this.#receive(text)),
      audio: (bytes) => ifCurrent(() => this.#audio.receive(bytes)),
      data: () => ifCurrent(() => (this.#lastDataMs = performance.now())),
      closed: () => ifCurrent(() => this.#lost()),
      answersPings: () => !this.faults.noPong,
    })
  }

  async #greet(): Promise<void> {
    const answered = new Promise<boolean>((resolve) => {
      this.#greeting = resolve
    })
    // The firmware waits on its main loop, so nothing is answered meanwhile.
    const gaveUp = setTimeout(() => this.#greeting?.(false), this.#timing.helloMs)
    this.#sessionId = ''
    this.#send(createHelloText(this.#profile, this.#mqtt === undefined ? this.#audio.version : 'udp'))
    const ok = await answered
    clearTimeout(gaveUp)
    this.#greeting = undefined
    if (ok) return
    this.#show('network error')
    if (this.#mqtt === undefined) this.#hangUp()
    throw new Error('nobody answered the hello')
  }

  #receive(text: string): void {
    this.#note('backend', text)
    const message = readServerMessage(text, this.#mqtt === undefined ? 'websocket' : 'udp')
    if (message.kind === 'mcp') this.#task.receive(message.payload)
    else if (message.kind === 'show' && (!message.since25 || this.#profile.name === 'fw-next')) this.#show(message.text)
    else if (message.kind === 'reboot') void this.#reboot()
    else if (message.kind === 'speech') this.#voice.handleSpeechState(message.state)
    else if (message.kind === 'hello') {
      this.#audio.open(message.udp)
      this.#sessionId = message.sessionId
      this.#greeted = true
      this.#failed = false
      this.#greeting?.(true)
    } else if (message.kind === 'goodbye' && this.#mqtt !== undefined && message.sessionId === this.#sessionId) {
      this.#greeted = false
      this.#endVoice()
    }
  }

  #send(text: string): void {
    if (this.#mqtt === undefined && Buffer.byteLength(text) > MAX_SENT_WEBSOCKET_MESSAGE_BYTES) {
      // No error reaches the backend: the channel is marked as failed and the screen says so.
      this.#failed = true
      this.#show('server error')
      return
    }
    this.#note('device', text)
    this.#line?.send(text)
  }

  #lost(): void {
    this.#line = undefined
    this.#epoch++
    this.#greeted = false
    this.#endVoice()
    this.#greeting?.(false)
    // A sleeping WebSocket device is not connected and does not want to be.
    if (!this.#rebooting && (this.#mqtt !== undefined || this.#options.awake === true)) void this.#comeBack()
  }

  async #comeBack(): Promise<void> {
    const { signal } = this.#stopping
    while (this.#line === undefined && !signal.aborted) {
      await delay(this.#timing.reconnectMs, undefined, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted) return
      await (this.#options.awake === true ? this.wake() : this.#dial()).catch(() => undefined)
    }
  }

  /** The answer to the caller is queued behind the restart, and so never sent. */
  async #reboot(): Promise<void> {
    const { signal } = this.#stopping
    this.#task.loop.halt()
    await delay(this.#timing.rebootMs, undefined, { ref: false })
    this.#rebooting = true
    this.#endVoice()
    this.#hangUp()
    this.#greeted = false
    this.#task.loop.resume()
    if (!signal.aborted) await this.start().catch(() => undefined)
    this.#rebooting = false
    if (this.#line === undefined && (this.#mqtt !== undefined || this.#options.awake === true)) void this.#comeBack()
  }

  #hangUp(): void {
    this.#epoch++
    this.#line?.destroy()
    this.#line = undefined
  }

  #endVoice(): void {
    this.#voice.reset()
    this.#audio.close()
  }

  #show(text: string): void {
    this.#shown.push(text)
  }

  #note(from: DeviceMessageTranscriptLine['from'], text: string): void {
    this.#transcript.push({ from, text })
  }
}
