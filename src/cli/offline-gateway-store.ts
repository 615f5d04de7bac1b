/**
 * Offline gateway: opens the records of a node whose gateway is not running for one administrative step. It opens no
 * listener and contacts nothing.
 */
import type { Config } from '../config/schema.ts'
import { silentLogger } from '../core/logger.ts'
import { ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { Gateway } from '../main.ts'
import type { StartFault } from '../main/start-fault.ts'
import { tryStartGateway } from './gateway-start-server.ts'
import { PACKAGE_VERSION } from './version-store.ts'

/** Takes the lock like any gateway, so it fails where a gateway runs. */
export async function withNonListeningGateway<Value>(
  config: Config,
  dataRoot: string,
  work: (gateway: Gateway) => Promise<Value>,
): Promise<Result<Value, StartFault>> {
  const { url: _, ...homeseer } = config.homeseer
  // Runs without families and mesh: the step only changes our own records, and nothing in the house is contacted.
  const alone: Config = {
    ...config,
    homeseer,
    ebus: { ...config.ebus, buses: [] },
    devices: { ...config.devices, enabled: false },
    mesh: { ...config.mesh, enabled: false },
  }
  const started = await tryStartGateway({
    config: alone,
    dataRoot,
    version: PACKAGE_VERSION,
    logger: silentLogger,
    listen: false,
  })
  if (!started.ok) return started
  try {
    return ok(await work(started.value))
  } finally {
    await started.value.stop()
  }
}
