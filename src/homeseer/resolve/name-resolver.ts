/**
 * Name resolver: finds the thing that a text means, with the evidence, and says whether a caller may act on it.
 *
 *   act   one thing has exactly this name, and nothing else could be meant
 *   ask   several have it, or none exactly, or a wrapper has it, or the house has a name that looks like it
 *
 * Devices whose scores lie close together are ordered by how well they can be acted upon: an endpoint before the root
 * or master that wraps it, unless the words ask for the wrapper.
 */
import type { HomeseerDevice } from '../catalog/device.ts'
import { findRootRef, type HomeseerDeviceCatalog } from '../catalog/device-catalog-and-event-consequences.ts'
import type { ReceivedCamera } from '../wire/camera.ts'
import type { ReceivedEventRecord } from '../wire/event.ts'
import { deriveCameraAliases, deriveDeviceAliases, deriveEventAliases, type Alias } from './alias.ts'
import { findConceptsInText, DEVICE_KINDS_BY_CONCEPT } from './name-concepts.ts'
import { buildNameIndex, type NameIndex } from './name-index.ts'
import { searchNames, type NameSearchHit } from './name-search.ts'
import { listNormalisedWords, normaliseName } from './name-normalisation.ts'
import { toMatchConfidence, type MatchConfidence } from './name-score.ts'

export interface NameResolver {
  readonly devices: HomeseerDeviceCatalog
  readonly events: ReadonlyMap<number, ReceivedEventRecord>
  readonly cameras: ReadonlyMap<number, ReceivedCamera>
  readonly deviceNames: NameIndex
  readonly eventNames: NameIndex
  readonly cameraNames: NameIndex
}

export interface NameResolverSources {
  readonly devices: HomeseerDeviceCatalog
  readonly events: readonly ReceivedEventRecord[]
  readonly cameras: readonly ReceivedCamera[]
  /** Aliases from the configuration, and confirmed ones; those of things that no longer exist are ignored. */
  readonly aliases: readonly Alias[]
}

export type ResolutionVerdict =
  | { readonly kind: 'act' }
  | { readonly kind: 'ask'; readonly reason: 'fuzzy' | 'several-exact' | 'wrapper' | 'look-alike' }
  | { readonly kind: 'none' }

export interface ScoredTargetMatch<Target> {
  readonly target: Target
  readonly score: number
  readonly confidence: MatchConfidence
  readonly match: 'exact' | 'fuzzy'
  readonly evidence: {
    readonly matchedAlias: string
    readonly normalizedAlias: string
    readonly origin: Alias['origin']
    readonly lookAlike: boolean
  }
}

export interface DeviceCandidate extends ScoredTargetMatch<HomeseerDevice> {
  readonly actionability: {
    readonly rank: number
    readonly role: 'endpoint' | 'wrapper_or_master'
    readonly relationship: number
    readonly parentRef: number | undefined
    readonly controlPairCount: number
  }
}

/** Best first; `verdict` is about the first one. */
export interface NameResolution<One> {
  /** The best of them; nobody asks for more than the contract lets them. */
  readonly candidates: readonly One[]
  /** How many there are in all. */
  readonly total: number
  readonly verdict: ResolutionVerdict
}

const MAX_CANDIDATES = 100

export function buildNameResolver({ devices, events, cameras, aliases }: NameResolverSources): NameResolver {
  const numbered = events.flatMap((event) => (event.id === undefined ? [] : [[event.id, event] as const]))
  const eventsById = new Map(numbered)
  const camerasById = new Map(cameras.map((camera) => [camera.camId, camera]))
  const given = (kind: Alias['kind'], exists: (id: number) => boolean) =>
    aliases.filter((alias) => alias.kind === kind && exists(alias.id))
  return {
    devices,
    events: eventsById,
    cameras: camerasById,
    deviceNames: buildNameIndex([
      ...devices.devices.flatMap(deriveDeviceAliases),
      ...given('device', (id) => devices.byRef.has(id)),
    ]),
    eventNames: buildNameIndex([...events.flatMap(deriveEventAliases), ...given('event', (id) => eventsById.has(id))]),
    cameraNames: buildNameIndex([
      ...cameras.flatMap(deriveCameraAliases),
      ...given('camera', (id) => camerasById.has(id)),
    ]),
  }
}

