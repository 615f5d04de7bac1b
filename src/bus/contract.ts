/**
 * Contract: what providers of one name agree on. A call is resolved to one contract before anything is validated, and
 * from then on every stage speaks of it: schema, effect, lock, secrets, time-out and trust are its own, and the router
 * chooses only among its providers (ADR 130).
 *
 *   name ─▶ [ contract (schema a, reads) ─▶ providers · contract (schema b, writes) ─▶ providers … ]
 *
 * Where providers of one name disagree, the strictest effect and all their secrets hold for each of them. No
 * announcement of another node changes what this node's own handlers are judged by.
 */
import { EFFECTS } from './capability.ts'
import type { Effect, Offer } from './capability.ts'
import type { CapabilityEntry } from './capability-entry.ts'
import { setAnnouncedSchemaHash, computeSchemaHash } from './schema-hash.ts'

const NO_ENTRIES: readonly CapabilityEntry[] = []

export class ContractWithProviders {
  /** The offer whose schemas, effect, lock and secrets apply to the call. */
  offer: Offer
  /** Providers of this contract, this node's own first. */
  entries: readonly CapabilityEntry[] = NO_ENTRIES
  localCount = 0
  nodeCount = 0
  /** The original offer, where another provider demands a stricter effect or more secrets. */
  raisedFrom: Offer | undefined
  /** Providers in quarantine, so that a due probe is found without searching all providers. */
  readonly ejected = new Set<CapabilityEntry>()
  #byNode: ReadonlyMap<string, readonly CapabilityEntry[]> | undefined

  constructor(offer: Offer) {
    this.offer = offer
  }

  /** The providers on one node, or all of them. */
  placedOn(nodeId: string | undefined): readonly CapabilityEntry[] {
    if (nodeId === undefined) return this.entries
    this.#byNode ??= Map.groupBy(this.entries, (entry) => entry.nodeId)
    return this.#byNode.get(nodeId) ?? NO_ENTRIES
  }

  /** Replaces the providers; this node's own come first. */
  serveBy(members: readonly CapabilityEntry[]): void {
    const local = members.filter(({ isLocal }) => isLocal)
    this.entries = [...local, ...members.filter(({ isLocal }) => !isLocal)]
    this.localCount = local.length
    this.nodeCount = new Set(members.map(({ nodeId }) => nodeId)).size
    this.#byNode = undefined
    for (const entry of members) entry.contract = this
  }

  get isLocal(): boolean {
    return this.localCount > 0
  }

  /** Whether it acts on what is attached to its own node: the same name on another node is about another house. */
  get isBoundToNode(): boolean {
    return this.offer.anywhere !== true
  }
}

/** The contracts of one name, the one that faces show first, and what its providers do not agree on. */
export interface SameNameContracts {
  readonly contracts: readonly ContractWithProviders[]
  readonly hasBound: boolean
  readonly disagreement: ContractDisagreement | undefined
}

/** Several versions of a capability are no disagreement; what providers of one version say of it is. */
export interface ContractDisagreement {
  readonly name: string
  readonly effects: readonly Effect[]
  /** The largest number of different schemas for one version. */
  readonly schemas: number
  readonly nodeIds: readonly string[]
}

export const EMPTY_SAME_NAME_CONTRACTS: SameNameContracts = { contracts: [], hasBound: false, disagreement: undefined }

/**
 * Groups all providers of one name. Contracts that continue keep their identity, because running calls refer to them.
 */
export function groupProvidersByContract(
  entries: readonly CapabilityEntry[],
  before: readonly ContractWithProviders[],
): SameNameContracts {
  // A contract that has ended loses its providers, because running calls may still refer to it.
  for (const contract of before) contract.serveBy(NO_ENTRIES)
  const contracts = entries.length === 1 ? soleContract(entries) : gather(entries)
  const ours = demandOf(contracts.filter(({ isLocal }) => isLocal))
  const everybodys = demandOf(contracts)
  for (const contract of contracts) {
    contract.offer = asStrictAs(contract, contract.isLocal ? ours : everybodys)
    contract.ejected.clear()
    for (const entry of contract.entries) if (entry.health.isEjected()) contract.ejected.add(entry)
  }
  return {
    contracts: contracts.toSorted(compareContracts),
    hasBound: contracts.some(({ isBoundToNode }) => isBoundToNode),
    disagreement: disagreementOf(entries),
  }
}

/**
 * With one entry the schemas need not be compared, so no hash is computed; ours are generated only when a hash is
 * needed.
 */
function soleContract(entries: readonly CapabilityEntry[]): readonly ContractWithProviders[] {
  return entries.map((entry) => {
    const contract = entry.contract ?? new ContractWithProviders(entry.offer)
    contract.serveBy(entries)
    return contract
  })
}

function gather(entries: readonly CapabilityEntry[]): readonly ContractWithProviders[] {
  const groups = Map.groupBy(entries, toContractKey)
  const taken = new Set<ContractWithProviders>()
  return [...groups.values()].flatMap((group) =>
    splitByFunctions(group).map((members) => {
      const known = members.find(({ contract }) => contract !== undefined && !taken.has(contract))?.contract
      const contract = known ?? new ContractWithProviders(members[0]?.offer ?? unreachableGroup())
      taken.add(contract)
      contract.serveBy(members)
      return contract
    }),
  )
}

/**
 * Two instances on this node that lock or plan with functions of their own are two contracts: what one of them says
 * about a call says nothing about the other. Other nodes lock and plan themselves and belong to the first contract.
 */
