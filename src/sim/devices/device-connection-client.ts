/**
 * Device connection client: connects a simulated device to the backend that it was told of, over MQTT or WebSocket.
 */
import type { AudioVersion } from '../../devices/wire/audio-frame.ts'
import type { MqttSettings, WebSocketSettings } from '../../devices/wire/ota.ts'
import type { DeviceConnectionEvents } from './device-connection.ts'
import type { FirmwareProfile } from './firmware-profile.ts'
import { createUpgradeHeaders } from './identity.ts'
import type { SimulatedIdentity } from './identity.ts'
import { connectSimulatedDeviceOverMqtt } from './mqtt-device-client.ts'
import type { FirmwareTiming } from './simulated-device.ts'
import { connectSimulatedDeviceOverWebSocket } from './websocket-client.ts'

export interface DeviceConnectionOptions {
  readonly identity: SimulatedIdentity
  readonly profile: FirmwareProfile
  readonly timing: FirmwareTiming
  readonly mqtt: MqttSettings | undefined
  readonly websocket: WebSocketSettings | undefined
  readonly audioVersion: AudioVersion
  readonly events: DeviceConnectionEvents
}

/** MQTT is tried first if both are configured, as in the firmware. */
export function connectSimulatedDevice(options: DeviceConnectionOptions): Promise<void> {
  const { identity, profile, audioVersion, events } = options
  const { helloMs: timeoutMs, keepAliveSeconds } = options.timing
  if (options.mqtt !== undefined) {
    const { subscribes } = profile
    return connectSimulatedDeviceOverMqtt({ settings: options.mqtt, subscribes, timeoutMs, keepAliveSeconds, events })
  }
  const { url, token } = options.websocket ?? { url: '', token: '' }
  const headers = (host: string, port: number, key: string) =>
    createUpgradeHeaders(identity, { profile, host, port, token, key, audioVersion })
  return connectSimulatedDeviceOverWebSocket({ url, headers, timeoutMs, answersClose: profile.answersClose, events })
}
