/**
 * Resolve: from what somebody said to the thing that was meant, with the evidence, and whether one may act on it.
 *
 *   act   one thing is called exactly that, and nothing else could be meant
 *   ask   several are, or none is exactly, or a wrapper is, or a look-alike of the name is in the house
 *
 * Devices whose scores lie close together are ordered by how well they can be acted upon: an endpoint before the root or
 * master that wraps it, unless the words ask for the wrapper.
 *
 * Pure.
 */
import type { Device } from '../catalog/device.ts'
import { rootRef, type House } from '../catalog/house.ts'
import type { ReceivedCamera } from '../wire/camera.ts'
import type { ReceivedEvent } from '../wire/event.ts'
import { cameraAliases, deviceAliases, eventAliases, type Alias } from './alias.ts'
import { buildIndex, type NameIndex } from './name-index.ts'
import { searchNames, type Hit } from './name-search.ts'
import { normalise, tokensOf } from './normalise.ts'
import { confidenceOf, type Confidence } from './score.ts'

export interface Resolver {
  readonly house: House
  readonly events: ReadonlyMap<number, ReceivedEvent>
  readonly cameras: ReadonlyMap<number, ReceivedCamera>
  readonly deviceNames: NameIndex
  readonly eventNames: NameIndex
  readonly cameraNames: NameIndex
}

export interface ResolverInput {
  readonly house: House
  readonly events: readonly ReceivedEvent[]
  readonly cameras: readonly ReceivedCamera[]
  /** From the configuration, and confirmed by people; those of things that no longer exist are ignored. */
  readonly aliases: readonly Alias[]
}

export type Verdict =
  | { readonly kind: 'act' }
  | { readonly kind: 'ask'; readonly reason: 'fuzzy' | 'several-exact' | 'wrapper' | 'look-alike' }
  | { readonly kind: 'none' }

export interface Candidate<Target> {
  readonly target: Target
  readonly score: number
  readonly confidence: Confidence
  readonly match: 'exact' | 'fuzzy'
  readonly evidence: {
    readonly matchedAlias: string
    readonly normalizedAlias: string
    readonly origin: Alias['origin']
    readonly lookAlike: boolean
  }
}

export interface DeviceCandidate extends Candidate<Device> {
  readonly actionability: {
    readonly rank: number
    readonly role: 'endpoint' | 'wrapper_or_master'
    readonly relationship: number
    readonly parentRef: number | undefined
    readonly controlPairCount: number
  }
}

/** Best first; `verdict` is about the first one. */
export interface Resolution<One> {
  readonly candidates: readonly One[]
  readonly verdict: Verdict
}

export function buildResolver({ house, events, cameras, aliases }: ResolverInput): Resolver {
  const numbered = events.flatMap((event) => (event.id === undefined ? [] : [[event.id, event] as const]))
  const eventsById = new Map(numbered)
  const camerasById = new Map(cameras.map((camera) => [camera.camId, camera]))
  const given = (kind: Alias['kind'], exists: (id: number) => boolean) =>
    aliases.filter((alias) => alias.kind === kind && exists(alias.id))
  return {
    house,
    events: eventsById,
    cameras: camerasById,
    deviceNames: buildIndex([...house.devices.flatMap(deviceAliases), ...given('device', (id) => house.byRef.has(id))]),
    eventNames: buildIndex([...events.flatMap(eventAliases), ...given('event', (id) => eventsById.has(id))]),
    cameraNames: buildIndex([...cameras.flatMap(cameraAliases), ...given('camera', (id) => camerasById.has(id))]),
  }
}

export function resolveDevices(resolver: Resolver, query: string): Resolution<DeviceCandidate> {
  const wantsWrapper = tokensOf(normalise(query)).some((word) => WRAPPER_WORDS.has(word))
  const found = searchNames(resolver.deviceNames, query).flatMap((hit) => {
    const device = resolver.house.byRef.get(hit.id)
    return device === undefined ? [] : [deviceCandidate(device, hit, wantsWrapper)]
  })
  const candidates = rankDevices(found, wantsWrapper)
  return { candidates, verdict: judgeDevices(candidates, wantsWrapper) }
}

/** `groupHint` keeps the events whose group contains it, as scored without it. */
export function resolveEvents(resolver: Resolver, query: string, groupHint = ''): Resolution<Candidate<ReceivedEvent>> {
  const hint = normalise(groupHint)
  const candidates = searchNames(resolver.eventNames, query)
    .flatMap((hit) => candidateOf(resolver.events.get(hit.id), hit))
    .filter((candidate) => normalise(candidate.target.group).includes(hint))
  return { candidates, verdict: judge(candidates) }
}

