/**
 * Devices: the ESP32 family as one service. Opens the doors, follows the fleet, keeps the bus in step with it.
 *
 *   fleet events ▸ event log, roster ▸ capabilities `device.<slug>.<tool>` come and go
 *
 * A door that cannot be opened does not keep the rest of the house from starting: it is tried again, and health says why.
 *
 * Does its I/O through the gateway and its stores.
 */
import type { Capability, Service } from '../bus/capability.ts'
import type { DevicesConfig } from '../config/devices.ts'
import { backoffMs } from '../core/backoff.ts'
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import type { Logger } from '../core/logger.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Gateway, GatewayOptions } from './enrol/gateway-server.ts'
import { openDevices } from './enrol/gateway-server.ts'
import { openSigningKey } from './enrol/signing-key-store.ts'
import type { FleetEvent } from './session/fleet.ts'
import type { ToolTimes } from './session/tool-time.ts'
import { DEFAULT_TOOL_TIMES } from './session/tool-time.ts'
import { announceTools } from './tools/announce-tools.ts'
import { callTools } from './tools/call-tools.ts'
import { DeviceCalls } from './tools/device-call.ts'
import { enrolmentTools } from './tools/enrolment-tools.ts'
import { EventLog } from './tools/event-log.ts'
import { devicesHealth } from './tools/health.ts'
import { listTools } from './tools/list-tools.ts'
import type { ForwardBus, OpenHouse } from './tools/open-house.ts'
import { PinStore } from './tools/pin-store.ts'
import type { RosterBus } from './tools/roster.ts'
import { Roster } from './tools/roster.ts'
import type { UrlRule } from './tools/url-rule.ts'
import { parseUrlRule } from './tools/url-rule.ts'
import { WaitingNotice } from './tools/waiting-notice.ts'
import { WAITING_URI, waitingResource } from './tools/waiting-resource.ts'

export interface DevicesOptions {
  readonly config: DevicesConfig
  readonly database: Database
  readonly ledger: Ledger
  readonly bus: RosterBus & ForwardBus & { readonly announceResource: (uri: string) => void }
  readonly clock: Clock
  readonly logger: Logger
  /** The file of the secret that signs MQTT credentials; made when it is not there. */
  readonly signingKeyPath: string
}

const REOPEN = { firstMs: 5_000, maxMs: 60_000, factor: 2 }

export function createDevices(options: DevicesOptions): Service {
  const { config, bus, clock } = options
  const doors = new Doors(options)
  const parts = { bus, house: () => doors.house, monotonic: clock.monotonic }
  const transports = [
    'websocket',
    ...(config.mqtt.enabled ? ['mqtt'] : []),
    ...(config.broker === undefined ? [] : ['mqtt-broker']),
  ]
  const capabilities: readonly Capability[] = [
    ...listTools(parts),
    ...callTools(parts),
    ...announceTools(parts, urlRules(config)),
    waitingResource(parts),
    ...enrolmentTools({ ...parts, transports, record: async (event) => void (await options.ledger.append(event)) }),
  ]
  return {
    name: 'devices',
    prefixes: ['devices', 'device'],
    capabilities: () => capabilities,
    start: () => doors.open(),
    stop: () => doors.close(),
    health: () =>
      devicesHealth(doors.house, {
        host: config.host,
        port: config.port,
        trouble: doors.trouble,
        broker: config.broker !== undefined,
      }),
  }
}

/** Everything that is held while devices can come in. */
class Doors {
  house: OpenHouse | undefined
  trouble: string | undefined
  readonly #options: DevicesOptions
  readonly #closing = new AbortController()
  readonly #waiting: WaitingNotice
  #gateway: Gateway | undefined
  #retry: NodeJS.Timeout | undefined
  #attempts = 0

