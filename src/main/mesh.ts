/**
 * Mesh: joins the mesh with the node's key, its database, its ledger and the bus. Delete `mesh/`, this file and its
 * lines in main.ts, and the rest still builds.
 */
import type { BusOptions } from '../bus/bus-options.ts'
import type { Service } from '../bus/capability.ts'
import { createBusMetrics } from '../bus/metrics.ts'
import type { GuardedBus } from '../call/guarded-bus.ts'
import type { DataDirectory } from '../config/data-directory.ts'
import { readMeshListener } from '../config/listeners.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import { ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { readErrorMessage, readSystemErrorCode } from '../core/thrown-error.ts'
import { formatKeyFault, loadExistingNodeKey } from '../ledger/key-store.ts'
import type { NodeKey } from '../ledger/key-store.ts'
import type { CosignedTreePin } from '../ledger/cosigned-tree-pin-store.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { SchemaAlteredError } from '../core/database-store.ts'
import { explainListenFault } from '../toolbox/listen-fault.ts'
import { examineMesh } from '../mesh/doctor-client.ts'
import { MeshStore } from '../mesh/identity/mesh-store.ts'
import { MembershipAlteredError } from '../mesh/identity/community-store.ts'
import type { MeshStoreOptions } from '../mesh/identity/mesh-store.ts'
import type { Community } from '../mesh/identity/community.ts'
import { deriveNodeIdentity } from '../mesh/identity/node-key.ts'
import type { NodeIdentity } from '../mesh/identity/node-key.ts'
import type { MeshOptions, MeshStatus } from '../mesh/mesh-options.ts'
import { Mesh } from '../mesh/mesh-server.ts'
import { createConsensusGossip } from './consensus-gossip-client.ts'
import type { ConsensusGossip } from './consensus-gossip-client.ts'
import { createMembershipLog, deriveMeshDatabaseSealKey } from './membership-log.ts'
import { openCosignedTreePin } from './ledger-pin-location-store.ts'
import { locateMeshFiles } from './mesh-files.ts'
import { createOfferPinLog } from './offer-pin-log.ts'
import { startPeerCosigning } from './peer-witness-client.ts'
import { createMisconfiguredStartResult, createRefusedStartResult } from './start-fault.ts'
import type { StartFault } from './start-fault.ts'

export interface MeshDependencies {
  readonly config: Config
  readonly data: DataDirectory
  readonly key: NodeKey
  readonly ledger: Ledger
  readonly version: string
  readonly logger: Logger
}

export interface PreparedMesh {
  /** The bus options that must be known when the bus is created. */
  readonly forBus: Pick<BusOptions, 'remote' | 'communityId' | 'nodeName'>
  readonly start: (spine: GuardedBus) => Promise<Result<StartedMesh, StartFault>>
  readonly community: () => Community | undefined
  /** Undoes the preparation, or the start. */
  readonly stop: () => Promise<void>
}

export interface StartedMesh {
  readonly state: () => MeshStatus
  /** It offers no capabilities, but reports its health like a service. */
  readonly reporter: Pick<Service, 'name' | 'health' | 'examine'>
  /** Asks the other nodes to cosign the newest checkpoint. */
  readonly cosign: () => Promise<void>
  readonly gossip: ConsensusGossip
}