export function resolveDevices(resolver: NameResolver, query: string): NameResolution<DeviceCandidate> {
  const wantsWrapper = listNormalisedWords(query).some((word) => WRAPPER_WORDS.has(word))
  const found: RankedDevice[] = []
  const kinds = kindsIn(query)
  for (const hit of searchNames(resolver.deviceNames, query)) {
    const device = resolver.devices.byRef.get(hit.id)
    if (device !== undefined && isOfKind(device, hit, kinds))
      found.push({ device, hit, rank: rankOf(device, wantsWrapper) })
  }
  const ranked = rankDevices(found, wantsWrapper)
  return {
    candidates: ranked.slice(0, MAX_CANDIDATES).map(deviceCandidate),
    total: ranked.length,
    verdict: decideDevices(ranked, wantsWrapper),
  }
}

/** `groupHint` keeps the events whose group contains it; it does not change their scores. */
export function resolveEvents(
  resolver: NameResolver,
  query: string,
  groupHint = '',
): NameResolution<ScoredTargetMatch<ReceivedEventRecord>> {
  const hint = normaliseName(groupHint)
  const hits = searchNames(resolver.eventNames, query).filter(({ id }) =>
    normaliseName(resolver.events.get(id)?.group ?? '').includes(hint),
  )
  return resolutionOf(hits, (id) => resolver.events.get(id))
}

export function resolveCameras(
  resolver: NameResolver,
  query: string,
): NameResolution<ScoredTargetMatch<ReceivedCamera>> {
  return resolutionOf(searchNames(resolver.cameraNames, query), (id) => resolver.cameras.get(id))
}

function resolutionOf<Target>(
  hits: readonly NameSearchHit[],
  find: (id: number) => Target | undefined,
): NameResolution<ScoredTargetMatch<Target>> {
  const candidates = hits.slice(0, MAX_CANDIDATES).flatMap((hit) => candidateOf(find(hit.id), hit))
  return { candidates, total: hits.length, verdict: decide(hits) }
}

export interface ParentDeviceWarning {
  readonly code: 'PARENT_OR_WRAPPER_TARGET'
  readonly message: string
  readonly resolvedRef: number
  readonly suggestedRef: number
}

/** A warning for the case that a wrapper was chosen although a better endpoint is among the candidates. */
export function warnAboutParentDevice(
  chosen: DeviceCandidate,
  candidates: readonly DeviceCandidate[],
): ParentDeviceWarning | undefined {
  if (chosen.actionability.role !== 'wrapper_or_master') return undefined
  const better = candidates.find(
    ({ actionability }) => actionability.role === 'endpoint' && actionability.rank > chosen.actionability.rank,
  )
  if (better === undefined) return undefined
  const { ref: resolvedRef, name } = chosen.target
  const { ref: suggestedRef } = better.target
  return {
    code: 'PARENT_OR_WRAPPER_TARGET',
    message: `${name} (${resolvedRef}) stands for other devices; ${better.target.name} (${suggestedRef}) is one that acts`,
    resolvedRef,
    suggestedRef,
  }
}

/** The kinds of things that the words name; empty if they name none. */
function kindsIn(query: string): readonly string[] {
  return findConceptsInText(query).filter((concept) => Object.hasOwn(DEVICE_KINDS_BY_CONCEPT, concept))
}

/** Whether a candidate is of a named kind: a lamp is not the thermostat in the same room. An exact name always fits. */
function isOfKind(
  { kind }: HomeseerDevice,
  { match, lookAlike, concepts: called }: NameSearchHit,
  concepts: readonly string[],
): boolean {
  if (concepts.length === 0 || match === 'exact' || lookAlike) return true
  if (concepts.some((concept) => DEVICE_KINDS_BY_CONCEPT[concept]?.includes(kind) === true)) return true
  return concepts.some((concept) => called.includes(concept))
}

const WRAPPER_WORDS = new Set(['master', 'scene', 'parent', 'root'])
/** Scores that differ by less do not show which of two devices was meant. */
const CLOSE = 0.12

/** What the order and the verdict need of a device; full candidates are only made of those that are shown. */
interface RankedDevice {
  readonly device: HomeseerDevice
  readonly hit: NameSearchHit
  readonly rank: number
}

