/**
 * Profile: a named subset of what is offered, served at `/mcp/<name>`, because 250 tools are too many for one list.
 *
 * Built in are `all`, `read`, `voice` and one per family; the configuration adds more. A profile is a view, not a permission:
 * the guard decides what a caller may do.
 */
import type { Effect, Offer } from '../bus/capability.ts'
import { matchesAnyPattern } from '../guard/name-pattern.ts'

export interface McpProfile {
  /** Names; `*` at the end stands for anything. */
  readonly include: readonly string[]
  readonly exclude: readonly string[]
  readonly effects?: readonly Effect[]
  readonly family?: string
}

export type McpProfilesByName = Readonly<Record<string, McpProfile>>

const EVERYTHING: McpProfile = { include: ['*'], exclude: [] }
/** For people who speak in a room: what can be asked and answered in one sentence. */
const VOICE: McpProfile = {
  include: [
    'announce',
    'approval',
    'attention',
    'changes',
    'heating_set',
    'home_find',
    'home_overview',
    'home_scene_run',
    'home_scenes',
    'home_set',
    'home_set_many',
    'home_state',
    'hot_water',
    'undo',
  ],
  exclude: [],
  family: 'home',
}
const BUILT_IN: McpProfilesByName = { all: EVERYTHING, read: { ...EVERYTHING, effects: ['reads'] }, voice: VOICE }

export function listProfileNames(configured: McpProfilesByName, families: Iterable<string>): readonly string[] {
  return [...new Set([...Object.keys(BUILT_IN), ...Object.keys(configured), ...families])]
}

/** `undefined` when there is no such profile. Built-in profiles cannot be redefined. */
export function findMcpProfile(
  name: string,
  configured: McpProfilesByName,
  families: ReadonlySet<string>,
): McpProfile | undefined {
  if (Object.hasOwn(BUILT_IN, name)) return BUILT_IN[name]
  if (Object.hasOwn(configured, name)) return configured[name]
  return families.has(name) ? { ...EVERYTHING, family: name } : undefined
}

export function isOfferInProfile(offer: Offer, profile: McpProfile): boolean {
  if (profile.effects !== undefined && !profile.effects.includes(offer.effect)) return false
  if (profile.family !== undefined && profile.family !== offer.family.name) return false
  return matchesAnyPattern(profile.include, offer.name) && !matchesAnyPattern(profile.exclude, offer.name)
}