export async function prepareMesh(parts: MeshDependencies): Promise<Result<PreparedMesh, StartFault>> {
  const { config, data, key, ledger, logger } = parts
  const files = locateMeshFiles(data)
  const root = await loadRoot(files.rootKey)
  if (!root.ok) return root
  const identity = deriveNodeIdentity(key.privateKey)
  const opened = openStore(files.database, {
    sealKey: deriveMeshDatabaseSealKey(key.privateKey),
    log: createMembershipLog(ledger),
    offerLog: createOfferPinLog(ledger),
  })
  if (!opened.ok) return opened
  const store = opened.value
  const mesh = new Mesh({
    config: config.mesh,
    identity,
    root: root.value,
    name: config.node.name,
    store,
    clock: systemClock,
    logger,
    ...(await brokerFor(parts, identity, store)),
  })
  const undo: (() => void | Promise<void>)[] = [() => mesh.stop()]
  return ok({
    forBus: { remote: mesh.remote, communityId: () => mesh.community?.id, nodeName: config.node.name },
    start: async ({ bus, ledger, guard }) => {
      const pin = await openWitnessPin(parts)
      if (!pin.ok) return pin
      const witness = config.mesh.witness
        ? startPeerCosigning({ path: files.witness, identity, ledger, mesh, pin: pin.value, logger })
        : undefined
      if (witness !== undefined) undo.push(() => witness.stop())
      await store.recordHeld()
      const gossip = createConsensusGossip({
        mesh,
        ledger,
        guard,
        witness: () => witness?.service,
        clock: systemClock,
        logger,
      })
      const metrics = createBusMetrics(bus)
      try {
        await mesh.start({
          bus,
          ledgerOrigin: ledger.verifierKey.name,
          witness: witness?.service,
          gossip: gossip.answer,
          metrics: async () => ({ text: await metrics.metrics(), contentType: metrics.contentType }),
        })
      } catch (error) {
        if (readSystemErrorCode(error) === undefined) throw error
        return createMisconfiguredStartResult(explainListenFault(error, readMeshListener(config.mesh)))
      }
      return ok({
        state: () => mesh.state(),
        reporter: {
          name: 'mesh',
          health: () => mesh.health(),
          examine: () => examineMesh(config.mesh, { health: mesh.health() }),
        },
        cosign: () => witness?.cosign() ?? Promise.resolve(),
        gossip,
      })
    },
    community: () => mesh.community,
    stop: async () => {
      for (const step of undo.splice(0)) await step()
    },
  })
}

/** `undefined` where nothing is kept outside of the data directory, or this node cosigns nothing. */
async function openWitnessPin({
  config,
  data,
  ledger,
}: MeshDependencies): Promise<Result<CosignedTreePin | undefined, StartFault>> {
  if (ledger.pin() === undefined || !config.mesh.witness) return ok(undefined)
  try {
    return ok(await openCosignedTreePin(config, data.root))
  } catch (error) {
    return createRefusedStartResult(readErrorMessage(error))
  }
}

function openStore(path: string, options: MeshStoreOptions): Result<MeshStore, StartFault> {
  try {
    return ok(new MeshStore(path, options))
  } catch (error) {
    if (error instanceof MembershipAlteredError || error instanceof SchemaAlteredError)
      return createRefusedStartResult(error.message)
    throw error
  }
}

/** Only the node that founded the community has the root key. */
async function loadRoot(path: string): Promise<Result<NodeIdentity | undefined, StartFault>> {
  const loaded = await loadExistingNodeKey(path)
  if (loaded.ok) return ok(deriveNodeIdentity(loaded.value.privateKey))
  return loaded.fault.kind === 'key-missing' ? ok(undefined) : createRefusedStartResult(formatKeyFault(loaded.fault))
}

/** The NATS client is only loaded by nodes that use it. */
async function brokerFor(
  { config, version, logger }: MeshDependencies,
  identity: NodeIdentity,
  store: MeshStore,
): Promise<Pick<MeshOptions, 'broker'>> {
  const { servers, nkey: useNkey } = config.mesh.nats
  if (servers.length === 0) return {}
  const { NatsTransport } = await import('../mesh/nats/nats-transport.ts')
  return {
    broker: (inbound, packets) =>
      new NatsTransport({
        servers,
        useNkey,
        identity,
        name: config.node.name,
        version,
        communityId: () => store.community()?.id,
        inbound,
        packets,
        maxBodyBytes: config.mesh.maxBodyBytes,
        clock: systemClock,
        logger,
      }),
  }
}
