/**
 * eBUS: the family as one service, with as many buses as the owner has.
 *
 *   adapter ▸ bus ▸ heating bus (installation, discovery, read plan) ▸ tools and resources
 */
import { setTimeout as pauseFor } from 'node:timers/promises'
import type { CapabilityBus } from '../bus/bus.ts'
import type { Capability, Service, ServiceHealth } from '../bus/capability.ts'
import type { EbusConfig } from '../config/ebus.ts'
import { readSharedAdapterListener } from '../config/listeners.ts'
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import type { JsonObject } from '../core/json.ts'
import type { Logger } from '../core/logger.ts'
import { readErrorMessage } from '../core/thrown-error.ts'
import { explainListenFault } from '../toolbox/listen-fault.ts'
import type { EbusStatus } from './adapter/ebus-connection.ts'
import { openEbusConnection } from './adapter/ebus-connection-client.ts'
import { parseAdapterEndpoint } from './adapter/adapter-endpoint.ts'
import { BusDefinitions } from './definitions/bus-definitions.ts'
import { DEFINITION_LANGUAGE, openDefinitionCatalog } from './definitions/definition-catalog-store.ts'
import { formatDefinitionFileFault } from './definitions/definition-error.ts'
import { isMappedMessage } from './semantic/mapped-message.ts'
import { formatDisagreement } from './semantic/register-disagreement.ts'
import { SharedPort } from './adapter/shared-port-server.ts'
import { adviseOnBusStatus } from './bus-advice.ts'
import { HeatingBusClient } from './heating-bus-client.ts'
import type { ObservationFeatureFlags } from './observe/bus-status.ts'
import { DEFAULT_WARM_UP_THRESHOLDS } from './observe/passive-warm-up.ts'
import { createBusTrafficTools, createShadowSummaryTools } from './tools/bus-traffic-tools.ts'
import { createInstallerSettingChangeTools } from './tools/installer-setting-tools.ts'
import type { DefinitionLoadState, EbusToolContext } from './tools/ebus-tool-context.ts'
import { createDefinedMessageTools } from './tools/defined-message-tools.ts'
import { LEGACY_EBUS_TOOLS } from './tools/legacy-tools.ts'
import { createPlaneTools } from './tools/plane-tools.ts'
import { createDeviceRegistryTools } from './tools/registry-tools.ts'
import { listChangedResourceUris, createEbusResources } from './tools/resources.ts'
import { createRpcTools } from './tools/rpc-tools.ts'
import { createScheduleChangeTools } from './tools/schedule-tools.ts'
import { createResidentSettingTools } from './tools/resident-setting-tools.ts'
import { SNAPSHOT_LIMITS, EbusSnapshots } from './tools/ebus-snapshots.ts'
import { createSnapshotTools } from './tools/snapshot-tools.ts'
import { createVaillantDiagnosticTools } from './tools/vaillant-diagnostic-tools.ts'
import { createRegisterValueStore } from './register-value-store.ts'

export interface EbusServiceOptions {
  readonly config: EbusConfig
  readonly bus: Pick<CapabilityBus, 'announceResource'>
  readonly database: Database
  readonly clock: Clock
  readonly logger: Logger
  readonly version: string
  /** The folder for downloaded definitions. */
  readonly dataRoot: string
}

const MS_PER_SECOND = 1_000
const UNUSED_ADDRESS = 0xff
const MAX_LISTED_FAULTS = 3

