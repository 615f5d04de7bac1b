/**
 * Registry: every capability this node knows of, its own and its peers' (spec 2 § 3.2).
 *
 *   name ─▶ [ entry (here, 1.0) · entry (here, 1.0, other params) · entry (peer, 1.2) … ]
 *
 * Lists are replaced, never changed: code that holds a list across an await still sees a consistent one.
 *
 * Pure: time is an argument.
 */
import type { Fault } from '../core/fault.ts'
import { canonicalJson } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { assignFreeSlots } from './provider-queue.ts'
import type { Capability, CapabilityName, FamilyEnvelope, Offer, CapabilityVersion } from './capability.ts'
import {
  toContractKey,
  groupProvidersByContract,
  isSameContract,
  EMPTY_SAME_NAME_CONTRACTS,
  hasSameEffectAndSecrets,
  raiseOfferRequirements,
} from './contract.ts'
import type { ContractWithProviders, ContractDisagreement, SameNameContracts } from './contract.ts'
import {
  checkDescriptor,
  checkNameInNamespace,
  isSameOffer,
  isAssessmentMissing,
  createNamespaceViolationFault,
  listReservedPrefixes,
  createMissingAssessmentFault,
} from './offer-validation.ts'
import type { NamespaceOwner } from './offer-validation.ts'
import { satisfiesVersion } from './route-request-matching.ts'
import { CapabilityEntry, toCapabilityEntryKey } from './capability-entry.ts'
import { defaultFamilyEnvelope } from './default-family-envelope.ts'
import { createPeerOffer } from './peer.ts'
import type { PeerCapability, PeerRecord, RefusedCapability } from './peer.ts'
import { RegistryEvents } from './registry-events.ts'
import type { RegistryChangeKind } from './registry-events.ts'
import { computeCapabilityInstanceId } from './schema-hash.ts'

export interface RegistryDiff {
  readonly added: readonly CapabilityEntry[]
  readonly removed: readonly CapabilityEntry[]
  readonly updated: readonly CapabilityEntry[]
  readonly refused: readonly RefusedCapability[]
}

const NOTHING: readonly CapabilityEntry[] = []
/** Capabilities of a peer beyond this number are ignored. */
const MAX_PEER_CAPABILITIES = 2_000

export class CapabilityRegistry {
  readonly events = new RegistryEvents()
  readonly #nodeId: string
  readonly #families: ReadonlyMap<string, FamilyEnvelope>
  readonly #byKey = new Map<string, CapabilityEntry>()
  readonly #byName = new Map<CapabilityName, readonly CapabilityEntry[]>()
  readonly #byNode = new Map<string, Set<CapabilityEntry>>()
  /** Grouped on the first request after a change. */
  readonly #contracts = new Map<CapabilityName, SameNameContracts>()
  readonly #regroup = new Set<CapabilityName>()
  #offers: readonly Offer[] | undefined
  /** Prefixes of the families that this node has had since its start. */
  readonly reserved = new Set<string>()

  constructor(nodeId: string, families: readonly FamilyEnvelope[] = []) {
    this.#nodeId = nodeId
    this.#families = new Map(families.map((family) => [family.name, family]))
  }

