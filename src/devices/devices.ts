/**
 * Devices: the ESP32 family as one service. It opens the listeners, follows the fleet, and keeps the registered
 * capabilities up to date.
 *
 *   fleet events ▸ event log, roster ▸ capabilities `device.<slug>.<tool>` come and go
 *
 * A listener that cannot be opened does not keep the other families from starting: it is tried again, and health says
 * why.
 *
 * Does its I/O through the gateway and its stores.
 */
import type { CapabilityBus } from '../bus/bus.ts'
import type { Capability, Service, ServiceHealth } from '../bus/capability.ts'
import type { DevicesConfig } from '../config/devices.ts'
import { computeBackoffMs } from '../core/backoff.ts'
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import type { Logger } from '../core/logger.ts'
import { readSystemErrorCode } from '../core/thrown-error.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { DeviceGateway, VoiceOptions } from './enrol/device-gateway-server.ts'
import { openDeviceGateway } from './enrol/device-gateway-server.ts'
import { createToolCallerForVoiceBackend } from './tools/voice-backend-tool-calls.ts'
import { readVoiceBackendSettings } from './voice-settings.ts'
import {
  readDeviceGatewaySettings,
  isLoopbackOnlyListener,
  formatOtaUrl,
  readToolTimeouts,
  explainDeviceListenFault,
  readDeviceUrlRules,
} from './device-gateway-settings.ts'
import type { FleetEvent } from './session/fleet.ts'
import type { DeviceAdmissionRefusal } from './session/device-admission-refusal.ts'
import { createDeviceAnnounceTools } from './tools/announce-tools.ts'
import { createDeviceCallTools } from './tools/call-tools.ts'
import { DeviceToolCaller } from './tools/device-tool-caller.ts'
import { DeviceAdmissionRefusalLog } from './tools/device-admission-refusal-log.ts'
import { createEnrolmentTools } from './tools/enrolment-tools.ts'
import { DeviceEventLog } from './tools/event-log.ts'
import { reportDevicesHealth, KEEP_DEVICE_ON_VOICE_BACKEND_HINT } from './tools/health.ts'
import { createDeviceListTools } from './tools/list-tools.ts'
import { Throttle } from '../toolbox/throttle.ts'
import type { RunningDevicesService } from './tools/running-devices-service.ts'
import { ToolPinStore } from './tools/tool-pin-store.ts'
import { REFUSED_DEVICES_URI, createRefusedDevicesResource } from './tools/refused-devices-resource.ts'
import type { DeviceRosterBus } from './tools/device-roster.ts'
import { DeviceRoster } from './tools/device-roster.ts'
import {
  DEVICE_RESOURCE_CHANGE_THROTTLE_MS,
  PendingDevicesChangeNotifier,
} from './tools/pending-devices-change-notifier.ts'
import { PENDING_DEVICES_URI, createPendingDevicesResource } from './tools/pending-devices-resource.ts'

export interface DevicesServiceOptions {
  readonly config: DevicesConfig
  readonly database: Database
  readonly ledger: Ledger
  readonly bus: DeviceRosterBus & Pick<CapabilityBus, 'call'> & { readonly announceResource: (uri: string) => void }
  readonly clock: Clock
  readonly logger: Logger
  /**
   * Signs MQTT credentials. It is derived from the node's key, because a separate file could be replaced by another
   * one.
   */
  readonly signingKey: Uint8Array
}

const REOPEN = { firstMs: 5_000, maxMs: 60_000, factor: 2 }

