/**
 * Quiet gateway: the records of a node that nobody runs, opened for one administrative step. It listens to nobody and
 * contacts nothing.
 */
import type { Config } from '../config/schema.ts'
import { silentLogger } from '../core/logger.ts'
import { ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { Gateway } from '../main.ts'
import type { StartFault } from '../main/start-fault.ts'
import { startGatewayOrExplain } from './gateway-start-server.ts'
import { PACKAGE_VERSION } from './version-store.ts'

/** Takes the lock like any gateway, so it fails where one runs. */
export async function withTemporaryGateway<Value>(
  config: Config,
  dataRoot: string,
  work: (gateway: Gateway) => Promise<Value>,
): Promise<Result<Value, StartFault>> {
  const { url: _, ...homeseer } = config.homeseer
  // Without the families and the mesh: the step is about our own records, and nobody in the house hears of it.
  const alone: Config = {
    ...config,
    homeseer,
    ebus: { ...config.ebus, buses: [] },
    devices: { ...config.devices, enabled: false },
    mesh: { ...config.mesh, enabled: false },
  }
  const started = await startGatewayOrExplain({
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
