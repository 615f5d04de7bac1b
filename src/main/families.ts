/** Families: the services of this product. Delete a family's folder and its lines here, and the rest still builds. */
import type { FamilyEnvelope, Service } from '../bus/capability.ts'
import type { GuardedBus } from '../call/guarded-bus.ts'
import type { DataDirectory } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import type { Database, ModuleMigrations } from '../core/database-store.ts'
import type { Logger } from '../core/logger.ts'
import { ok, type Result } from '../core/result.ts'
import { devicesFamilyEnvelope } from '../devices/tools/devices-envelope.ts'
import { ebusFamilyEnvelope } from '../ebus/tools/ebus-envelope.ts'
import { homeseerFamilyEnvelope } from '../homeseer/tools/homeseer-envelope.ts'
import { runtimeFamilyEnvelope } from '../runtime/runtime-envelope.ts'
import { rememberedDevicesMigrations } from '../devices/enrol/enrol-store.ts'
import { deviceToolsMigrations } from '../devices/tools/tool-pin-store.ts'
import { rollbackMigrations } from '../homeseer/admin/rollback-store.ts'
import { ebusMigrations } from '../ebus/register-value-store.ts'
import { runtimeMigrations } from '../runtime/migrations.ts'
import { createHomeService } from '../home/home.ts'
import { homeFamilyEnvelope } from '../home/home-envelope.ts'
import { RANDOM_DRAW_KEY_PURPOSE } from '../ledger/random-draw.ts'
import type { RandomDrawKey } from '../ledger/random-draw.ts'
import { deriveNodeSecret } from '../ledger/key-store.ts'
import type { NodeKey } from '../ledger/key-store.ts'
import type { ConsensusPeerService } from '../runtime/consensus/tools.ts'
import { createAuditedRuntimeService } from '../runtime/runtime.ts'
import { createPrincipalLookup } from './principal-lookup.ts'
import { createMisconfiguredStartResult, type StartFault } from './start-fault.ts'

export interface FamilyDependencies {
  readonly config: Config
  readonly version: string
  readonly data: DataDirectory
  readonly spine: GuardedBus
  readonly database: Database
  readonly logger: Logger
  /** The node's own key. */
  readonly key: Pick<NodeKey, 'privateKey'>
  readonly draws: RandomDrawKey
  /** Everything that reports its health and has started. */
  readonly reporters: () => readonly Pick<Service, 'name' | 'health'>[]
  /** Other nodes, once the mesh has started. */
  readonly peers?: () => ConsensusPeerService | undefined
}

/**
 * The migrations of all families, whatever is switched on: a family that is switched off and on again finds its
 * records.
 */
export const familyMigrations: readonly ModuleMigrations[] = [
  runtimeMigrations,
  rememberedDevicesMigrations,
  deviceToolsMigrations,
  rollbackMigrations,
  ebusMigrations,
]

/** The envelopes of all families; a peer's tools use them as well, whether or not the family runs here. */
export const familyEnvelopes: readonly FamilyEnvelope[] = [
  runtimeFamilyEnvelope,
  devicesFamilyEnvelope,
  homeseerFamilyEnvelope,
  ebusFamilyEnvelope,
  homeFamilyEnvelope,
]

/** The families that a gateway with this configuration has. */
export function listConfiguredFamilies({ devices, homeseer, ebus }: Config): readonly string[] {
  return [
    runtimeFamilyEnvelope.name,
    homeFamilyEnvelope.name,
    ...(devices.enabled ? [devicesFamilyEnvelope.name] : []),
    ...(homeseer.url === undefined ? [] : [homeseerFamilyEnvelope.name]),
    ...(ebus.buses.length === 0 ? [] : [ebusFamilyEnvelope.name]),
  ]
}

/** Nothing is contacted before `start`. A family that is not configured is not even loaded. */
export async function createFamilyServices({
  config,
  version,
  data,
  spine: { bus, guard, ledger, queue },
  database,
  logger,
  key,
  draws,
  reporters,
  peers = () => undefined,
}: FamilyDependencies): Promise<Result<readonly Service[], StartFault>> {
  const world = { clock: systemClock, logger, database }
  const services: Service[] = [
    createAuditedRuntimeService({
      database,
      ledger,
      bus,
      guard,
      clock: systemClock,
      queue,
      peers,
      vrfSecret: deriveNodeSecret(key, RANDOM_DRAW_KEY_PURPOSE),
      draws,
      // The runtime's own checks are in the answer already.
      reporters: () => reporters().filter(({ name }) => name !== 'runtime'),
      config: {
        version,
        mode: config.mode,
        skillRoots: config.skills.roots,
        checkpointSeconds: config.ledger.checkpointSeconds,
        dataDirectory: data.root,
      },
    }),
  ]
  if (config.devices.enabled) {
    const { createDevicesService } = await import('../devices/devices.ts')
    const signingKey = deriveNodeSecret(key, 'hearthbus mqtt credentials v1')
    services.push(createDevicesService({ ...world, config: config.devices, ledger, bus, signingKey }))
  }
  const { url } = config.homeseer
  if (url !== undefined) {
    const { createHomeseerService } = await import('../homeseer/homeseer.ts')
    const created = createHomeseerService({
      ...world,
      config: { ...config.homeseer, url },
      bus: {
        offer: (name) => bus.offer(name),
        offers: () => bus.offers(),
        announceResource: bus.announceResource.bind(bus),
      },
      guard: guard.services,
      ledger,
    })
    // The only one that can fail: its alias file may be unreadable.
    if (!created.ok) return createMisconfiguredStartResult(created.fault)
    services.push(created.value)
  }
  if (config.ebus.buses.length > 0) {
    const { createEbusService } = await import('../ebus/ebus.ts')
    services.push(createEbusService({ ...world, config: config.ebus, bus, version, dataRoot: data.root }))
  }
  services.push(
    createHomeService({
      bus,
      guard,
      ledger,
      clock: systemClock,
      rooms: config.rooms,
      aliases: config.aliases,
      principalNow: createPrincipalLookup({ config, tokens: guard.tokens, clock: systemClock }),
      report: (error, message) => logger.error({ err: error }, message),
    }),
  )
  return ok(services)
}