export function resolveCameras(resolver: Resolver, query: string): Resolution<Candidate<ReceivedCamera>> {
  const hits = searchNames(resolver.cameraNames, query)
  const candidates = hits.flatMap((hit) => candidateOf(resolver.cameras.get(hit.id), hit))
  return { candidates, verdict: judge(candidates) }
}

export interface WrapperWarning {
  readonly code: 'PARENT_OR_WRAPPER_TARGET'
  readonly message: string
  readonly resolvedRef: number
  readonly suggestedRef: number
}

/** When a wrapper was chosen although a better endpoint is among the candidates. */
export function wrapperWarning(
  chosen: DeviceCandidate,
  candidates: readonly DeviceCandidate[],
): WrapperWarning | undefined {
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

const WRAPPER_WORDS = new Set(['master', 'scene', 'parent', 'root'])
/** Scores this close say nothing about which of two devices was meant. */
const CLOSE = 0.12

function deviceCandidate(device: Device, hit: Hit, wantsWrapper: boolean): DeviceCandidate {
  const { relationship, parentRef, controls, capabilities, wrapper } = device
  const isPart = relationship === 4 || parentRef !== undefined
  const switches = capabilities.includes('on_off') || capabilities.includes('dimmer')
  const rank =
    (isPart ? 3 : 0) + (controls.length > 0 ? 3 : 0) + (switches ? 2 : 0) - (wrapper && !wantsWrapper ? 4 : 0)
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
 * An exact name that is no unwanted wrapper comes first whatever it can do. Of the others, each band of close scores, counted from
 * its best, is ordered by rank: closeness alone is not transitive, and an order must be.
 */
function rankDevices(found: readonly DeviceCandidate[], wantsWrapper: boolean): readonly DeviceCandidate[] {
  const isNamed = ({ match, actionability }: DeviceCandidate) =>
    match === 'exact' && (wantsWrapper || actionability.role === 'endpoint')
  const ranked = found.filter(isNamed).sort(byRank)
  const rest = found.filter((one) => !isNamed(one))
  for (let from = 0; from < rest.length;) {
    const top = rest[from]?.score ?? 0
    let to = from
    while (to < rest.length && top - (rest[to]?.score ?? 0) <= CLOSE) to++
    ranked.push(...rest.slice(from, to).sort(byRank))
    from = to
  }
  return ranked
}

function byRank(left: DeviceCandidate, right: DeviceCandidate): number {
  return (
    right.actionability.rank - left.actionability.rank ||
    right.score - left.score ||
    Number(right.evidence.origin === 'configuration') - Number(left.evidence.origin === 'configuration') ||
    left.target.ref - right.target.ref
  )
}

/** The root of the chosen feature, and wrappers beside it, are not other things that could be meant. */
function judgeDevices(candidates: readonly DeviceCandidate[], wantsWrapper: boolean): Verdict {
  const [first] = candidates
  if (first === undefined) return { kind: 'none' }
  const wraps = ({ target, actionability }: DeviceCandidate) =>
    actionability.role === 'wrapper_or_master' || target.ref === rootRef(first.target)
  if (first.match === 'exact' && !wantsWrapper && first.actionability.role === 'wrapper_or_master')
    return { kind: 'ask', reason: 'wrapper' }
  return judge([first, ...candidates.slice(1).filter((other) => wantsWrapper || !wraps(other))])
}

function judge(candidates: readonly Candidate<unknown>[]): Verdict {
  const [first, ...others] = candidates
  if (first === undefined) return { kind: 'none' }
  if (first.match !== 'exact') return { kind: 'ask', reason: first.evidence.lookAlike ? 'look-alike' : 'fuzzy' }
  if (others.some((other) => other.match === 'exact')) return { kind: 'ask', reason: 'several-exact' }
  // A second thing whose name only looks the same is there to be taken for the first.
  if (others.some((other) => other.evidence.lookAlike && other.score >= first.score - CLOSE))
    return { kind: 'ask', reason: 'look-alike' }
  return { kind: 'act' }
}

function candidateOf<Target>(target: Target | undefined, hit: Hit): readonly Candidate<Target>[] {
  return target === undefined ? [] : [candidate(target, hit)]
}

function candidate<Target>(target: Target, hit: Hit): Candidate<Target> {
  return {
    target,
    score: hit.score,
    confidence: confidenceOf(hit.score),
    match: hit.match,
    evidence: {
      matchedAlias: hit.alias.text,
      normalizedAlias: hit.normalizedAlias,
      origin: hit.alias.origin,
      lookAlike: hit.lookAlike,
    },
  }
}
