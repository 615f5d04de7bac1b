/**
 * Service verbs: answers the discovery requests of the `nats` tools (NATS's ADR-32) with the node's presence,
 * description and statistics.
 *
 *   $SRV.PING   $SRV.PING.hearthbus   $SRV.PING.hearthbus.<id>      and the same for INFO and STATS
 */
const NATS_SERVICE_NAME = 'hearthbus'
export type NatsServiceVerb = 'PING' | 'INFO' | 'STATS'

export interface NatsServiceFacts {
  readonly id: string
  readonly version: string
  readonly nodeName: string
  readonly nodeId: string
  readonly startedAt: string
  readonly subject: string
  readonly stats: {
    readonly requests: number
    readonly errors: number
    readonly busyMs: number
    readonly lastError: string
  }
}

const TYPES: Readonly<Record<NatsServiceVerb, string>> = {
  PING: 'io.nats.micro.v1.ping_response',
  INFO: 'io.nats.micro.v1.info_response',
  STATS: 'io.nats.micro.v1.stats_response',
}

export function listServiceVerbSubjects(verb: NatsServiceVerb, id: string): readonly string[] {
  return [`$SRV.${verb}`, `$SRV.${verb}.${NATS_SERVICE_NAME}`, `$SRV.${verb}.${NATS_SERVICE_NAME}.${id}`]
}

export function createServiceVerbAnswer(verb: NatsServiceVerb, facts: NatsServiceFacts): object {
  const { id, nodeName, nodeId, subject, stats } = facts
  const head = {
    type: TYPES[verb],
    name: NATS_SERVICE_NAME,
    id,
    version: semantic(facts.version),
    metadata: { node: nodeName, node_id: nodeId },
  }
  const endpoint = { name: 'call', subject, queue_group: 'q' }
  if (verb === 'PING') return head
  if (verb === 'INFO') return { ...head, description: 'A Hearthbus node', endpoints: [{ ...endpoint, metadata: {} }] }
  const busyNs = Math.round(stats.busyMs * 1_000_000)
  return {
    ...head,
    started: facts.startedAt,
    endpoints: [
      {
        ...endpoint,
        num_requests: stats.requests,
        num_errors: stats.errors,
        last_error: stats.lastError,
        processing_time: busyNs,
        average_processing_time: stats.requests === 0 ? 0 : Math.round(busyNs / stats.requests),
      },
    ],
  }
}

/** The tools refuse a service whose version is not three numbers. */
function semantic(version: string): string {
  return /^\d+\.\d+\.\d+/.test(version) ? version : '0.0.0'
}
