/**
 * Devices examination: whether devices can connect.
 *
 * A running gateway passes its health. Before a start, the examination opens and closes the listeners, and connects to
 * the owner's broker, if there is one, without publishing anything.
 */
import type { ServiceHealth } from '../bus/capability.ts'
import { toHealthFinding } from '../bus/capability.ts'
import type { DevicesConfig } from '../config/devices.ts'
import { listDeviceListeners } from '../config/listeners.ts'
import type { DoctorFinding } from '../core/doctor-finding.ts'
import { findListenFaults } from '../toolbox/listen-check-client.ts'
import { isTcpReachable } from '../toolbox/tcp-probe-client.ts'
import { formatOtaUrl } from './device-gateway-settings.ts'
import { BROKER_GONE_ADVICE } from './tools/health.ts'

const NAME = 'devices'
const MAX_WAIT_MS = 5_000

export async function examineDevices(
  config: DevicesConfig,
  running?: ServiceHealth,
): Promise<readonly DoctorFinding[]> {
  if (running !== undefined) return [toHealthFinding(NAME, running)]
  const [faults, hasBroker] = await Promise.all([findListenFaults(listDeviceListeners(config)), reachBroker(config)])
  // The gateway starts without its devices, and tries the listeners again.
  const closed = faults.map((sentence): DoctorFinding => ({ level: 'fail', about: NAME, sentence }))
  if (closed.length > 0) return closed
  return hasBroker
    ? [{ level: 'ok', about: NAME, sentence: `The listener can be opened; devices ask at ${otaUrl(config)}.` }]
    : [{ level: 'warn', about: NAME, sentence: BROKER_GONE_ADVICE }]
}

function otaUrl(config: DevicesConfig): string {
  return formatOtaUrl(config, config.port)
}

/** Also `true` where no broker is configured. */
function reachBroker({ broker }: DevicesConfig): Promise<boolean> {
  if (broker === undefined) return Promise.resolve(true)
  const { protocol, hostname, port } = new URL(broker.url)
  const usual = protocol === 'mqtts:' ? 8_883 : 1_883
  const host = hostname.replaceAll(/^\[|\]$/g, '')
  return isTcpReachable({ host, port: port === '' ? usual : Number(port) }, MAX_WAIT_MS)
}
