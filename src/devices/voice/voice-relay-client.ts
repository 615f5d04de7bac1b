/**
 * Voice relay client: one relay for each device, its connection to the backend, and the backend's own MCP requests.
 *
 *   device text, audio ──▶ relay ──▶ backend link        backend's `mcp` ──▶ guard or straight to the device ──▶ answer
 *
 * Audio is passed from one socket to the other and not stored. A backend is not trusted: a message that is larger than
 * any voice message is dropped, and a backend that sends too much counts as lost.
 *
 * Does I/O, through its links, and timers.
 */
import type { Clock } from '../../core/clock.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { isLoopback } from '../../core/loopback.ts'
import type { DeviceIdentity, VoiceChannelHandlers, VoiceChannel, VoiceService } from '../session/fleet.ts'
import type { SessionToVoiceRelayMessage } from '../session/session.ts'
import type { AudioFrame } from '../wire/audio-frame.ts'
import { encodeMcpMessage } from '../wire/device-frame.ts'
import { parseBoundedJsonObject } from '../wire/bounded-json.ts'
import { takeToken } from '../../toolbox/token-bucket.ts'
import type { TokenBucket } from '../../toolbox/token-bucket.ts'
import { TEXT_FRAME_RATE_LIMIT } from '../session/connection-and-frame-limits.ts'
import { connectVoiceBackendOverMqtt } from './backend-mqtt-client.ts'
import { connectVoiceBackendOverWebSocket } from './backend-websocket-client.ts'
import type { VoiceRelayState, VoiceRelayEffect, VoiceRelayInput } from './voice-relay.ts'
import { IDLE_VOICE_RELAY_STATE, stepVoiceRelay } from './voice-relay.ts'
import type { VoiceBackendConnectionSettings, VoiceBackendHandlers, VoiceBackendLink } from './voice-backend.ts'

/** The answer to a tool call: JSON-RPC `result` or `error`. */
export type BackendRpcAnswer = { readonly result: Json } | { readonly error: JsonObject }

export interface VoiceRelayOptions {
  /**
   * The address of this device's backend; called at every wake, since credentials expire. `refresh`: the last ones were
   * refused.
   */
  readonly address: (identity: DeviceIdentity) => Promise<VoiceBackendConnectionSettings | undefined>
  /** Runs the backend's call of a device tool through the guard. Absent: the call goes straight to the device. */
  readonly callTool?: ((deviceId: string, name: string, args: JsonObject) => Promise<BackendRpcAnswer>) | undefined
  /** Called when a backend was lost or reached again. */
  readonly onPresence: (deviceId: string, isThere: boolean) => void
  readonly clock: Clock
}

export interface BackendVisionTarget {
  readonly url: string
  readonly token: string
}

export interface VoiceRelayService extends VoiceService {
  /** Where the backend wants this device's pictures to be posted. */
  readonly visionOf: (deviceId: string) => BackendVisionTarget | undefined
  readonly stateOf: (deviceId: string) => VoiceRelayState['phase'] | undefined
}

type Untimed = VoiceRelayInput extends infer Each ? (Each extends VoiceRelayInput ? Omit<Each, 'atMs'> : never) : never

const CALL_MS = 60_000
/** RFC 6716 § 3.2: at most 1,275 bytes for a frame of 20 ms, and 120 ms in a packet. */
const MAX_OPUS_BYTES = 8_192
/** Firmware sends no longer text, and holds a message in its memory. */
const MAX_TEXT_CHARACTERS = 65_535
/** The limit for a backend's running calls; the same as for a device's queue. */
const MAX_CALLS = 16

export function createVoiceRelayService(options: VoiceRelayOptions): VoiceRelayService {
  const channels = new Map<string, RelayChannel>()
  return {
    open: (identity, port) => {
      channels.get(identity.deviceId)?.close()
      const channel = new RelayChannel(options, identity, port)
      channels.set(identity.deviceId, channel)
      return channel
    },
    visionOf: (deviceId) => channels.get(deviceId)?.vision,
    stateOf: (deviceId) => channels.get(deviceId)?.phase,
  }
}

