/** Families: the services of this product. Delete a family's folder and its lines here, and the rest still builds. */
import type { Family, Service } from '../bus/capability.ts'
import type { GuardedBus } from '../call/guarded-bus.ts'
import type { DataDirectory } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import type { Database, ModuleMigrations } from '../core/database-store.ts'
import type { Logger } from '../core/logger.ts'
import { ok, type Result } from '../core/result.ts'
import { devicesFamily } from '../devices/tools/devices-envelope.ts'
import { ebusFamily } from '../ebus/tools/ebus-envelope.ts'
import { homeseerFamily } from '../homeseer/tools/homeseer-envelope.ts'
import { runtimeFamily } from '../runtime/runtime-envelope.ts'
import { devicesMigrations } from '../devices/enrol/enrol-store.ts'
import { deviceToolsMigrations } from '../devices/tools/tool-pin-store.ts'
import { rollbackMigrations } from '../homeseer/admin/rollback-store.ts'
import { ebusMigrations } from '../ebus/register-value-store.ts'
import { runtimeMigrations } from '../runtime/migrations.ts'
import { createHome } from '../home/home.ts'
import { homeFamily } from '../home/home-envelope.ts'
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
  devicesMigrations,
  deviceToolsMigrations,
  rollbackMigrations,
  ebusMigrations,
]

/** The envelopes of all families; a peer's tools use them as well, whether or not the family runs here. */
export const familyEnvelopes: readonly Family[] = [runtimeFamily, devicesFamily, homeseerFamily, ebusFamily, homeFamily]

/** The families that a gateway with this configuration has. */
export function listConfiguredFamilies({ devices, homeseer, ebus }: Config): readonly string[] {
  return [
    runtimeFamily.name,
    homeFamily.name,
    ...(devices.enabled ? [devicesFamily.name] : []),
    ...(homeseer.url === undefined ? [] : [homeseerFamily.name]),
    ...(ebus.buses.length === 0 ? [] : [ebusFamily.name]),
  ]
}

/** Nothing is contacted before `start`. A family that is not configured is not even loaded. */
export async function createFamilyServices(parts: FamilyDependencies): Promise<Result<readonly Service[], StartFault>> {
  // Only this family can fail here, because its alias file may be unreadable.
  const homeseer = await homeseerServices(parts)
  if (!homeseer.ok) return homeseer
  return ok([
    runtimeService(parts),
    ...(await devicesServices(parts)),
    ...homeseer.value,
    ...(await ebusServices(parts)),
    homeService(parts),
  ])
}

function runtimeService({
  config,
  version,
  data,
  spine,
  database,
  key,
  draws,
  reporters,
  peers = () => undefined,
}: FamilyDependencies): Service {
  return createAuditedRuntimeService({
    database,
    ledger: spine.ledger,
    bus: spine.bus,
    guard: spine.guard,
    clock: systemClock,
    queue: spine.queue,
    peers,
    vrfSecret: deriveNodeSecret(key, RANDOM_DRAW_KEY_PURPOSE),
    draws,
    // The runtime's own checks are already in its answer.
    reporters: () => reporters().filter(({ name }) => name !== 'runtime'),
    config: {
      version,
      mode: config.mode,
      skillRoots: config.skills.roots,
      checkpointSeconds: config.ledger.checkpointSeconds,
      dataDirectory: data.root,
    },
  })
}

function homeService({ config, spine, logger }: FamilyDependencies): Service {
  const { bus, guard, ledger } = spine
  return createHome({
    bus,
    guard,
    ledger,
    clock: systemClock,
    rooms: config.rooms,
    aliases: config.aliases,
    principalNow: createPrincipalLookup({ config, tokens: guard.tokens, clock: systemClock }),
    report: (error, message) => logger.error({ err: error }, message),
  })
}

async function devicesServices({
  config,
  key,
  spine,
  database,
  logger,
}: FamilyDependencies): Promise<readonly Service[]> {
  if (!config.devices.enabled) return []
  const { createDevicesService } = await import('../devices/devices.ts')
  const { bus, ledger } = spine
  const signingKey = deriveNodeSecret(key, 'hearthbus mqtt credentials v1')
  return [
    createDevicesService({ config: config.devices, database, ledger, bus, clock: systemClock, logger, signingKey }),
  ]
}

async function homeseerServices({
  config,
  spine,
  database,
  logger,
}: FamilyDependencies): Promise<Result<readonly Service[], StartFault>> {
  const { url } = config.homeseer
  if (url === undefined) return ok([])
  const { createHomeseerService } = await import('../homeseer/homeseer.ts')
  const { bus, ledger, guard } = spine
  const created = createHomeseerService({
    config: { ...config.homeseer, url },
    database,
    clock: systemClock,
    logger,
    bus: {
      offer: (name) => bus.offer(name),
      offers: () => bus.offers(),
      announceResource: bus.announceResource.bind(bus),
    },
    guard: guard.services,
    ledger,
  })
  return created.ok ? ok([created.value]) : createMisconfiguredStartResult(created.fault)
}

async function ebusServices({
  config,
  version,
  data,
  spine,
  database,
  logger,
}: FamilyDependencies): Promise<readonly Service[]> {
  if (config.ebus.buses.length === 0) return []
  const { createEbus } = await import('../ebus/ebus.ts')
  const { bus } = spine
  const dataRoot = data.root
  return [createEbus({ config: config.ebus, bus, database, clock: systemClock, logger, version, dataRoot })]
}
