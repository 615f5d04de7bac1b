/**
 * Devices examination: whether devices can connect.
 *
 * A running gateway hands over its health. Before a start the listeners are opened and closed, and the owner's broker,
 * where there is one, is connected to; nothing is sent there.
 */
import type { ServiceHealth } from '../bus/capability.ts'
import { toHealthFinding } from '../bus/capability.ts'
import type { DevicesConfig } from '../config/devices.ts'
import { listDeviceListeners } from '../config/listeners.ts'
import type { DoctorFinding } from '../core/doctor-finding.ts'
import { findListenFaults } from '../toolbox/listen-check-client.ts'
import { isTcpReachable } from '../toolbox/tcp-probe-client.ts'
import { formatOtaUrl } from './gateway-settings.ts'
import { BROKER_GONE_ADVICE } from './tools/health.ts'

const NAME = 'devices'
const MAX_WAIT_MS = 5_000

export async function examineDevices(
  config: DevicesConfig,
  running?: ServiceHealth,
): Promise<readonly DoctorFinding[]> {
  if (running !== undefined) return [toHealthFinding(NAME, running)]
  const [faults, hasBroker] = await Promise.all([findListenFaults(listDeviceListeners(config)), reachBroker(config)])
  // The gateway starts without its devices, and tries again.
  const closed = faults.map((sentence): DoctorFinding => ({ level: 'fail', about: NAME, sentence }))
  if (closed.length > 0) return closed
  return hasBroker
    ? [{ level: 'ok', about: NAME, sentence: `The listener can be opened; devices ask at ${otaUrl(config)}.` }]
    : [{ level: 'warn', about: NAME, sentence: BROKER_GONE_ADVICE }]
}

function otaUrl(config: DevicesConfig): string {
  return formatOtaUrl(config, config.port)
}

/** `true` as well where there is none. */
function reachBroker({ broker }: DevicesConfig): Promise<boolean> {
  if (broker === undefined) return Promise.resolve(true)
  const { protocol, hostname, port } = new URL(broker.url)
  const usual = protocol === 'mqtts:' ? 8_883 : 1_883
  const host = hostname.replaceAll(/^\[|\]$/g, '')
  return isTcpReachable({ host, port: port === '' ? usual : Number(port) }, MAX_WAIT_MS)
}