  constructor(options: DevicesOptions) {
    const { bus, clock } = options
    this.#options = options
    this.#waiting = new WaitingNotice({
      announce: () => bus.announceResource(WAITING_URI),
      pending: () => this.#gateway?.registrar.pending() ?? [],
      clock,
    })
  }

  async open(): Promise<void> {
    const { config, logger } = this.#options
    try {
      this.#gateway = await openDevices(gatewayOptions(this.#options, this.#waiting.changed))
    } catch (error) {
      this.trouble = troubleText(error, config)
      const pauseMs = backoffMs(REOPEN, this.#attempts++)
      logger.error({ err: error, retryMs: pauseMs }, this.trouble)
      this.#retry = setTimeout(() => void this.open(), pauseMs)
      return
    }
    // Stopped while it was being opened.
    if (this.#closing.signal.aborted) {
      await this.#gateway.close()
      return
    }
    this.trouble = undefined
    this.house = this.#furnish(this.#gateway)
    void this.#follow(this.house)
    await this.house.roster.syncAll()
    logger.info(
      { host: config.host, port: this.#gateway.httpPort, mqtt: this.#gateway.mqttPort },
      'devices can connect',
    )
  }

  async close(): Promise<void> {
    this.#closing.abort()
    clearTimeout(this.#retry)
    this.#waiting.close()
    const { house } = this
    this.house = undefined
    house?.calls.close()
    house?.roster.close()
    await this.#gateway?.close()
  }

  #furnish(gateway: Gateway): OpenHouse {
    const { config, database, ledger, bus, logger } = this.#options
    const { fleet, registrar } = gateway
    const store = new PinStore(database, ledger)
    const calls = new DeviceCalls(fleet, {
      toolTimes: toolTimes(config),
      whenAsleep: config.whenAsleep,
      waitMs: config.waitSeconds * 1_000,
    })
    const roster = new Roster({
      fleet,
      registrar,
      store,
      calls,
      bus,
      rules: { ...config, effects: config, urls: urlRules(config) },
      report: (error, message) => logger.error({ err: error }, message),
    })
    return { gateway, roster, calls, store, events: new EventLog(), otaUrl: otaUrl(config, gateway.httpPort) }
  }

  /** Ends with the fleet. Looks never reject, so nobody need wait for them. */
  async #follow({ gateway, roster, events }: OpenHouse): Promise<void> {
    for await (const event of gateway.fleet.subscribe(this.#closing.signal)) {
      events.add(event)
      if (event.kind === 'missed') void roster.syncAll()
      else if (changesTools(event)) void roster.sync(event.device)
    }
  }
}

function changesTools({ kind }: FleetEvent): boolean {
  return kind !== 'notification'
}

function gatewayOptions(options: DevicesOptions, onWaiting: () => void): GatewayOptions {
  const { config, database, clock, logger } = options
  const { host, port, publicUrl, mqtt, broker, transport, keepAliveSeconds, allowedOrigins, maxConnections } = config
  return {
    database,
    clock,
    host,
    transport,
    httpPort: port,
    signingKey: openSigningKey(options.signingKeyPath),
    ...(publicUrl === undefined ? {} : { publicUrl }),
    ...(mqtt.enabled ? { mqtt: { port: mqtt.port, udpPort: mqtt.udpPort } } : {}),
    ...(broker === undefined ? {} : { broker: { ...broker, account: broker.account } }),
    fleet: {
      toolTimes: toolTimes(config),
      settings: {
        withUserTools: config.userTools,
        keepAliveMs: keepAliveSeconds === 0 ? undefined : keepAliveSeconds * 1_000,
      },
    },
    registrar: {
      onWaiting,
      waitingRoom: {
        places: Math.max(256, config.waitingPerAddress),
        placesPerAddress: config.waitingPerAddress,
        stayMs: 3_600_000,
      },
    },
    server: { otaPath: config.otaPath, allowedOrigins, maxConnections },
    onError: (error) => logger.error({ err: error }, 'what a device can do could not be remembered'),
  }
}

/** What is typed into a device; where nothing is configured, as seen from this machine. */
function otaUrl({ publicUrl, host, otaPath }: DevicesConfig, port: number): string {
  if (publicUrl !== undefined) return `${publicUrl.replace(/\/$/, '')}${otaPath}`
  return `http://${host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host}:${port}${otaPath}`
}

function toolTimes({ toolSeconds }: DevicesConfig): ToolTimes {
  const byTool = Object.fromEntries(Object.entries(toolSeconds).map(([tool, seconds]) => [tool, seconds * 1_000]))
  return { ...DEFAULT_TOOL_TIMES, byTool }
}

/** The configuration has checked their form. */
function urlRules({ urls }: DevicesConfig): readonly UrlRule[] {
  return urls.map((text) => {
    const rule = parseUrlRule(text)
    if (rule === undefined) throw new Error(`devices.urls: ${text} is not an address that can be allowed`)
    return rule
  })
}

function troubleText(error: unknown, { host, port, mqtt }: DevicesConfig): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const ports = mqtt.enabled ? `${port}, or ${mqtt.port} for MQTT,` : String(port)
  if (code === 'EADDRINUSE')
    return `Port ${ports} belongs to another program. Stop that, or set devices.port and devices.mqtt.port.`
  if (code === 'EADDRNOTAVAIL') return `devices.host is ${host}, which is no address of this machine.`
  if (code === 'EACCES') return `Port ${ports} may only be used by root. Set devices.port to one above 1023.`
  return `The listener for devices cannot be opened: ${error instanceof Error ? error.message : String(error)}.`
}
