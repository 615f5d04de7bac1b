/**
 * MQTT client: devices behind the owner's broker (Mosquitto, EMQX, NATS), with one pair of topics per device.
 *
 *   device ──publish devices/up/a0_…──▶ broker ──▶ us ──publish devices/p2p/a0_…──▶ broker ──▶ device
 *
 * The broker authenticates devices and must keep each off the topics of the others; here a topic is an identity. The
 * broker does not tell us which devices are connected, so silent devices are probed, and a device counts as connected
 * as long as it answers. Stock firmware does not subscribe: the broker must do it for the device (EMQX can), or the
 * device must be one that does (py-xiaozhi).
 *
 * There is no connection to close either: a device that sends too much is ignored for a while.
 */
import type { MqttClient } from 'mqtt'
import { connect } from 'mqtt'
import type { Clock } from '../../core/clock.ts'
import { systemClock } from '../../core/clock.ts'
import {
  parseDeviceFromTopic,
  formatFilterForAllDevices,
  formatTopicForDevice,
  parseTopicTemplate,
} from '../wire/mqtt-topics.ts'
import { takeToken } from '../../toolbox/token-bucket.ts'
import type { TokenBucket } from '../../toolbox/token-bucket.ts'
import { TEXT_FRAME_RATE_LIMIT } from './connection-and-frame-limits.ts'
import type { DeviceIdentity, DeviceLink, DeviceLinkAttacher, DeviceLinkHandlers } from './fleet.ts'

export interface MqttBrokerOptions {
  /** `mqtt://host:1883` or `mqtts://…` */
  readonly url: string
  readonly username?: string
  readonly password?: string
  /** Topic templates, see wire/mqtt-topics.ts. */
  readonly uplink: string
  readonly downlink: string
  readonly acceptor: DeviceLinkAttacher
  /** Returns the approved device with this id, if there is one; others are ignored. */
  readonly recognise: (deviceId: string) => DeviceIdentity | undefined
  /** All devices that may be reachable. */
  readonly devices: () => readonly DeviceIdentity[]
  /** How often devices that are absent are probed. */
  readonly probeMs?: number
  readonly maxMessageBytes?: number
  readonly clock?: Clock
}

export interface MqttBrokerConnection {
  readonly connected: () => boolean
  /** This device has just booted and will connect in a moment. */
  readonly expect: (identity: DeviceIdentity) => void
  readonly close: () => Promise<void>
}

/** The pause between two probes, because all devices at once would answer at once. */
const PROBE_PACE_MS = 5
/** A device that has used up its tokens is ignored until it was silent for ten seconds. */
const DEBT = 10 * TEXT_FRAME_RATE_LIMIT.tokens

interface BrokerDevice {
  readonly handlers: DeviceLinkHandlers
  readonly leave: (reason: string) => void
}

export function connectMqttBroker(options: MqttBrokerOptions): MqttBrokerConnection {
  const uplink = parseTopicTemplate(options.uplink)
  const downlink = parseTopicTemplate(options.downlink)
  const { acceptor, recognise, devices, probeMs = 300_000, maxMessageBytes = 131_072, clock = systemClock } = options
  const attached = new Map<string, BrokerDevice>()
  /** By device, because a device that was dropped attaches again with its next message. */
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
      // Deferred, because the session machine may request it while the device is still being attached.
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

  const probeAbsent = async () => {
    for (const identity of devices()) {
      if (!client.connected) return
      if (attached.has(identity.deviceId)) continue
      attachDevice(identity)
      await new Promise((resolve) => setTimeout(resolve, PROBE_PACE_MS))
    }
  }

  client.on('connect', () => {
    // Devices are probed only after the broker has confirmed the subscription to their answers.
    client.subscribe(formatFilterForAllDevices(uplink), { qos: 0 }, () => void probeAbsent())
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
  // The client reconnects by itself; an error without a listener would be uncaught.
  client.on('error', () => undefined)

  const probing = setInterval(() => void probeAbsent(), probeMs)
  probing.unref()
  return {
    connected: () => client.connected,
    expect: (identity) => {
      if (client.connected) attachDevice(identity)
    },
    close: async () => {
      clearInterval(probing)
      for (const device of attached.values()) device.leave('the gateway stops')
      await client.endAsync(true)
    },
  }
}
