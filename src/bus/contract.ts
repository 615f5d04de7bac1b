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
import type { CapabilityEntry } from './entry.ts'
import { setAnnouncedSchemaHash, schemaHash } from './schema-hash.ts'

const NO_ENTRIES: readonly CapabilityEntry[] = []

export class CapabilityContract {
  /** What a call is validated, guarded, recorded and timed by. */
  offer: Offer
  /** This node's own first. */
  entries: readonly CapabilityEntry[] = NO_ENTRIES
  localCount = 0
  nodeCount = 0
  /** The offer that `offer` was made from, where somebody demands more than its own provider. */
  raisedFrom: Offer | undefined
  /** Providers in quarantine, so that a due probe is found without looking at everybody. */
  readonly ejected = new Set<CapabilityEntry>()
  #byNode: ReadonlyMap<string, readonly CapabilityEntry[]> | undefined

  constructor(offer: Offer) {
    this.offer = offer
  }

  /** Those on one node, or all. */
  placedOn(nodeId: string | undefined): readonly CapabilityEntry[] {
    if (nodeId === undefined) return this.entries
    this.#byNode ??= Map.groupBy(this.entries, (entry) => entry.nodeId)
    return this.#byNode.get(nodeId) ?? NO_ENTRIES
  }

  /** In place of those that it had; this node's own first. */
  serveBy(members: readonly CapabilityEntry[]): void {
    const local = members.filter(({ isLocal }) => isLocal)
    this.entries = local.length === 0 ? members : [...local, ...members.filter(({ isLocal }) => !isLocal)]
    this.localCount = local.length
    this.nodeCount = new Set(members.map(({ nodeId }) => nodeId)).size
    this.#byNode = undefined
    for (const entry of members) entry.contract = this
  }

  get isLocal(): boolean {
    return this.localCount > 0
  }

  /** It acts on what is attached to its own node: the same name elsewhere is another house. */
  get isBoundToNode(): boolean {
    return this.offer.anywhere !== true
  }
}

/** The contracts of one name, the one that faces show first, and what its providers do not agree on. */
export interface ContractGroup {
  readonly contracts: readonly CapabilityContract[]
  readonly hasBound: boolean
  readonly disagreement: ContractDisagreement | undefined
}

/** Several versions of a capability are no disagreement; what providers of one version say of it is. */
export interface ContractDisagreement {
  readonly name: string
  readonly effects: readonly Effect[]
  /** How many schemas there are for one and the same version, at most. */
  readonly schemas: number
  readonly nodeIds: readonly string[]
}

export const EMPTY_CONTRACT_GROUP: ContractGroup = { contracts: [], hasBound: false, disagreement: undefined }

/** Groups all providers of one name. Contracts that go on keep their identity: calls under way hold them. */
export function groupContracts(
  entries: readonly CapabilityEntry[],
  before: readonly CapabilityContract[],
): ContractGroup {
  // Whoever still holds one that is no more finds nobody there.
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

/** The entry's own hash may not be known yet, and need not be: our schemas are made when somebody asks for them. */
function soleContract(entries: readonly CapabilityEntry[]): readonly CapabilityContract[] {
  return entries.map((entry) => {
    const contract = entry.contract ?? new CapabilityContract(entry.offer)
    contract.serveBy(entries)
    return contract
  })
}

function gather(entries: readonly CapabilityEntry[]): readonly CapabilityContract[] {
  const groups = Map.groupBy(entries, contractKey)
  const taken = new Set<CapabilityContract>()
  return [...groups.values()].flatMap((group) =>
    splitByFunctions(group).map((members) => {
      const known = members.find(({ contract }) => contract !== undefined && !taken.has(contract))?.contract
      const contract = known ?? new CapabilityContract(members[0]?.offer ?? unreachableGroup())
      taken.add(contract)
      contract.serveBy(members)
      return contract
    }),
  )
}

/**
 * Two instances on this node that lock or plan by functions of their own are two contracts: what one of them says of
 * a call says nothing about the other. Other nodes lock and plan for themselves, and go with the first.
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
  return factsOf(entry.offer) === factsOf(offer) && contractHash(entry) === schemaHash(offer)
}

export function contractKey(entry: CapabilityEntry): string {
  return `${contractHash(entry)} ${factsOf(entry.offer)}`
}

/** Of another node's contract as it announced it: its schemas may not have come yet. */
export function contractHash({ announced, offer }: CapabilityEntry): string {
  return announced?.schemaHash ?? schemaHash(offer)
}

function factsOf({ effect, trustRequired, timeoutSeconds, idempotent, anywhere, secrets = [] }: Offer): string {
  return JSON.stringify([effect, trustRequired, timeoutSeconds, idempotent, anywhere === true, secrets.toSorted()])
}

interface Demand {
  readonly effect: Effect
  readonly secrets: readonly string[]
}

function demandOf(contracts: readonly CapabilityContract[]): Demand {
  const offers = contracts.flatMap(({ entries }) => entries[0]?.offer ?? [])
  return {
    effect: offers.reduce<Effect>((strictest, { effect }) => stricter(strictest, effect), 'reads'),
    secrets: [...new Set(offers.flatMap(({ secrets = [] }) => secrets))].toSorted(),
  }
}

function stricter(one: Effect, other: Effect): Effect {
  return EFFECTS.indexOf(one) < EFFECTS.indexOf(other) ? other : one
}

/** The offer of its first provider that shows its schemas, with as strict an effect and as many secrets as demanded. */
function asStrictAs(contract: CapabilityContract, { effect, secrets }: Demand): Offer {
  const { entries, offer: before } = contract
  const first = entries.find(({ isLocal, announced }) => isLocal || announced?.schemas !== undefined) ?? entries[0]
  const offer = first?.offer ?? before
  if (offer.effect === effect && (offer.secrets?.length ?? 0) === secrets.length) return offer
  // Made once: validators are remembered by the offer.
  const isMade = contract.raisedFrom === offer && before.effect === effect && before.secrets?.length === secrets.length
  if (isMade) return before
  contract.raisedFrom = offer
  return raiseOffer(offer, { effect, secrets })
}

/** The same contract, more strictly: it keeps its hash, and the offer of another node stays one. */
export function raiseOffer(offer: Offer, demand: Partial<Demand>): Offer {
  const raised = { ...offer, ...demand }
  setAnnouncedSchemaHash(raised, schemaHash(offer))
  return raised
}

/** As faces list them: this node's own, newer, offered by more nodes, stricter; then by name of the node. */
function compareContracts(one: CapabilityContract, other: CapabilityContract): number {
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
  const schemas = Math.max(...[...versions.values()].map((same) => new Set(same.map(contractHash)).size))
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