class RelayChannel implements VoiceChannel {
  vision: BackendVisionTarget | undefined
  readonly #options: VoiceRelayOptions
  readonly #identity: DeviceIdentity
  readonly #port: VoiceChannelHandlers
  readonly #forwards = new Map<number, Json>()
  #relay: VoiceRelayState = IDLE_VOICE_RELAY_STATE
  #link: VoiceBackendLink | undefined
  #address: VoiceBackendConnectionSettings['kind'] | undefined
  /** Counts connections, so that messages of an older one are ignored. */
  #epoch = 0
  #isOpened = false
  #isBackendLocal = false
  #bucket: TokenBucket | undefined
  #timer: NodeJS.Timeout | undefined
  #nextForward = 1
  #calls = 0

  constructor(options: VoiceRelayOptions, identity: DeviceIdentity, port: VoiceChannelHandlers) {
    this.#options = options
    this.#identity = identity
    this.#port = port
  }

  get phase(): VoiceRelayState['phase'] {
    return this.#relay.phase
  }

  readonly output = (output: SessionToVoiceRelayMessage): void => {
    switch (output.kind) {
      case 'hello':
        this.#input({ kind: 'device-hello', text: output.text })
        return
      case 'text':
        this.#input({ kind: 'device-text', text: output.text })
        return
      case 'notification':
        this.#answer({ method: output.method, params: output.params })
        return
      case 'answer': {
        const id = this.#forwards.get(output.key)
        this.#forwards.delete(output.key)
        if (id !== undefined) this.#answer({ id, ...output.answer })
        return
      }
      default:
        output satisfies never
    }
  }