/** Nothing is contacted before `start`, and `start` does not wait for a device. */
export function createEbusService(options: EbusServiceOptions): Service {
  const { config, clock, version, logger } = options
  const buses = config.buses.map((bus) => heatingBus(bus, options))
  const snapshots = new EbusSnapshots({ ...SNAPSHOT_LIMITS, ttlMs: config.snapshotSeconds * MS_PER_SECOND })
  const definitions = definitionsOrigin(config)
  const context = { buses, snapshots, clock, version, definitions }
  const capabilities = [...allCapabilities(context, config), ...LEGACY_EBUS_TOOLS]
  const ports: SharedPort[] = []
  /** Why adapters are not shared although they should be. */
  const unshared: string[] = []
  return {
    name: 'ebus',
    prefixes: ['ebus.'],
    capabilities: () => capabilities,
    start: async () => {
      for (const heating of buses) heating.start()
      // Listening starts before the definitions are read.
      if (definitions !== undefined) void loadDefinitions(definitions, buses, options)
      for (const { id, clientAcceptor: acceptor } of buses) {
        const place = readSharedAdapterListener(config, id)
        if (place === undefined || acceptor === undefined) continue
        const opened = await SharedPort.open(acceptor, place)
        if (opened.ok) {
          ports.push(opened.value)
          continue
        }
        const why = explainListenFault(opened.fault.error, place)
        unshared.push(why)
        logger.error({ bus: id, port: place.port }, `the adapter cannot be shared: ${why}`)
      }
    },
    stop: async () => {
      for (const port of ports.splice(0)) await port.close()
      await Promise.all(buses.map((heating) => heating.stop()))
    },
    health: () => healthOf(buses, definitions),
    examine: async () => {
      const { examineEbus } = await import('./doctor-client.ts')
      const results = buses.map((heating) => {
        const { id, adapter } = heating
        const { connected, signal } = heating.status()
        return { id, adapter, hasSignal: connected && signal, advice: busAdvice(heating) }
      })
      return examineEbus(config, { dataRoot: options.dataRoot, running: { results, unshared } })
    },
  }
}

function definitionsOrigin({ definitions }: EbusConfig): DefinitionLoadState | undefined {
  if (definitions === undefined) return undefined
  return { source: definitions, state: 'loading', problem: undefined, sha256: undefined }
}

async function loadDefinitions(
  origin: DefinitionLoadState,
  buses: readonly HeatingBusClient[],
  { clock, logger, dataRoot }: EbusServiceOptions,
): Promise<void> {
  try {
    const catalog = await openDefinitionCatalog(origin.source, { dataRoot, now: clock.now })
    if (!catalog.ok) throw new Error(catalog.fault)
    for (const { installation } of buses)
      installation.define(new BusDefinitions(catalog.value.folder, DEFINITION_LANGUAGE, isMappedMessage))
    origin.sha256 = catalog.value.sha256
    origin.state = 'loaded'
  } catch (error) {
    origin.state = 'failed'
    origin.problem = readErrorMessage(error)
    logger.error({ definitions: origin.source }, origin.problem)
  }
}

type BusConfig = EbusConfig['buses'][number]

/** Throws for an invalid adapter and for a duplicate name, which the configuration should have refused. */
function heatingBus(
  bus: BusConfig,
  { config, database, clock, logger, ...options }: EbusServiceOptions,
): HeatingBusClient {
  const endpoint = parseAdapterEndpoint(bus.adapter)
  if (!endpoint.ok) throw new Error(`ebus: ${bus.adapter} is not an adapter; ${endpoint.fault.expected}`)
  if (config.buses.filter(({ id }) => id === bus.id).length > 1) throw new Error(`ebus: two buses are called ${bus.id}`)
  return new HeatingBusClient({
    id: bus.id,
    adapter: bus.adapter,
    readOnly: bus.readOnly,
    open: () => openEbusConnection({ id: bus.id, endpoint: endpoint.value, source: sourceOf(bus), clock }),
    discovery: config.discovery,
    installation: {
      pollMs: config.pollSeconds * MS_PER_SECOND,
      listens: config.observe,
      thresholds: {
        ...DEFAULT_WARM_UP_THRESHOLDS,
        windowMs: config.warmUpSeconds * MS_PER_SECOND,
        transactions: bus.warmUpTransactions,
        settlingTransactions: Math.min(DEFAULT_WARM_UP_THRESHOLDS.settlingTransactions, bus.warmUpTransactions),
      },
      flags: featureFlags(config),
      seeds: bus.addresses ?? [],
    },
    clock,
    logger,
    values: createRegisterValueStore(database, bus.id, clock.now),
    announce: (change) => {
      for (const uri of listChangedResourceUris(bus.id, change)) options.bus.announceResource(uri)
    },
  })
}