export function createDevicesService(options: DevicesServiceOptions): Service {
  const { config } = options
  const runtime = new DevicesRuntime(options)
  const parts = { service: () => runtime.service }
  const transports = [
    'websocket',
    ...(config.mqtt.enabled ? ['mqtt'] : []),
    ...(config.broker === undefined ? [] : ['mqtt-broker']),
  ]
  const capabilities: readonly Capability[] = [
    ...createDeviceListTools(parts),
    ...createDeviceCallTools(parts),
    ...createDeviceAnnounceTools(parts, readDeviceUrlRules(config)),
    createPendingDevicesResource(parts),
    createRefusedDevicesResource(parts),
    ...createEnrolmentTools({ ...parts, transports }),
  ]
  const health = (): ServiceHealth =>
    reportDevicesHealth(runtime.service, {
      host: config.host,
      port: config.port,
      trouble: runtime.trouble,
      transports,
      unansweredCount: runtime.unansweredCount,
    })
  return {
    name: 'devices',
    prefixes: ['devices'],
    capabilities: () => capabilities,
    start: () => runtime.open(),
    stop: () => runtime.close(),
    health,
    examine: async () => {
      const { examineDevices } = await import('./doctor-client.ts')
      return examineDevices(config, health())
    },
  }
}

/** Everything that exists while devices can connect. */
class DevicesRuntime {
  service: RunningDevicesService | undefined
  trouble: string | undefined
  readonly #options: DevicesServiceOptions
  readonly #closing = new AbortController()
  readonly #waiting: PendingDevicesChangeNotifier
  readonly #refusals: Throttle
  readonly #refusalLog: DeviceAdmissionRefusalLog
  /** Devices that a person spoke to while no voice backend could hear them. */
  readonly #unanswered = new Set<string>()
  #gateway: DeviceGateway | undefined
  #retry: NodeJS.Timeout | undefined
  #attempts = 0