  readonly audio = (read: () => AudioFrame | undefined): boolean => {
    if (this.#relay.phase !== 'open') return false
    const frame = read()
    if (frame !== undefined) this.#link?.sendAudio(frame)
    return true
  }

  /** The device is gone, or uses another connection. */
  readonly close = (): void => {
    this.#input({ kind: 'device-gone' })
    clearTimeout(this.#timer)
  }

  #input(input: Untimed): void {
    const { relay, effects } = stepVoiceRelay(this.#relay, { ...input, atMs: this.#options.clock.monotonic() })
    this.#relay = relay
    for (const effect of effects) this.#carryOut(effect)
    clearTimeout(this.#timer)
    if (this.#relay.deadlineMs === undefined) return
    const delayMs = Math.max(1, this.#relay.deadlineMs - this.#options.clock.monotonic())
    this.#timer = setTimeout(() => this.#input({ kind: 'tick' }), delayMs)
    this.#timer.unref()
  }

  #carryOut(effect: VoiceRelayEffect): void {
    if (effect.kind === 'dial') void this.#dial(effect.hello)
    else if (effect.kind === 'send') this.#link?.send(effect.text)
    else if (effect.kind === 'close') this.#hangUp()
    else if (effect.kind === 'finish') {
      if (this.#address !== 'mqtt') this.#hangUp()
    } else if (effect.kind === 'device') this.#port.input(effect.input)
    else if (effect.kind === 'mcp') this.#takeRequest(effect.payload)
    else this.#options.onPresence(this.#identity.deviceId, effect.isThere)
  }

  /** An MQTT connection lasts for many conversations; a WebSocket lasts for one. */
  async #dial(hello: string): Promise<void> {
    if (this.#link !== undefined && this.#isOpened && this.#address === 'mqtt') {
      this.#link.send(helloFor(hello, 'mqtt'))
      return
    }
    this.#hangUp()
    const epoch = this.#epoch
    const address = await this.#options.address(this.#identity).catch(() => undefined)
    if (this.#epoch !== epoch) return
    if (address === undefined) {
      this.#input({ kind: 'backend-closed', isClean: false })
      return
    }
    this.#address = address.kind
    this.#isBackendLocal = isLoopbackUrl(
      address.kind === 'websocket' ? address.websocket.url : `mqtt://${address.mqtt.endpoint}`,
    )
    const ifCurrent = (then: () => void) => {
      if (this.#epoch === epoch) then()
    }
    const handlers: VoiceBackendHandlers = {
      opened: () =>
        ifCurrent(() => {
          this.#isOpened = true
          this.#link?.send(helloFor(hello, address.kind))
        }),
      text: (text) => ifCurrent(() => this.#takeText(text)),
      audio: (frame) =>
        ifCurrent(() => {
          if (this.#relay.phase === 'open' && frame.opus.length <= MAX_OPUS_BYTES) this.#port.audio(frame)
        }),
      closed: (isClean) =>
        ifCurrent(() => {
          this.#link = undefined
          this.#isOpened = false
          this.#epoch++
          this.#input({ kind: 'backend-closed', isClean })
        }),
    }
    try {
      this.#link =
        address.kind === 'websocket'
          ? connectVoiceBackendOverWebSocket(address.websocket, this.#identity, handlers)
          : connectVoiceBackendOverMqtt(address.mqtt, handlers)
    } catch {
      // The address is not one that can be connected to.
      handlers.closed(false, 'bad address')
    }
  }

  #takeText(text: string): void {
    const atMs = this.#options.clock.monotonic()
    this.#bucket = takeToken(this.#bucket, TEXT_FRAME_RATE_LIMIT, atMs)
    if (this.#bucket === undefined) {
      this.#hangUp()
      this.#input({ kind: 'backend-closed', isClean: false })
    } else if (text.length <= MAX_TEXT_CHARACTERS) this.#input({ kind: 'backend-text', text })
  }

  #hangUp(): void {
    this.#epoch++
    this.#isOpened = false
    this.#forwards.clear()
    this.#link?.close()
    this.#link = undefined
  }

  /** The relay keeps the backend's ids, which never reach the device, whose own requests have other ids. */
  #takeRequest({ id, method, params }: JsonObject): void {
    if (id === undefined || id === null || typeof method !== 'string') return
    const given = isJsonObject(params) ? params : {}
    if (method === 'initialize') this.#storeVisionEndpoint(given)
    const { callTool } = this.#options
    if (method === 'tools/call' && callTool !== undefined) {
      const name = typeof given['name'] === 'string' ? given['name'] : ''
      const args = isJsonObject(given['arguments']) ? given['arguments'] : {}
      if (this.#calls >= MAX_CALLS) {
        this.#answer({ id, error: { code: -32_000, message: 'The device is busy.' } })
        return
      }
      this.#calls++
      void callTool(this.#identity.deviceId, name, args)
        .catch(() => ({ error: { code: -32_603, message: 'The call failed.' } }))
        .then((answer) => this.#answer({ id, ...answer }))
        .finally(() => this.#calls--)
      return
    }
    const key = this.#nextForward++
    this.#forwards.set(key, id)
    this.#port.input({ kind: 'request', key, method, params: given, timeoutMs: CALL_MS })
  }

  /**
   * The device is told our own address for pictures; those that the backend requested are posted to the backend's
   * address.
   */
  #storeVisionEndpoint({ capabilities }: JsonObject): void {
    const vision = isJsonObject(capabilities) ? capabilities['vision'] : undefined
    if (!isJsonObject(vision) || typeof vision['url'] !== 'string') return
    // This gateway posts the pictures, so a remote backend must not make it post to services of this machine.
    if (!isHttpUrl(vision['url']) || (isLoopbackUrl(vision['url']) && !this.#isBackendLocal)) return
    this.vision = { url: vision['url'], token: typeof vision['token'] === 'string' ? vision['token'] : '' }
  }

  #answer(message: JsonObject): void {
    this.#link?.send(encodeMcpMessage(this.#relay.backendSession, { jsonrpc: '2.0', ...message }))
  }
}

/** The device's own hello, changed if the backend uses another transport than the device. */
function helloFor(hello: string, kind: VoiceBackendConnectionSettings['kind']): string {
  const wanted = kind === 'mqtt' ? { version: 3, transport: 'udp' } : { version: 1, transport: 'websocket' }
  const message = parseBoundedJsonObject(hello)
  if (message === undefined) return hello
  // Audio to a WebSocket backend is bare Opus, which is version 1, whatever version the device uses towards us.
  if (message['transport'] === wanted.transport && message['version'] === wanted.version) return hello
  return JSON.stringify({ ...message, ...wanted })
}

function isHttpUrl(text: string): boolean {
  const protocol = URL.parse(text)?.protocol
  return protocol === 'http:' || protocol === 'https:'
}

/** Checks the address as it is written. A name that resolves to this machine is in the owner's own DNS. */
function isLoopbackUrl(text: string): boolean {
  const host = URL.parse(text)?.hostname ?? ''
  return isLoopback(host) || host === '0.0.0.0' || host === '[::]'
}