function rankOf(
  { relationship, parentRef, controls, capabilities, wrapper }: HomeseerDevice,
  wantsWrapper: boolean,
): number {
  const isPart = relationship === 4 || parentRef !== undefined
  const switches = capabilities.includes('on_off') || capabilities.includes('dimmer')
  return (isPart ? 3 : 0) + (controls.length > 0 ? 3 : 0) + (switches ? 2 : 0) - (wrapper && !wantsWrapper ? 4 : 0)
}

function deviceCandidate({ device, hit, rank }: RankedDevice): DeviceCandidate {
  const { relationship, parentRef, controls, wrapper } = device
  return {
    ...candidate(device, hit),
    actionability: {
      rank,
      role: wrapper ? 'wrapper_or_master' : 'endpoint',
      relationship,
      parentRef,
      controlPairCount: controls.length,
    },
  }
}

/**
 * An exact name that is not an unwanted wrapper comes first. The others are divided into bands of close scores, each
 * counted from its best, and ordered by rank within a band: closeness alone is not transitive, and an order must be.
 */
function rankDevices(found: readonly RankedDevice[], wantsWrapper: boolean): readonly RankedDevice[] {
  const isNamed = ({ hit, device }: RankedDevice) => hit.match === 'exact' && (wantsWrapper || !device.wrapper)
  const ranked = found.filter(isNamed).sort(byRank)
  const rest = found.filter((one) => !isNamed(one))
  for (let from = 0; from < rest.length;) {
    const top = rest[from]?.hit.score ?? 0
    let to = from
    while (to < rest.length && top - (rest[to]?.hit.score ?? 0) <= CLOSE) to++
    for (const one of rest.slice(from, to).sort(byRank)) ranked.push(one)
    from = to
  }
  return ranked
}

function byRank(left: RankedDevice, right: RankedDevice): number {
  return (
    right.rank - left.rank ||
    right.hit.score - left.hit.score ||
    Number(right.hit.alias.origin === 'configuration') - Number(left.hit.alias.origin === 'configuration') ||
    left.device.ref - right.device.ref
  )
}

/** The root of the chosen feature, and wrappers beside it, are not other things that could be meant. */
function decideDevices(ranked: readonly RankedDevice[], wantsWrapper: boolean): ResolutionVerdict {
  const [first, ...others] = ranked
  if (first === undefined) return { kind: 'none' }
  if (first.hit.match === 'exact' && !wantsWrapper && first.device.wrapper) return { kind: 'ask', reason: 'wrapper' }
  const root = findRootRef(first.device)
  const apart = others.filter(({ device }) => wantsWrapper || !(device.wrapper || device.ref === root))
  return decide([first.hit, ...apart.map(({ hit }) => hit)])
}

function decide(hits: readonly NameSearchHit[]): ResolutionVerdict {
  const [first] = hits
  if (first === undefined) return { kind: 'none' }
  if (first.match !== 'exact') return { kind: 'ask', reason: first.lookAlike ? 'look-alike' : 'fuzzy' }
  const isOther = (hit: NameSearchHit): boolean => hit !== first
  if (hits.some((hit) => isOther(hit) && hit.match === 'exact')) return { kind: 'ask', reason: 'several-exact' }
  // A second thing whose name only looks the same may be there in order to be confused with the first.
  if (hits.some((hit) => isOther(hit) && hit.lookAlike && hit.score >= first.score - CLOSE))
    return { kind: 'ask', reason: 'look-alike' }
  return { kind: 'act' }
}

function candidateOf<Target>(target: Target | undefined, hit: NameSearchHit): readonly ScoredTargetMatch<Target>[] {
  return target === undefined ? [] : [candidate(target, hit)]
}

function candidate<Target>(target: Target, hit: NameSearchHit): ScoredTargetMatch<Target> {
  return {
    target,
    score: hit.score,
    confidence: toMatchConfidence(hit.score),
    match: hit.match,
    evidence: {
      matchedAlias: hit.alias.text,
      normalizedAlias: hit.normalizedAlias,
      origin: hit.alias.origin,
      lookAlike: hit.lookAlike,
    },
  }
}
