/**
 * No-provider fault: why no provider can take a call, in the words of spec 2 § 6. The reason says whether a retry
 * helps.
 *
 *   unknown · version · node · params      not found, and it stays so
 *   trust                                  not permitted
 *   ambiguous                              say which node
 *   busy                                   retry after `retryAfterMs`
 *   quarantined · stale · away · changed   unreachable for now
 */
import type { Fault } from '../core/fault.ts'
import { canonicalJson } from '../core/json.ts'
import { createProviderBusyFault, hasNoFreeSlot } from './provider-queue.ts'
import { formatCapabilityVersion } from './capability.ts'
import {
  matchesRouteRequest,
  matchesRequestedNode,
  satisfiesVersion,
  canServeParams,
  pickRequestableParams,
} from './route-request-matching.ts'
import type { RouteRequest } from './route-request-matching.ts'
import type { CapabilityEntry } from './capability-entry.ts'
import type { NodeDirectory } from './node-directory.ts'
import { hasRequiredTrust, createUntrustedCallerFault } from './caller.ts'

export interface RoutingCandidates {
  /** Every entry of that name. */
  readonly named: readonly CapabilityEntry[]
  /** The providers of the call's contract that could serve it if they had a free slot. */
  readonly eligible: readonly CapabilityEntry[]
  /** The nodes that the call could be meant for, where it has to name one. */
  readonly ambiguous: readonly string[]
  readonly isStale: (entry: CapabilityEntry) => boolean
  /** The directory of nodes, for the names that people gave them. */
  readonly nodes: Pick<NodeDirectory, 'unknownNodeMessage' | 'nameOf' | 'namesOf' | 'isAway'>
  readonly nowMs: number
}

/** A list of possible params is shown only if it is not longer than this. */
const MAX_CHOICE = 16

export function createNoProviderFault(call: RouteRequest, situation: RoutingCandidates): Fault {
  const { named, eligible, nodes, ambiguous } = situation
  if (ambiguous.length > 0) return ambiguousNode(call, ambiguous, nodes)
  if (eligible.length === 0) return nobodyEligible(call, named, nodes)
  return nobodyAvailable(call, situation)
}

function nobodyEligible(
  call: RouteRequest,
  named: readonly CapabilityEntry[],
  nodes: RoutingCandidates['nodes'],
): Fault {
  const name = call.capability
  // Checked first, because the offers of a node are removed with it.
  if (call.node !== undefined && nodes.isAway(call.node))
    return unreachable(
      'away',
      `The node ${nodes.nameOf(call.node) ?? call.node} cannot be reached now. Nothing was sent.`,
    )
  if (named.length === 0) return notFound('unknown', `Nobody here offers ${name}.`)
  // A provider that registered meanwhile was not seen by the stages that let this call through.
  if (named.some((entry) => matchesRouteRequest(entry, call)))
    return unreachable('changed', `The provider of ${name} has gone, or its contract has changed. Nothing was sent.`)
  const { versionReq } = call
  const versions = named.filter(({ offer }) => versionReq === undefined || satisfiesVersion(offer.version, versionReq))
  if (versions.length === 0) {
    const offered = distinct(named.map(({ offer }) => `${name}@${formatCapabilityVersion(offer.version)}`))
    const wantedVersion = versionReq === undefined ? 'any version' : formatCapabilityVersion(versionReq)
    return notFound(
      'version',
      `${name} is not offered in version ${wantedVersion} or a compatible one; available: ${offered.join(', ')}.`,
      {
        alt_capabilities: offered,
      },
    )
  }
  const placed = versions.filter((entry) => matchesRequestedNode(entry, call))
  if (placed.length === 0) return misplaced(call, versions, nodes)
  const params = placed.filter(({ offer }) => canServeParams(offer, call.body))
  if (params.length === 0) {
    const choice = distinct(placed.map(({ offer }) => canonicalJson(pickRequestableParams(offer)))).slice(0, MAX_CHOICE)
    return notFound('params', `No provider of ${name} serves the requested params; available: ${choice.join(', ')}.`)
  }
  const guarded = params.find(({ offer }) => !hasRequiredTrust(call.caller, offer.trustRequired))
  return createUntrustedCallerFault(
    call.caller,
    (guarded ?? params[0] ?? named[0])?.offer ?? { name, trustRequired: 'self' },
  )
}

