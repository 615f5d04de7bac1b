/**
 * MQTT client: devices behind somebody else's broker (Mosquitto, EMQX, NATS), one pair of topics for each of them.
 *
 *   device ──publish devices/up/a0_…──▶ broker ──▶ us ──publish devices/p2p/a0_…──▶ broker ──▶ device
 *
 * The broker authenticates devices and keeps them off each other's topics; here a topic is an identity. Nobody tells us
 * who is connected, so devices that are silent are asked, and a device is there as long as it answers. Stock firmware
 * does not subscribe: the broker must do it for the device (EMQX can), or the device must be one that does
 * (py-xiaozhi).
 *
 * There is no connection to end either: a device that says too much is not listened to for a while.
 */
import type { MqttClient } from 'mqtt'
import { connect } from 'mqtt'
import type { Clock } from '../../core/clock.ts'
import { systemClock } from '../../core/clock.ts'
import {
  parseDeviceFromTopic,
  formatTopicFilter,
  formatTopicForDevice,
  parseTopicTemplate,
} from '../wire/mqtt-topics.ts'
import { takeToken } from '../../toolbox/token-bucket.ts'
import type { TokenBucket } from '../../toolbox/token-bucket.ts'
import { TEXT_FRAME_RATE_LIMIT } from './session-limits.ts'
import type { DeviceIdentity, DeviceLink, DeviceAcceptor, DeviceLinkHandlers } from './fleet.ts'

export interface MqttBrokerOptions {
  /** `mqtt://host:1883` or `mqtts://…` */
  readonly url: string
  readonly username?: string
  readonly password?: string
  /** Topic templates, see wire/mqtt-topics.ts. */
  readonly uplink: string
  readonly downlink: string
  readonly acceptor: DeviceAcceptor
  /** The approved device of this id, if there is one; others are not listened to. */
  readonly recognise: (deviceId: string) => DeviceIdentity | undefined
  /** Everybody who may be there. */
  readonly devices: () => readonly DeviceIdentity[]
  /** How often devices that are not there are asked whether they are. */
  readonly askMs?: number
  readonly maxMessageBytes?: number
  readonly clock?: Clock
}

export interface MqttBrokerConnection {
  readonly connected: () => boolean
  /** This device has just booted and will be there in a moment. */
  readonly expect: (identity: DeviceIdentity) => void
  readonly close: () => Promise<void>
}

/** Asking everybody at once would make everybody answer at once. */
const ASK_PACE_MS = 5
/** What a device owes that has used up its tokens: ten seconds of silence. */
const DEBT = 10 * TEXT_FRAME_RATE_LIMIT.tokens

interface BrokerDevice {
  readonly handlers: DeviceLinkHandlers
  readonly leave: (reason: string) => void
}

export function connectMqttBroker(options: MqttBrokerOptions): MqttBrokerConnection {
  const uplink = parseTopicTemplate(options.uplink)
  const downlink = parseTopicTemplate(options.downlink)
  const { acceptor, recognise, devices, askMs = 300_000, maxMessageBytes = 131_072, clock = systemClock } = options
  const attached = new Map<string, BrokerDevice>()
  /** By device, because a device that was dropped attaches anew with the next message. */
  const buckets = new Map<string, TokenBucket>()
  const client: MqttClient = connect(options.url, {
    protocolVersion: 4,
    clean: true,
    ...(options.username === undefined ? {} : { username: options.username }),
    ...(options.password === undefined ? {} : { password: options.password }),
  })

  const attachDevice = (identity: DeviceIdentity): BrokerDevice => {
    const { deviceId } = identity
    const known = attached.get(deviceId)
    if (known !== undefined) return known
    const topic = formatTopicForDevice(downlink, identity)
    const leave = (reason: string) => {
      if (attached.get(deviceId) !== device) return
      attached.delete(deviceId)
      device.handlers.closed(reason)
    }
    const link: DeviceLink = {
      transport: 'mqtt-broker',
      remoteAddress: options.url.replace(/\/\/[^@/]*@/, '//'),
      localAddress: undefined,
      udp: undefined,
      send: (text) => {
        if (client.connected) client.publish(topic, text, { qos: 0, retain: false }, () => undefined)
      },
      sendAudio: () => undefined,
      openAudio: () => undefined,
      // Later, because a machine may ask for it while it is still being attached.
      close: (reason) => setImmediate(() => leave(reason)),
    }
    const device: BrokerDevice = { handlers: acceptor.attach(identity, link), leave }
    attached.set(deviceId, device)
    return device
  }

  const affords = (deviceId: string): boolean => {
    const atMs = clock.monotonic()
    const before = buckets.get(deviceId)
    const after = takeToken(before, TEXT_FRAME_RATE_LIMIT, atMs)
    if (after !== undefined) buckets.set(deviceId, after)
    else if (before !== undefined && before.tokens >= 0) {
      buckets.set(deviceId, { tokens: -DEBT, atMs })
      attached.get(deviceId)?.leave('too many messages')
    }
    return after !== undefined
  }

  const askAbsent = async () => {
    for (const identity of devices()) {
      if (!client.connected) return
      if (attached.has(identity.deviceId)) continue
      attachDevice(identity)
      await new Promise((resolve) => setTimeout(resolve, ASK_PACE_MS))
    }
  }

  client.on('connect', () => {
    // Asked only after the broker has confirmed that we will hear the answers.
    client.subscribe(formatTopicFilter(uplink), { qos: 0 }, () => void askAbsent())
  })
  client.on('message', (topic, payload) => {
    const deviceId = parseDeviceFromTopic(uplink, topic)
    const identity = deviceId === undefined ? undefined : recognise(deviceId)
    if (identity === undefined || payload.length > maxMessageBytes || !affords(identity.deviceId)) return
    attachDevice(identity).handlers.text(payload.toString())
  })
  client.on('close', () => {
    for (const device of attached.values()) device.leave('the broker is gone')
  })
  // The client reconnects by itself; without a listener an error would be uncaught.
  client.on('error', () => undefined)

  const asking = setInterval(() => void askAbsent(), askMs)
  asking.unref()
  return {
    connected: () => client.connected,
    expect: (identity) => {
      if (client.connected) attachDevice(identity)
    },
    close: async () => {
      clearInterval(asking)
      for (const device of attached.values()) device.leave('the gateway stops')
      await client.endAsync(true)
    },
  }
}