/** A free address can only be found by probing; a bus that only listens gets one and never uses it. */
function sourceOf({ readOnly, source }: BusConfig): number | 'auto' {
  return readOnly ? UNUSED_ADDRESS : source
}

/** If listening is off, everything that depends on it is off as well. */
function featureFlags({ observe, passiveValues }: EbusConfig): ObservationFeatureFlags {
  const state = observe && passiveValues !== 'off'
  return {
    observe_first_enabled: observe,
    passive_state_direct_apply: state,
    passive_config_direct_apply: state && passiveValues === 'all',
    external_write_policy: state ? 'record_and_invalidate' : 'record_only',
  }
}

/** Tools for traffic are offered only with listening, and those for watching only if it has an effect. */
function allCapabilities(context: EbusToolContext, config: EbusConfig): readonly Capability[] {
  const pause = async (ms: number): Promise<void> => pauseFor(ms)
  return [
    ...createPlaneTools(context),
    ...createDeviceRegistryTools(context),
    ...createScheduleChangeTools(context, pause),
    ...createResidentSettingTools(context, pause),
    ...createVaillantDiagnosticTools(context),
    ...createInstallerSettingChangeTools(context),
    ...createSnapshotTools(context, pause),
    ...createRpcTools(context),
    ...createDefinedMessageTools(context),
    ...(config.observe ? createBusTrafficTools(context) : []),
    ...(config.observe && config.passiveValues !== 'off' ? createShadowSummaryTools(context) : []),
    ...createEbusResources(context),
  ]
}

/** The lines after an invalid line are missing, so the owner is told. */
function definitionAdvice(
  buses: readonly HeatingBusClient[],
  origin: DefinitionLoadState | undefined,
): readonly string[] {
  if (origin?.problem !== undefined) return [origin.problem]
  const faults = new Set(
    buses.flatMap(({ installation }) => installation.definitions?.faults ?? []).map(formatDefinitionFileFault),
  )
  const disagreements = new Set(
    buses.flatMap(({ installation }) => [...installation.disagreements.values()].map(formatDisagreement)),
  )
  return [
    ...[...faults].slice(0, MAX_LISTED_FAULTS).map((text) => `A definition file was not read to its end: ${text}.`),
    ...[...disagreements].slice(0, MAX_LISTED_FAULTS).map((text) => `Definition and built-in map disagree: ${text}.`),
  ]
}

function healthOf(buses: readonly HeatingBusClient[], origin: DefinitionLoadState | undefined): ServiceHealth {
  const looked = buses.map((heating) => {
    const { id, readOnly } = heating
    return { id, status: heating.status(), readOnly, advice: busAdvice(heating) }
  })
  const advice = looked
    .filter((each) => each.advice !== undefined)
    .map((each) => (buses.length > 1 ? `${each.id}: ${each.advice}` : `${each.advice}`))
    .concat(definitionAdvice(buses, origin))
  const well = looked.filter(({ status }) => status.connected && status.signal).length
  return {
    status: advice.length === 0 ? 'ok' : 'degraded',
    details: {
      ...(advice.length === 0 ? {} : { advice: advice.join(' ') }),
      ...(well === buses.length ? {} : { away: true }),
      buses: buses.length,
      'with signal': well,
      bus: Object.fromEntries(looked.map(({ id, status, readOnly }) => [id, busJson(status, readOnly)])),
    },
  }
}

function busAdvice(heating: HeatingBusClient): string | undefined {
  const { adapter, readOnly, installation } = heating
  const hasRegulator = installation.topology.regulator !== undefined
  return adviseOnBusStatus(heating.status(), { adapter, readOnly, hasRegulator })
}

function busJson(status: EbusStatus, readOnly: boolean): JsonObject {
  const { transport, connected, signal, source, address, reconnects } = status
  return {
    transport,
    connected,
    signal,
    source: readOnly ? 'listen-only' : source,
    address: address ?? null,
    reconnects,
  }
}
