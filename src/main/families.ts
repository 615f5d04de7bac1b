/**
 * Families: what this product can reach. Delete a family's folder and its lines here, and the rest still builds.
 *
 * Pure joining; each family does its own work.
 */
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
import { deviceToolsMigrations } from '../devices/tools/pin-store.ts'
import { rollbackMigrations } from '../homeseer/admin/rollback-store.ts'
import { ebusMigrations } from '../ebus/values-store.ts'
import { runtimeMigrations } from '../runtime/migrations.ts'
import { createHome } from '../home/home.ts'
import { homeFamily } from '../home/home-envelope.ts'
import { deriveSecret } from '../ledger/key-store.ts'
import type { NodeKey } from '../ledger/key-store.ts'
import type { ConsensusPeers } from '../runtime/consensus/tools.ts'
import { createRuntime } from '../runtime/runtime.ts'
import { createPrincipalLookup } from './principal-lookup.ts'
import { misconfiguredStart, type StartFault } from './start-fault.ts'

export interface FamilyParts {
  readonly config: Config
  readonly version: string
  readonly data: DataDirectory
  readonly spine: GuardedBus
  readonly database: Database
  readonly logger: Logger
  /** The node's own. */
  readonly key: Pick<NodeKey, 'privateKey'>
  /** Whoever says how it is, as far as they have started. */
  readonly reporters: () => readonly Pick<Service, 'name' | 'health'>[]
  /** Other nodes, once the mesh has started. */
  readonly peers?: () => ConsensusPeers | undefined
}

/** All of them, whatever is switched on: a family that is switched off and on again finds its records. */
export const familyMigrations: readonly ModuleMigrations[] = [
  runtimeMigrations,
  devicesMigrations,
  deviceToolsMigrations,
  rollbackMigrations,
  ebusMigrations,
]

/** How each family spells its answers; a peer's tools answer in them, too, whether or not the family runs here. */
export const familyEnvelopes: readonly Family[] = [runtimeFamily, devicesFamily, homeseerFamily, ebusFamily, homeFamily]

/** Nothing is contacted before `start`. A family that the configuration does not ask for is not even loaded. */
export async function createFamilies(parts: FamilyParts): Promise<Result<readonly Service[], StartFault>> {
  // The only one that can refuse: its file of names may be unreadable.
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
  reporters,
  peers = () => undefined,
}: FamilyParts): Service {
  return createRuntime({
    database,
    ledger: spine.ledger,
    bus: spine.bus,
    guard: spine.guard,
    clock: systemClock,
    queue: spine.queue,
    peers,
    vrfSecret: deriveSecret(key, 'hearthbus/vrf/v1'),
    // Its own checks are in the answer already.
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

function homeService({ config, spine, logger }: FamilyParts): Service {
  const { bus, guard, ledger } = spine
  return createHome({
    bus,
    guard,
    ledger,
    clock: systemClock,
    rooms: config.rooms,
    principalNow: createPrincipalLookup({ config, tokens: guard.tokens, clock: systemClock }),
    report: (error, message) => logger.error({ err: error }, message),
  })
}

async function devicesServices({ config, data, spine, database, logger }: FamilyParts): Promise<readonly Service[]> {
  if (!config.devices.enabled) return []
  const { createDevices } = await import('../devices/devices.ts')
  const { bus, ledger } = spine
  const signingKeyPath = data.devicesKey
  return [createDevices({ config: config.devices, database, ledger, bus, clock: systemClock, logger, signingKeyPath })]
}

async function homeseerServices({
  config,
  spine,
  database,
  logger,
}: FamilyParts): Promise<Result<readonly Service[], StartFault>> {
  const { url } = config.homeseer
  if (url === undefined) return ok([])
  const { createHomeseer } = await import('../homeseer/homeseer.ts')
  const { bus, ledger, guard } = spine
  const created = createHomeseer({
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
  return created.ok ? ok([created.value]) : misconfiguredStart(created.fault)
}

async function ebusServices({
  config,
  version,
  data,
  spine,
  database,
  logger,
}: FamilyParts): Promise<readonly Service[]> {
  if (config.ebus.buses.length === 0) return []
  const { createEbus } = await import('../ebus/ebus.ts')
  const { bus } = spine
  const dataRoot = data.root
  return [createEbus({ config: config.ebus, bus, database, clock: systemClock, logger, version, dataRoot })]
}
