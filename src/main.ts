/**
 * Main: builds every module, starts them, and stops them in reverse order.
 *
 *   data directory ▸ lock ▸ key ▸ database ▸ ledger ▸ guarded bus (guard, chain, bus) ▸ families ▸ mesh ▸ faces
 */
import { rmSync, writeFileSync } from 'node:fs'
import type { Service } from './bus/capability.ts'
import { openGuardedBus } from './call/guarded-bus.ts'
import type { GuardedBus } from './call/guarded-bus.ts'
import { buildDataDirectoryPaths } from './config/data-directory.ts'
import type { DataDirectory } from './config/data-directory.ts'
import { readFaceListener } from './config/listeners.ts'
import type { Config } from './config/schema.ts'
import { systemClock } from './core/clock.ts'
import { createPrivateFolder } from './core/folder-store.ts'
import type { Logger } from './core/logger.ts'
import type { ProcessLock } from './core/process-lock-store.ts'
import { fail, ok } from './core/result.ts'
import type { Result } from './core/result.ts'
import { readErrorMessage } from './core/thrown-error.ts'
import { GuardSecretChangedError } from './guard/guard-secret-store.ts'
import { formatLedgerFault, formatSigningOutage } from './ledger/ledger-state.ts'
import { deriveNodeSecret } from './ledger/key-store.ts'
import { createRandomDrawKey, RANDOM_DRAW_KEY_PURPOSE } from './ledger/random-draw.ts'
import { connectAccessPoints } from './main/access-points.ts'
import { encodeRunningGatewayNote } from './main/running-gateway-note.ts'
import { guardProjection } from './guard/guard-state.ts'
import { isNewestOwnerToken, readOwnerToken } from './guard/owner-token-store.ts'
import {
  LEDGER_SAMPLE_INTERVAL_MS,
  verifyAndRecordOwnLedgerSample,
  SELF_VERIFICATION_INTERVAL_MS,
  verifyOwnLedger,
} from './main/self-verification.ts'
import { NODE_STOP_KIND } from './ledger/unsigned-tail.ts'
import { createDecisionCheckpointJob, DECISION_SIGNING_INTERVAL_MS } from './main/decision-signing.ts'
import { createWitnessCosigningJob, createCosignedCheckpointReader } from './main/cosigning-client.ts'
import { createForeignDatabaseWriteDetector } from './main/database-write-detector.ts'
import { startFaces } from './main/faces-server.ts'
import { createFamilyServices, familyEnvelopes } from './main/families.ts'
import { createLowReputationPredicate } from './main/low-reputation-predicate.ts'
import { addForeignQuorumRounds } from './main/foreign-round-approvals.ts'
import { takeGatewayLock } from './main/gateway-lock-client.ts'
import type { MeshDependencies, PreparedMesh } from './main/mesh.ts'
import { locateOutsideLocks } from './main/ledger-pin-location-store.ts'
import { createReplacedFileDetector } from './main/replaced-file-detector.ts'
import { createLockLossDetector } from './main/lock-loss-detector.ts'
import { createLanguageModelServices } from './main/models.ts'
import { createCheckpointSigningRetryJob, SIGNING_RETRY_INTERVAL_MS } from './main/signing-retry.ts'
import { findListenFault } from './toolbox/listen-check-client.ts'
import { startPeriodicJob } from './toolbox/periodic-job.ts'
import type { ConsensusPeerService } from './runtime/consensus/tools.ts'
import type { MeshStatus } from './mesh/mesh-options.ts'
import { createMisconfiguredStartResult, createRefusedStartResult } from './main/start-fault.ts'
import { createNodeVoterIdentity } from './main/node-voter-identity.ts'
import type { StartFault } from './main/start-fault.ts'
import { startNotifier } from './web/notifier-client.ts'
import { nodeDatabaseMigrations } from './main/node-database-migrations.ts'
import { openNodeLedger } from './main/node-ledger-store.ts'
import { toGuardConfig } from './main/guard-config.ts'
import { createNodeStartEvent } from './main/node-start-event.ts'

