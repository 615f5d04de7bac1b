/**
 * Device gateway server: joins the parts of devices/: one fleet, one registrar, and the open listeners.
 *
 *   OTA, pictures, WebSocket ── devices-server ──┐
 *   MQTT ── mqtt-server + UDP audio ──────────────┼──▶ fleet
 *   the owner's broker ── mqtt-client ────────────┘
 */
import type { Clock } from '../../core/clock.ts'
import { systemClock } from '../../core/clock.ts'
import type { Database } from '../../core/database-store.ts'
import type { ProjectionLogWriter } from '../../ledger/projection-log.ts'
import type { DeviceIdentity, DeviceFleet, DeviceLinkAttacher } from '../session/fleet.ts'
import type { FleetOptions } from '../session/fleet-runner.ts'
import { createDeviceFleet } from '../session/fleet-runner.ts'
import type { DeviceAdmissionRefusalListener } from '../session/device-admission-refusal.ts'
import type { MqttBrokerConnection } from '../session/mqtt-client.ts'
import { connectMqttBroker } from '../session/mqtt-client.ts'
import type { MqttDeviceServer } from '../session/mqtt-server.ts'
import { startMqttDeviceServer } from '../session/mqtt-server.ts'
import type { UdpAudioServer } from '../session/udp-audio-server.ts'
import { openUdpAudioServer } from '../session/udp-audio-server.ts'
import type { DeviceTransport } from '../session/session.ts'
import type { VoiceBackendCredentialsClient } from '../voice/backend-credentials-client.ts'
import { createVoiceBackendCredentialsClient } from '../voice/backend-credentials-client.ts'
import type { VoiceBackendConnectionSettings } from '../voice/voice-backend.ts'
import type { VoiceRelayOptions, VoiceRelayService } from '../voice/voice-relay-client.ts'
import { createVoiceRelayService } from '../voice/voice-relay-client.ts'
import type { AdvertisedAddressSettings } from './advertised-addresses.ts'
import { chooseHostForDevice, VISION_PATH, formatVisionUrl, WEBSOCKET_PATH } from './advertised-addresses.ts'
import type { DevicesServer, DevicesServerOptions } from './devices-server.ts'
import { createDevicesServer } from './devices-server.ts'
import type { DeviceEnrolmentService } from './enrolment.ts'
import { EnrolStore } from './enrol-store.ts'
import type { ExternalMqttBroker, DeviceEnrolmentOptions } from './device-enrolment-service.ts'
import { createDeviceEnrolmentService } from './device-enrolment-service.ts'
import { createPhotoUploadService } from './photo-uploads.ts'

export interface DeviceGatewayOptions {
  readonly database: Database
  readonly log: ProjectionLogWriter
  readonly signingKey: Uint8Array
  /** The address at which devices reach us, and the port of the devices listener; 0 lets the system choose one. */
  readonly host: string
  readonly httpPort: number
  /** The URL that devices are told instead of the address at which they reached us. */
  readonly publicUrl?: string
  /** Our own MQTT server and its UDP audio; off when absent. */
  readonly mqtt?: { readonly port: number; readonly udpPort: number }
  /** The owner's broker: how we connect to it, and how devices do. */
  readonly broker?: ExternalMqttBroker & {
    readonly url: string
    readonly username?: string
    readonly password?: string
  }
  /** The transport of devices that were approved without a choice. */
  readonly transport?: DeviceTransport
  /** A voice backend behind the devices. */
  readonly voice?: VoiceOptions
  readonly fleet?: Pick<FleetOptions, 'settings' | 'toolTimes' | 'onStep'>
  readonly registrar?: Pick<DeviceEnrolmentOptions, 'greeting' | 'pendingDevices' | 'onWaiting'>
  readonly server?: Pick<
    DevicesServerOptions,
    'otaPath' | 'allowedOrigins' | 'timezoneMinutes' | 'maxConnections' | 'maxStrangers'
  >
  /** Called when a device was refused. */
  readonly onRefused?: DeviceAdmissionRefusalListener
  readonly clock?: Clock
  /** Called with an error that does not stop the service, and a sentence about it. */
  readonly onError?: (error: unknown, message: string) => void
}

export interface VoiceOptions {
  /** The backend's OTA address, or a function that finds the backend's address for each device. */
  readonly backend:
    | { readonly ota: string }
    | { readonly address: (identity: DeviceIdentity) => VoiceBackendConnectionSettings }
  readonly callTool?: VoiceRelayOptions['callTool']
  readonly onPresence?: VoiceRelayOptions['onPresence']
}

export interface DeviceGateway {
  /** The relay of each device's voice; `undefined` without a backend. */
  readonly voice: (VoiceRelayService & { readonly codeOf: (deviceId: string) => string | undefined }) | undefined
  readonly fleet: DeviceFleet & DeviceLinkAttacher
  readonly registrar: DeviceEnrolmentService
  readonly httpPort: number
  readonly mqttPort: number | undefined
  readonly udp: UdpAudioServer | undefined
  readonly brokerConnected: () => boolean
  readonly close: () => Promise<void>
}