  constructor(options: DevicesServiceOptions) {
    const { bus, clock } = options
    this.#options = options
    this.#waiting = new PendingDevicesChangeNotifier({
      announce: () => bus.announceResource(PENDING_DEVICES_URI),
      pending: () => this.#gateway?.registrar.pending() ?? [],
      clock,
    })
    this.#refusals = new Throttle(() => bus.announceResource(REFUSED_DEVICES_URI), DEVICE_RESOURCE_CHANGE_THROTTLE_MS)
    this.#refusalLog = new DeviceAdmissionRefusalLog()
  }

  /** How many devices a person spoke to while no voice backend could hear them. */
  get unansweredCount(): number {
    return this.#unanswered.size
  }

  async open(): Promise<void> {
    const { config, database, ledger, clock, logger } = this.#options
    const settings = readDeviceGatewaySettings(config)
    try {
      this.#gateway = await openDeviceGateway({
        ...settings,
        database,
        log: ledger,
        clock,
        ...this.#voiceOptions(),
        signingKey: this.#options.signingKey,
        registrar: { ...settings.registrar, onWaiting: this.#waiting.changed },
        onRefused: (refusal) => this.#recordRefusal(refusal),
        onError: (error, message) => logger.error({ err: error }, message),
      })
    } catch (error) {
      // The service was stopped during the attempt, so there is no further one.
      if (this.#closing.signal.aborted) return
      this.trouble = explainDeviceListenFault(error, config)
      const pauseMs = computeBackoffMs(REOPEN, this.#attempts++)
      // Where the machine refused, the sentence is enough; only a bug needs a stack trace.
      const details = readSystemErrorCode(error) === undefined ? { err: error } : {}
      logger.error({ ...details, retryMs: pauseMs }, this.trouble)
      this.#retry = setTimeout(() => void this.open(), pauseMs)
      return
    }
    // The service was stopped while the listener was being opened.
    if (this.#closing.signal.aborted) {
      await this.#gateway.close()
      return
    }
    this.trouble = undefined
    this.service = this.#build(this.#gateway)
    void this.#follow(this.service)
    await this.service.roster.syncAll()
    logger.info(
      { host: config.host, port: this.#gateway.httpPort, mqtt: this.#gateway.mqttPort },
      'devices can connect',
    )
  }

  async close(): Promise<void> {
    this.#closing.abort()
    clearTimeout(this.#retry)
    this.#waiting.close()
    this.#refusals.close()
    const { service } = this
    this.service = undefined
    service?.calls.close()
    service?.roster.close()
    await this.#gateway?.close()
  }

  #build(gateway: DeviceGateway): RunningDevicesService {
    const { config, database, ledger, bus, clock, logger } = this.#options
    const { fleet, registrar } = gateway
    const store = new ToolPinStore(database, ledger)
    const calls = new DeviceToolCaller(fleet, {
      toolTimes: readToolTimeouts(config),
      whenAsleep: config.whenAsleep,
      waitMs: config.waitSeconds * 1_000,
      bootedAtMs: (deviceId) => registrar.device(deviceId)?.bootedAtMs,
      now: clock.now,
    })
    const roster = new DeviceRoster({
      fleet,
      registrar,
      store,
      calls,
      bus,
      rules: { ...config, effects: config, urls: readDeviceUrlRules(config) },
      monotonic: clock.monotonic,
      report: (error, message) => logger.error({ err: error }, message),
    })
    return {
      gateway,
      roster,
      calls,
      store,
      events: new DeviceEventLog(),
      refused: () => this.#refusalLog.list(clock.now()),
      otaUrl: formatOtaUrl(config, gateway.httpPort),
      localOnly: isLoopbackOnlyListener(config),
      publicUrl: config.publicUrl !== undefined,
    }
  }

  /**
   * Shows a refusal to the owner at once, and records it at a limited rate, because an unauthenticated client causes
   * it.
   */
  #recordRefusal(refusal: DeviceAdmissionRefusal): void {
    const { ledger, clock, logger } = this.#options
    const { door, why, deviceId, remoteAddress: address } = refusal
    const known = deviceId === undefined ? undefined : this.#gateway?.registrar.device(deviceId)
    const count = this.#refusalLog.add(refusal, known !== undefined, clock.now())
    this.#refusals.trigger()
    if (known === undefined || count === undefined) return
    const device = this.service?.store.slug(known.deviceId) ?? ''
    logger.warn({ device, id: known.deviceId, door, why, address, count }, 'a client was refused as a device')
    const event = { kind: 'device.refused', device, device_id: known.deviceId, door, why, address, count }
    ledger.append(event).catch((error: unknown) => logger.error({ err: error }, 'a refusal could not be recorded'))
  }

  #voiceOptions(): { readonly voice?: VoiceOptions } {
    const { config, bus, logger } = this.#options
    const backend = readVoiceBackendSettings(config.voice, process.env)
    if (backend === undefined) return {}
    const onPresence = (deviceId: string, isThere: boolean): void => {
      const device = this.service?.store.slug(deviceId) ?? deviceId
      if (isThere) logger.info({ device }, 'the voice backend answers again')
      else logger.warn({ device }, 'the voice backend does not answer; the device still has its tools here')
    }
    const callTool = createToolCallerForVoiceBackend({ service: () => this.service, bus })
    return { voice: { backend, onPresence, ...(config.voice.backendTools === 'guard' ? { callTool } : {}) } }
  }

  /**
   * Tells the owner once per device and run. The person at the device has seen the alert, but only the owner can
   * configure a voice backend.
   */
  #notifyOwner(deviceId: string): void {
    if (this.#unanswered.has(deviceId) || this.#options.config.voice.mode !== 'none') return
    this.#unanswered.add(deviceId)
    const device = this.service?.store.slug(deviceId) ?? deviceId
    this.#options.logger.warn(
      { device },
      `somebody spoke to ${device}, but no voice service is set up. ${KEEP_DEVICE_ON_VOICE_BACKEND_HINT}`,
    )
  }

  /** Ends with the fleet. The synchronisations that it starts never reject, so they need not be awaited. */
  async #follow({ gateway, roster, events }: RunningDevicesService): Promise<void> {
    for await (const event of gateway.fleet.subscribe(this.#closing.signal)) {
      events.add(event)
      if (event.kind === 'unheard') this.#notifyOwner(event.device)
      if (event.kind === 'missed') void roster.syncAll()
      else if (changesTools(event)) void roster.sync(event.device)
    }
  }
}

function changesTools({ kind }: FleetEvent): boolean {
  return kind !== 'notification' && kind !== 'unheard'
}