function splitByFunctions(group: readonly CapabilityEntry[]): readonly (readonly CapabilityEntry[])[] {
  const parts: CapabilityEntry[][] = []
  for (const entry of group) {
    if (!entry.isLocal) continue
    const { lock, plan } = entry.offer
    const same = parts.find(([first]) => first?.offer.lock === lock && first?.offer.plan === plan)
    if (same === undefined) parts.push([entry])
    else same.push(entry)
  }
  const remote = group.filter(({ isLocal }) => !isLocal)
  const [first, ...rest] = parts
  if (first === undefined) return [remote]
  return [[...first, ...remote], ...rest]
}

/** Whether providers with these two offers serve the same calls in the same way. */
export function isSameContract(entry: CapabilityEntry, offer: Offer): boolean {
  return factsOf(entry.offer) === factsOf(offer) && computeContractHash(entry) === computeSchemaHash(offer)
}

export function toContractKey(entry: CapabilityEntry): string {
  return `${computeContractHash(entry)} ${factsOf(entry.offer)}`
}

/** For another node's contract, the hash that it announced: its schemas may not have arrived yet. */
export function computeContractHash({ announced, offer }: CapabilityEntry): string {
  return announced?.schemaHash ?? computeSchemaHash(offer)
}

function factsOf({ effect, trustRequired, timeoutSeconds, idempotent, anywhere, secrets = [] }: Offer): string {
  return JSON.stringify([effect, trustRequired, timeoutSeconds, idempotent, anywhere === true, secrets.toSorted()])
}

interface Demand {
  readonly effect: Effect
  readonly secrets: readonly string[]
}

function demandOf(contracts: readonly ContractWithProviders[]): Demand {
  const offers = contracts.flatMap(({ entries }) => entries[0]?.offer ?? [])
  return {
    effect: offers.reduce<Effect>((strictest, { effect }) => stricter(strictest, effect), 'reads'),
    secrets: [...new Set(offers.flatMap(({ secrets = [] }) => secrets))].toSorted(),
  }
}

function stricter(one: Effect, other: Effect): Effect {
  return EFFECTS.indexOf(one) < EFFECTS.indexOf(other) ? other : one
}

/** The offer of the first provider whose schemas are known, with the demanded effect and secrets. */
function asStrictAs(contract: ContractWithProviders, { effect, secrets }: Demand): Offer {
  const { entries, offer: before } = contract
  const first = entries.find(({ isLocal, announced }) => isLocal || announced?.schemas !== undefined) ?? entries[0]
  const offer = first?.offer ?? before
  if (hasSameEffectAndSecrets(offer, { effect, secrets })) return offer
  // Made only once: validators are cached by offer.
  if (contract.raisedFrom === offer && hasSameEffectAndSecrets(before, { effect, secrets })) return before
  contract.raisedFrom = offer
  return raiseOfferRequirements(offer, { effect, secrets })
}

/** Compares names and not their number: a peer may list a secret twice, or another one than before. */
export function hasSameEffectAndSecrets(
  offer: Offer,
  { effect, secrets = [] }: Pick<Offer, 'effect' | 'secrets'>,
): boolean {
  const [own, demanded] = [new Set(offer.secrets), new Set(secrets)]
  return offer.effect === effect && own.size === demanded.size && [...own].every((name) => demanded.has(name))
}

/** The same contract with stricter requirements: it keeps its hash, and a peer's offer stays marked as such. */
export function raiseOfferRequirements(offer: Offer, demand: Partial<Demand>): Offer {
  const raised = { ...offer, ...demand }
  setAnnouncedSchemaHash(raised, computeSchemaHash(offer))
  return raised
}

/** As faces list them: this node's own, newer, offered by more nodes, stricter; then by name of the node. */
function compareContracts(one: ContractWithProviders, other: ContractWithProviders): number {
  if (one.isLocal !== other.isLocal) return one.isLocal ? -1 : 1
  const [oneMajor, oneMinor] = one.offer.version
  const [otherMajor, otherMinor] = other.offer.version
  const byVersion = otherMajor - oneMajor || otherMinor - oneMinor
  if (byVersion !== 0) return byVersion
  const [oneFirst, otherFirst] = [one.entries[0], other.entries[0]]
  if (oneFirst === undefined || otherFirst === undefined) return 0
  return (
    other.nodeCount - one.nodeCount ||
    EFFECTS.indexOf(otherFirst.offer.effect) - EFFECTS.indexOf(oneFirst.offer.effect) ||
    (oneFirst.key < otherFirst.key ? -1 : 1)
  )
}

function disagreementOf(entries: readonly CapabilityEntry[]): ContractDisagreement | undefined {
  const [first] = entries
  if (first === undefined || entries.length < 2) return undefined
  const effects = EFFECTS.filter((effect) => entries.some(({ offer }) => offer.effect === effect))
  const versions = Map.groupBy(entries, ({ offer }) => offer.version.join('.'))
  const schemas = Math.max(...[...versions.values()].map((same) => new Set(same.map(computeContractHash)).size))
  if (effects.length < 2 && schemas < 2) return undefined
  return {
    name: first.offer.name,
    effects,
    schemas,
    nodeIds: [...new Set(entries.map(({ nodeId }) => nodeId))].toSorted(),
  }
}

function unreachableGroup(): never {
  throw new RangeError('a group of providers is never empty')
}