  /** Registering an identical offer again only replaces the handler; no event is sent. */
  registerLocal(capability: Capability, owner: NamespaceOwner, nowMs: number): Result<void, Fault> {
    const { offer } = capability
    const named = checkNameInNamespace(offer.name, owner)
    if (!named.ok) return named
    const instance = computeCapabilityInstanceId(offer.params)
    const key = toCapabilityEntryKey({
      nodeId: this.#nodeId,
      name: offer.name,
      version: offer.version,
      instanceId: instance,
    })
    const known = this.#byKey.get(key)
    if (known !== undefined && known.owner !== owner.name)
      return fail(createNamespaceViolationFault(`${offer.name} is offered by ${known.owner} already.`))
    const checked = checkDescriptor(offer)
    if (!checked.ok) return checked
    if (isAssessmentMissing(offer)) return fail(createMissingAssessmentFault(offer))
    for (const prefix of listReservedPrefixes(offer, owner)) this.reserved.add(prefix)
    if (known === undefined) {
      const identity = { nodeId: this.#nodeId, instanceId: instance, isLocal: true, owner: owner.name }
      const entry = new CapabilityEntry({ ...identity, offer, lastSeenMs: nowMs })
      entry.capability = capability
      this.#add(entry)
      return ok(undefined)
    }
    const changed = !isSameOffer(known.offer, offer)
    if (changed && !isSameContract(known, offer)) known.contract = undefined
    this.#regroup.add(offer.name)
    known.offer = offer
    known.capability = capability
    known.lastSeenMs = nowMs
    this.#offers = undefined
    assignFreeSlots(known)
    if (changed) this.#announce('updated', known)
    return ok(undefined)
  }

  /** Without an instance id, removes all instances. Running calls continue to their end. */
  deregisterLocal(name: CapabilityName, version: CapabilityVersion, instance?: string): number {
    const gone = this.named(name).filter(
      (entry) =>
        entry.isLocal &&
        entry.offer.version[0] === version[0] &&
        entry.offer.version[1] === version[1] &&
        (instance === undefined || entry.instanceId === instance),
    )
    for (const entry of gone) this.#remove(entry)
    return gone.length
  }

  /** Entries that stay keep their health, running calls and sessions (spec 2 § 5.2). */
  updateFromPeer(peer: PeerRecord, nowMs: number): RegistryDiff {
    const diff = { added: [] as CapabilityEntry[], removed: [] as CapabilityEntry[], updated: [] as CapabilityEntry[] }
    const refused: RefusedCapability[] = []
    const before = new Set(this.#byNode.get(peer.nodeId))
    for (const capability of this.#believable(peer)) {
      const seen = this.#takePeerCapability(peer, capability, nowMs)
      if (!seen.ok) refused.push({ name: capability.name, fault: seen.fault })
      else {
        before.delete(seen.value.entry)
        if (seen.value.change === 'added') diff.added.push(seen.value.entry)
        if (seen.value.change === 'updated') diff.updated.push(seen.value.entry)
      }
    }
    for (const entry of before) {
      this.#remove(entry)
      diff.removed.push(entry)
    }
    return { ...diff, refused }
  }

  removePeer(nodeId: string): number {
    const gone = nodeId === this.#nodeId ? [] : [...(this.#byNode.get(nodeId) ?? [])]
    for (const entry of gone) this.#remove(entry)
    return gone.length
  }

  /** All versions and instances of a name, wherever they are. */
  named(name: CapabilityName): readonly CapabilityEntry[] {
    return this.#byName.get(name) ?? NOTHING
  }

  find(
    name: CapabilityName,
    versionReq: CapabilityVersion,
    paramsFilter?: (params: JsonObject) => boolean,
  ): readonly CapabilityEntry[] {
    return this.named(name).filter(
      (entry) =>
        satisfiesVersion(entry.offer.version, versionReq) &&
        (paramsFilter === undefined || paramsFilter(entry.offer.params)),
    )
  }

  entry(identity: {
    nodeId: string
    name: CapabilityName
    version: CapabilityVersion
    instanceId?: string
  }): CapabilityEntry | undefined {
    const { instanceId: instance = computeCapabilityInstanceId({}) } = identity
    return this.#byKey.get(toCapabilityEntryKey({ ...identity, instanceId: instance }))
  }

  all(): readonly CapabilityEntry[] {
    return [...this.#byKey.values()]
  }

  allLocal(): readonly CapabilityEntry[] {
    return [...(this.#byNode.get(this.#nodeId) ?? [])]
  }

  /** One offer per name, sorted by name: this node's own before others', newer before older. */
  offers(): readonly Offer[] {
    this.#offers ??= this.#listed()
    return this.#offers
  }

  /** The offers of one node, likewise. */
  offersOf(nodeId: string): readonly Offer[] {
    const names = new Set([...(this.#byNode.get(nodeId) ?? [])].map((entry) => entry.offer.name))
    return [...names].toSorted().flatMap((name) => this.offer(name, undefined, nodeId) ?? [])
  }

  /** The contracts of a name, the one that faces show first. */
  contracts(name: CapabilityName): SameNameContracts {
    this.regroup(name)
    return this.#contracts.get(name) ?? EMPTY_SAME_NAME_CONTRACTS
  }

  /** Updates the providers of a name's contracts, for callers that already hold one of them. */
  regroup(name: CapabilityName): void {
    if (this.#regroup.size === 0 || !this.#regroup.delete(name)) return
    const grouped = groupProvidersByContract(this.named(name), this.#contracts.get(name)?.contracts ?? [])
    if (grouped.contracts.length === 0) this.#contracts.delete(name)
    else this.#contracts.set(name, grouped)
  }

  /** Names whose providers do not agree on what they do. */
  disagreements(): readonly ContractDisagreement[] {
    return [...this.#byName].flatMap(([name, entries]) =>
      entries.length < 2 ? [] : (this.contracts(name).disagreement ?? []),
    )
  }

  /**
   * The offer that faces show for a name, or the one of the requested version and node. Where that node does not offer
   * it, the node is ignored: the call will be refused, and is recorded with the other offer.
   */
  offer(name: CapabilityName, versionReq?: CapabilityVersion, nodeId?: string): Offer | undefined {
    const { contracts } = this.contracts(name)
    const fitting = contracts.filter(
      ({ offer }) => versionReq === undefined || satisfiesVersion(offer.version, versionReq),
    )
    if (nodeId === undefined) return fitting[0]?.offer
    for (const contract of fitting) {
      const entry = contract.entries.find((each) => each.nodeId === nodeId)
      if (entry !== undefined) return shownOffer(entry, contract)
    }
    return fitting[0]?.offer
  }

  /** A resource of another node is not listed under an address of this node, whatever its name. */
  #listed(): readonly Offer[] {
    const ours = new Set(this.allLocal().flatMap(({ offer }) => addressOf(offer) ?? []))
    return [...this.#byName.keys()]
      .toSorted()
      .flatMap((name) => this.offer(name) ?? [])
      .filter((offer) => !ours.has(addressOf(offer) ?? '') || this.named(offer.name).some(({ isLocal }) => isLocal))
  }

  #believable(peer: PeerRecord): readonly PeerCapability[] {
    // A peer may speak neither for this node nor for a third one.
    if (peer.nodeId === this.#nodeId || peer.manifest.nodeId !== peer.nodeId) return []
    return peer.manifest.capabilities.slice(0, MAX_PEER_CAPABILITIES)
  }

  #takePeerCapability(
    peer: PeerRecord,
    capability: PeerCapability,
    nowMs: number,
  ): Result<{ entry: CapabilityEntry; change: RegistryChangeKind | undefined }, Fault> {
    const { name, version, instanceId: instance } = capability
    const known = this.#byKey.get(toCapabilityEntryKey({ nodeId: peer.nodeId, name, version, instanceId: instance }))
    if (known !== undefined && isSameAnnouncement(known.announced, capability)) {
      known.endpoint = peer.endpoint
      known.lastSeenMs = nowMs
      return ok({ entry: known, change: undefined })
    }
    const made = createPeerOffer(capability, this.#families.get(capability.family) ?? defaultFamilyEnvelope)
    if (!made.ok) return made
    const offer = made.value
    const checked = checkDescriptor(offer)
    if (!checked.ok) return checked
    const identity = { nodeId: peer.nodeId, instanceId: instance, isLocal: false, owner: peer.nodeId }
    const entry = known ?? new CapabilityEntry({ ...identity, offer, lastSeenMs: nowMs })
    const before = known === undefined ? undefined : toContractKey(known)
    entry.offer = offer
    entry.announced = capability
    if (before !== toContractKey(entry)) entry.contract = undefined
    entry.endpoint = peer.endpoint
    entry.lastSeenMs = nowMs
    if (known === undefined) this.#add(entry)
    else this.#announce('updated', entry)
    return ok({ entry, change: known === undefined ? 'added' : 'updated' })
  }

  #add(entry: CapabilityEntry): void {
    this.#byKey.set(entry.key, entry)
    this.#byName.set(entry.offer.name, [...this.named(entry.offer.name), entry])
    const ofNode = this.#byNode.get(entry.nodeId) ?? new Set()
    this.#byNode.set(entry.nodeId, ofNode.add(entry))
    this.#announce('added', entry)
  }

  #remove(entry: CapabilityEntry): void {
    entry.removed = true
    this.#byKey.delete(entry.key)
    const left = this.named(entry.offer.name).filter((other) => other !== entry)
    if (left.length === 0) this.#byName.delete(entry.offer.name)
    else this.#byName.set(entry.offer.name, left)
    const ofNode = this.#byNode.get(entry.nodeId)
    ofNode?.delete(entry)
    if (ofNode?.size === 0) this.#byNode.delete(entry.nodeId)
    this.#announce('removed', entry)
  }

  #announce(kind: RegistryChangeKind, entry: CapabilityEntry): void {
    this.#offers = undefined
    this.#regroup.add(entry.offer.name)
    this.events.announce(kind, entry)
  }
}

/** Schemas are identified by their hash, so only whether they have arrived matters. */
function isSameAnnouncement(before: PeerCapability | undefined, now: PeerCapability): boolean {
  if (before === undefined || before === now) return before === now
  const { schemas: schemasBefore, ...factsBefore } = before
  const { schemas: schemasNow, ...factsNow } = now
  if ((schemasBefore === undefined) !== (schemasNow === undefined)) return false
  return canonicalJson(factsBefore) === canonicalJson(factsNow)
}

function addressOf({ face }: Offer): string | undefined {
  return face.kind === 'resource' ? face.uri : undefined
}

/** The requested node's own offer, with the strictest effect that any provider of the name demands. */
function shownOffer({ offer }: CapabilityEntry, { offer: agreed }: ContractWithProviders): Offer {
  if (hasSameEffectAndSecrets(offer, agreed)) return offer
  const { effect, secrets } = agreed
  return raiseOfferRequirements(offer, secrets === undefined ? { effect } : { effect, secrets })
}
