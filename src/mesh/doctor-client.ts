/**
 * Mesh examination: whether the mesh listener can be opened, and whether other nodes can be reached.
 *
 * A running gateway passes its health. Before a start, the examination opens and closes the listener, and connects to
 * the NATS servers without publishing anything.
 */
import { existsSync } from 'node:fs'
import type { ServiceHealth } from '../bus/capability.ts'
import { toHealthFinding } from '../bus/capability.ts'
import { readMeshListener } from '../config/listeners.ts'
import type { MeshConfig } from '../config/mesh.ts'
import type { DoctorFinding } from '../core/doctor-finding.ts'
import { findListenFault } from '../toolbox/listen-check-client.ts'
import { isTcpReachable } from '../toolbox/tcp-probe-client.ts'
import { explainLostBroker, NO_COMMUNITY_ADVICE } from './health.ts'
import { redactServerAddress } from './nats/server-address-redaction.ts'

const NAME = 'mesh'
const NATS_PORT = 4_222
const MAX_WAIT_MS = 5_000

/** Examines either what a running mesh reports, or the files in which a mesh would keep its community. */
export async function examineMesh(
  config: MeshConfig,
  known: { readonly health: ServiceHealth } | { readonly database: string },
): Promise<readonly DoctorFinding[]> {
  if ('health' in known) return [toHealthFinding(NAME, known.health)]
  const [fault, hasBroker] = await Promise.all([findListenFault(readMeshListener(config)), reachBroker(config)])
  const found: readonly DoctorFinding[] = [
    ...(fault === undefined ? [] : [{ ...toFinding('fail', fault), refusesStart: true as const }]),
    ...(hasBroker ? [] : [toFinding('fail', explainLostBroker(config.nats.servers, 'cannot be reached'))]),
    ...(existsSync(known.database) ? [] : [toFinding('warn', NO_COMMUNITY_ADVICE)]),
  ]
  return found.length > 0 ? found : [toFinding('ok', 'The mesh listener can be opened.')]
}

/** Also `true` if no server is configured. One reachable server of several is enough. */
async function reachBroker({ nats: { servers } }: MeshConfig): Promise<boolean> {
  if (servers.length === 0) return true
  const reached = await Promise.all(servers.map((server) => isTcpReachable(placeOf(server), MAX_WAIT_MS)))
  return reached.includes(true)
}

/** `nats://user:secret@host:port`, or only `host`. */
function placeOf(server: string): { readonly host: string; readonly port: number } {
  const [, host = '', port = NATS_PORT] =
    /^(?:[a-z]+:\/\/)?(\[[^\]]+\]|[^:/]+)(?::(\d+))?/i.exec(redactServerAddress(server)) ?? []
  return { host: host.replaceAll(/^\[|\]$/g, ''), port: Number(port) }
}

function toFinding(level: DoctorFinding['level'], sentence: string): DoctorFinding {
  return { level, about: NAME, sentence }
}