interface OpenListeners {
  server: DevicesServer | undefined
  udp: UdpAudioServer | undefined
  mqtt: MqttDeviceServer | undefined
  broker: MqttBrokerConnection | undefined
}

/** Rejects when a port is taken, after closing everything that was opened. */
export async function openDeviceGateway(options: DeviceGatewayOptions): Promise<DeviceGateway> {
  const { database, log, signingKey, host, clock = systemClock } = options
  const { onError = () => undefined, onRefused = () => undefined } = options
  let addresses: AdvertisedAddressSettings = {
    publicUrl: options.publicUrl,
    httpPort: options.httpPort,
    mqttPort: options.mqtt?.port,
    webSocketPath: WEBSOCKET_PATH,
    visionPath: VISION_PATH,
  }
  const listeners: OpenListeners = { server: undefined, udp: undefined, mqtt: undefined, broker: undefined }
  const store = new EnrolStore(database, log)
  const photoUploads = createPhotoUploadService({ url: (local) => formatVisionUrl(addresses, local), clock })
  const backend = backendFor(options.voice, store, clock)
  const voice = options.voice === undefined ? undefined : voiceRelays(options.voice, backend, clock)
  const fleet = createDeviceFleet({
    ...options.fleet,
    voice,
    vision: photoUploads,
    memory: store.memory((error) => onError(error, 'the tools of a device could not be stored')),
    onBug: (device, error) =>
      onError(error, `the device ${device} sent something that caused an internal error, and was disconnected`),
    clock,
  })
  const photoTarget = (deviceId: string) =>
    fleet.device(deviceId)?.isAtBackends === true ? voice?.visionOf(deviceId) : undefined
  const registrar = createDeviceEnrolmentService({
    ...options.registrar,
    store,
    signingKey,
    addresses: () => addresses,
    broker: options.broker,
    transport: options.transport ?? 'websocket',
    onBoot: (device) => {
      if (device.transport === 'mqtt-broker') listeners.broker?.expect(device)
    },
    onVoid: (deviceId) => fleet.disconnect(deviceId, 'its credentials were withdrawn'),
    onNewcomer: (deviceId) => fleet.forget(deviceId),
    clock,
  })
  const close = async () => {
    fleet.close()
    await Promise.all([
      listeners.server?.close(),
      listeners.mqtt?.close(),
      listeners.broker?.close(),
      listeners.udp?.close(),
    ])
  }
  try {
    const server = { registrar, photoUploads, acceptor: fleet, onRefused, clock, backend, photoTarget }
    listeners.server = createDevicesServer({ ...options.server, ...server })
    addresses = { ...addresses, httpPort: await listeners.server.listen(host, options.httpPort) }
    if (options.mqtt !== undefined) {
      listeners.udp = await openUdpAudioServer({ host, port: options.mqtt.udpPort })
      const udp = { host: chooseHostForDevice(addresses, undefined), server: listeners.udp }
      const { maxConnections } = options.server ?? {}
      const limit = maxConnections === undefined ? {} : { maxConnections }
      const mqtt = { host, port: options.mqtt.port, acceptor: fleet, admit: registrar.admit, udp, onRefused, ...limit }
      listeners.mqtt = await startMqttDeviceServer(mqtt)
      addresses = { ...addresses, mqttPort: listeners.mqtt.port }
    }
    if (options.broker !== undefined) {
      const { recognise } = registrar
      const devices = () =>
        registrar.devices().filter(({ state, transport }) => state === 'approved' && transport === 'mqtt-broker')
      listeners.broker = connectMqttBroker({ ...options.broker, acceptor: fleet, recognise, devices, clock })
    }
  } catch (error) {
    await close()
    throw error
  }
  return {
    fleet,
    registrar,
    voice: voice === undefined ? undefined : { ...voice, codeOf: (deviceId) => backend?.codeOf(deviceId) },
    httpPort: addresses.httpPort,
    mqttPort: addresses.mqttPort,
    udp: listeners.udp,
    brokerConnected: () => listeners.broker?.connected() ?? false,
    close,
  }
}

function backendFor(
  voice: VoiceOptions | undefined,
  store: EnrolStore,
  clock: Clock,
): VoiceBackendCredentialsClient | undefined {
  if (voice === undefined || !('ota' in voice.backend)) return undefined
  const { ota } = voice.backend
  return createVoiceBackendCredentialsClient({ ota, describe: (deviceId) => store.device(deviceId) }, clock.monotonic)
}

function voiceRelays(
  voice: VoiceOptions,
  backend: VoiceBackendCredentialsClient | undefined,
  clock: Clock,
): VoiceRelayService {
  const { backend: where, callTool, onPresence = () => undefined } = voice
  const address = async (identity: DeviceIdentity): Promise<VoiceBackendConnectionSettings | undefined> =>
    'address' in where ? where.address(identity) : backend?.address(identity)
  return createVoiceRelayService({ address, callTool, onPresence, clock })
}