export interface GatewayOptions {
  readonly config: Config
  readonly dataRoot: string
  readonly version: string
  readonly logger: Logger
  /** Without it the gateway opens no listener and serves only the process that started it. */
  readonly listen: boolean
  /**
   * `false`: nothing about the log is kept outside of the data directory, so that a log that was cut back or exchanged
   * is not noticed. For data that is thrown away, such as the demo's.
   */
  readonly pinned?: boolean
  /** Services beside the built-in families, such as a program's own or the fixtures of a conformance test. */
  readonly services?: (spine: GuardedBus) => readonly Service[]
}

export interface Gateway extends GuardedBus {
  readonly nodeId: string
  /** `undefined` when it does not listen. */
  readonly url: string | undefined
  readonly families: readonly string[]
  /** The state of the mesh; `undefined` where there is none. */
  readonly mesh: (() => MeshStatus) | undefined
  /** Resolves when nothing is running any more, with a list of errors; empty when everything was recorded. */
  readonly stop: () => Promise<readonly string[]>
}

/** What has been started, to be stopped in reverse order. */
type Undo = (() => void | Promise<void>)[]

/** How often lapsed approvals, prepared changes and keys are removed: within a second of their time. */
const SWEEP_MS = 1_000
/** How soon after a new checkpoint the other nodes are asked to cosign it. */
const COSIGN_MS = 5_000
/** How long after the start the whole ledger is verified for the first time. */
const FIRST_VERIFY_MS = 60_000

export async function startGateway(options: GatewayOptions): Promise<Result<Gateway, StartFault>> {
  const data = buildDataDirectoryPaths(options.dataRoot)
  // Mode 0700 before the first key is written into it.
  createPrivateFolder(data.keys)
  const outside = options.pinned === false ? [] : locateOutsideLocks(options.config, data.root)
  const lock = await takeGatewayLock(data, outside)
  if (!lock.ok) return fail({ kind: 'running-already', message: lock.fault })
  // The lock is released last: the next gateway may only start when nothing of this one is running.
  const undo: Undo = [() => lock.value.release()]
  const stop = async (): Promise<readonly string[]> => {
    const troubles: string[] = []
    for (const step of undo.splice(0).toReversed()) {
      try {
        await step()
      } catch (error) {
        // The rest must still be stopped: the database, and the lock that lets the next gateway start.
        options.logger.error({ err: error }, 'a part of the gateway did not stop properly')
        troubles.push(readErrorMessage(error))
      }
    }
    return troubles
  }
  try {
    const built = await build(options, data, { undo, lock: lock.value })
    if (built.ok) return ok({ ...built.value, stop })
    await stop()
    return built
  } catch (error) {
    await stop()
    throw error
  }
}