function misplaced(call: RouteRequest, offering: readonly CapabilityEntry[], nodes: RoutingCandidates['nodes']): Fault {
  const { capability: name, node, hopBudget } = call
  const ids = nodeIds(offering)
  // A call that may not leave this node gets no list of other nodes: its sender routes by itself.
  const details = hopBudget > 0 ? { alt_nodes: ids } : {}
  if (node === undefined)
    return notFound('node', `${name} is not offered on this node, and the call may not be forwarded.`, details)
  if (hopBudget === 0) return notFound('node', `${name} is not offered on the requested node.`)
  const where = `offered on ${nodes.namesOf(new Set(ids)).join(', ')}`
  const onOtherNode = `${name} is not offered on ${nodes.nameOf(node) ?? node}; it is ${where}.`
  return notFound('node', nodes.unknownNodeMessage(node, `${name} is ${where}`) ?? onOtherNode, details)
}

function nodeIds(entries: readonly CapabilityEntry[]): readonly string[] {
  return distinct(entries.map((entry) => entry.nodeId))
}

function ambiguousNode({ capability }: RouteRequest, ids: readonly string[], nodes: RoutingCandidates['nodes']): Fault {
  const names = nodes.namesOf(new Set(ids)).join(', ')
  return {
    kind: 'conflict',
    code: 'ambiguous_node',
    message: `${capability} acts on the node that runs it, and ${ids.length} nodes offer it. Name one of them: ${names}.`,
    details: { reason: 'ambiguous', alt_nodes: ids },
  }
}

function nobodyAvailable(call: RouteRequest, { named, eligible, isStale, nowMs }: RoutingCandidates): Fault {
  const fresh = eligible.filter((entry) => !isStale(entry))
  const full = fresh.find(
    (entry) => !entry.health.isQuarantined(nowMs) && (hasNoFreeSlot(entry) || entry.busyUntilMs > nowMs),
  )
  if (full !== undefined)
    return createProviderBusyFault(full, nowMs, distinct(standIns(full, named).map((entry) => entry.nodeId)))
  if (fresh.length === 0)
    return unreachable('stale', `No node that offers ${call.capability} has been heard from lately.`)
  const backMs = Math.min(...fresh.map((entry) => entry.health.quarantinedUntilMs))
  return {
    ...unreachable(
      'quarantined',
      `Every provider of ${call.capability} failed too often and is quarantined. Try again later.`,
    ),
    // The end of a quarantine may be in the past: a probe is under way then, and decides shortly.
    retryAfterMs: Math.max(1_000, Math.ceil(backMs - nowMs)),
  }
}

/** Other nodes that serve the same and are not known to be full: a peer may call them itself. */
function standIns(entry: CapabilityEntry, named: readonly CapabilityEntry[]): readonly CapabilityEntry[] {
  return named.filter(
    (other) =>
      other.nodeId !== entry.nodeId &&
      other.offer.anywhere === true &&
      other.offer.version[0] === entry.offer.version[0] &&
      !hasNoFreeSlot(other),
  )
}

function notFound(reason: string, message: string, details: Readonly<Record<string, readonly string[]>> = {}): Fault {
  return { kind: 'not-found', code: 'not_found', message, details: { reason, ...details } }
}

/**
 * Spec 2 § 6: this node's answer tells `quarantined` apart from the others; between nodes all of them are `partition`.
 */
function unreachable(reason: 'quarantined' | 'stale' | 'away' | 'changed', message: string): Fault {
  const code = reason === 'quarantined' ? 'quarantined' : 'partition'
  return { kind: 'offline', code, message, details: { reason } }
}

function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].toSorted()
}