async function build(
  options: GatewayOptions,
  data: DataDirectory,
  { undo, lock }: { readonly undo: Undo; readonly lock: ProcessLock },
): Promise<Result<Omit<Gateway, 'stop'>, StartFault>> {
  const { config, logger, version } = options
  // Checked before the records are opened: a start that cannot listen must not leave traces in them.
  const closed = options.listen ? await findListenFault(readFaceListener(config.listen)) : undefined
  if (closed !== undefined) return createMisconfiguredStartResult(closed)
  const opened = await openNodeLedger(options, data, (close) => undo.push(close))
  if (!opened.ok) return opened
  // From here on in the order of dependence; every start adds its own stop.
  const { database, ledger, key } = opened.value
  const { id } = key
  const mesh = config.mesh.enabled ? await loadMesh({ config, data, key, ledger, version, logger }) : ok(undefined)
  if (!mesh.ok) return mesh
  if (mesh.value !== undefined) undo.push(mesh.value.stop)
  const { askBelowReputation: bound } = config.guard
  const distrust = bound === 0 ? {} : { distrusts: createLowReputationPredicate(ledger, bound) }
  const draws = createRandomDrawKey(id, deriveNodeSecret(key, RANDOM_DRAW_KEY_PURPOSE))
  const opening = openGuardedBus({
    database,
    ledger,
    clock: systemClock,
    logger,
    guard: { ...toGuardConfig(config), ...distrust },
    voting: createNodeVoterIdentity(key, {
      name: config.node.name,
      community: () => mesh.value?.community(),
      witnesses: config.ledger.witnesses.map(({ vkey }) => vkey),
      draws,
    }),
    bus: { nodeId: id, config: config.bus, families: familyEnvelopes, log: logger, ...mesh.value?.forBus },
  })
  const spine = await opening.catch((error: unknown) => {
    if (error instanceof GuardSecretChangedError) return error
    throw error
  })
  if (spine instanceof GuardSecretChangedError) return createRefusedStartResult(spine.message)
  // Records when the node ran; a start without a stop before it means a crash.
  await ledger.append(createNodeStartEvent({ id, config, version, guard: spine.guard, draws, ledger, logger }))
  // What follows a stop has to be signed: a start after a power cut refuses it otherwise.
  await ledger.checkpoint()
  await ledger.pinTree()
  // From here on, nothing that a caller was told can be cut off from the log of a killed process.
  await ledger.flushPin()
  const detectForeignWrites = createForeignDatabaseWriteDetector({
    database,
    migrations: nodeDatabaseMigrations,
    ledger,
    logger,
  })
  undo.push(async () => {
    // A ledger that refuses entries says so below.
    await detectForeignWrites('before-stop').catch(() => undefined)
    const signed = await ledger.stop({ kind: NODE_STOP_KIND, node: id })
    const outage = ledger.signingOutage()
    if (outage !== undefined) throw new Error(formatSigningOutage(outage))
    if (!signed.ok) throw new Error(formatLedgerFault(signed.fault))
  })
  undo.push(startPeriodicJob(SIGNING_RETRY_INTERVAL_MS, createCheckpointSigningRetryJob(ledger, logger), logger))
  undo.push(startPeriodicJob(DECISION_SIGNING_INTERVAL_MS, createDecisionCheckpointJob(ledger), logger))
  const reporters: Pick<Service, 'name' | 'health' | 'probe' | 'examine'>[] = []
  let gossip: ConsensusPeerService | undefined
  const families = await createFamilyServices({
    config,
    version,
    data,
    spine,
    database,
    logger,
    key,
    draws,
    reporters: () => reporters,
    peers: () => gossip,
  })
  if (!families.ok) return families
  const services = [
    ...families.value,
    ...(await createLanguageModelServices(config, logger)),
    ...(options.services?.(spine) ?? []),
  ]
  for (const service of services) await startService(service, spine, undo)
  reporters.push(...services)
  undo.push(startPeriodicJob(SWEEP_MS, () => spine.guard.sweep(), logger))
  undo.push(startPeriodicJob(SWEEP_MS, createLockLossDetector({ lock, path: data.lock, ledger, logger }), logger))
  undo.push(startPeriodicJob(SWEEP_MS, () => detectForeignWrites(), logger))
  const stopping = new AbortController()
  const looking = { ledger, clock: systemClock, logger, signal: stopping.signal, draws }
  const verify = (): Promise<void> => verifyOwnLedger(looking)
  undo.push(startPeriodicJob(SELF_VERIFICATION_INTERVAL_MS, verify, logger))
  undo.push(startPeriodicJob(LEDGER_SAMPLE_INTERVAL_MS, () => verifyAndRecordOwnLedgerSample(looking), logger))
  const firstVerification = setTimeout(() => void verify().catch(() => undefined), FIRST_VERIFY_MS)
  undo.push(() => {
    clearTimeout(firstVerification)
    stopping.abort()
  })
  // Signs checkpoints regularly even without witnesses: `ledger.checkpointSeconds` promises it.
  undo.push(
    startPeriodicJob(COSIGN_MS, () => spine.guard.quorums.finalize(createCosignedCheckpointReader(ledger)), logger),
  )
  const cosign = createWitnessCosigningJob(config, ledger, logger)
  if (!cosign.ok) return cosign
  undo.push(startPeriodicJob(config.ledger.checkpointSeconds * 1_000, cosign.value, logger))
  const meshed = await mesh.value?.start(spine)
  if (meshed?.ok === false) return meshed
  // The mesh's stop is added once more, so that it runs earlier: the node has to say goodbye to its peers while the
  // other modules still run.
  if (mesh.value !== undefined) undo.push(mesh.value.stop)
  if (meshed !== undefined) {
    gossip = meshed.value.gossip
    undo.push(startPeriodicJob(COSIGN_MS, meshed.value.cosign, logger))
    undo.push(startPeriodicJob(COSIGN_MS, meshed.value.gossip.tick, logger))
    reporters.push(meshed.value.reporter)
  }
  // People answer what other nodes ask of this node in the same places as what they are asked here.
  const approvals =
    meshed === undefined ? spine.guard.approvals : addForeignQuorumRounds(spine.guard.approvals, meshed.value.gossip)
  const answered: GuardedBus = { ...spine, guard: { ...spine.guard, approvals } }

  const notifying = startNotifier({
    config,
    approvals,
    bus: spine.bus,
    environment: process.env,
    clock: systemClock,
    logger,
  })
  if (notifying !== undefined) {
    undo.push(notifying.stop)
    reporters.push(notifying.reporter)
  }

  // Taken from the offers rather than the configuration: families of a program's own services count as well.
  const familyNames = [...new Set(spine.bus.offers().map((offer) => offer.family.name))].toSorted()
  const gateway = { ...spine, nodeId: id, families: familyNames, mesh: meshed?.value.state }
  const accessPoints = await connectAccessPoints({ config, spine, families: familyNames, version, logger })
  if (!accessPoints.ok) return accessPoints
  if (accessPoints.value !== undefined) {
    undo.push(accessPoints.value.stop)
    reporters.push(accessPoints.value.reporter)
  }
  if (!options.listen) return ok({ ...gateway, url: undefined })
  const faces = await startFaces({
    config,
    version,
    logger,
    data,
    key,
    spine: answered,
    families: familyNames,
    reporters,
  })
  if (!faces.ok) return faces
  undo.push(faces.value.stop)
  const { url } = faces.value
  // How commands find this gateway (cli/gateway-client.ts); only the owner can read the file.
  const note = encodeRunningGatewayNote({ url, pid: process.pid, version }, readOwnerToken(data.ownerToken))
  // A note that a killed gateway left is removed first; a link in its place is not followed.
  rmSync(data.gateway, { force: true })
  writeFileSync(data.gateway, note, { mode: 0o600, flag: 'wx' })
  undo.push(() => rmSync(data.gateway, { force: true }))
  const guardState = ledger.projections.state(guardProjection)
  const files = [
    { path: data.ownerToken, name: 'keys/owner.token', isOwn: (text: string) => isNewestOwnerToken(guardState, text) },
    { path: data.gateway, name: 'gateway.json', isOwn: (text: string) => text === note },
  ]
  const detectReplacedFiles = createReplacedFileDetector({ files, ledger, logger })
  undo.push(() => detectReplacedFiles('before-stop').catch(() => undefined))
  undo.push(startPeriodicJob(SWEEP_MS, detectReplacedFiles, logger))
  return ok({ ...gateway, url })
}

async function startService(service: Service, { bus }: GuardedBus, undo: Undo): Promise<void> {
  const registered = bus.registerService(service)
  if (!registered.ok) throw new Error(`${service.name}: ${registered.fault.message}`)
  await service.start()
  undo.push(() => service.stop())
}

/** Not even loaded where it is not configured, which saves memory on a small computer. */
async function loadMesh(parts: MeshDependencies): Promise<Result<PreparedMesh, StartFault>> {
  const { prepareMesh } = await import('./main/mesh.ts')
  return prepareMesh(parts)
}
