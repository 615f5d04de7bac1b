/**
 * Catalogues: one per kind of caller and endpoint, kept until the bus offers something else.
 *
 * Pure, given its bus.
 */
import type { Offer } from '../bus/capability.ts'
import { canonicalJson } from '../core/json.ts'
import { buildCatalogue } from './catalogue.ts'
import type { Catalogue } from './catalogue.ts'
import type { FaceBus, Principal } from './face-bus.ts'
import type { NameStyle } from './names.ts'
import { findProfile } from './profile.ts'
import type { ProfileTable } from './profile.ts'

export interface CataloguesOptions {
  readonly bus: Pick<FaceBus, 'offers' | 'nodesOffering'>
  readonly profiles: ProfileTable
  /** Families whose profile exists even while they offer nothing, e.g. devices that are asleep. */
  readonly families: readonly string[]
}

/** Which door a caller came through: `/mcp/<profile>?names=<style>&node=<node>`; no profile is `/mcp` itself. */
export interface Door {
  readonly profile: string | undefined
  readonly style: NameStyle
  /** Everything through this door is for that node, by id or name. */
  readonly node?: string | undefined
}

export interface Catalogues {
  /** `no-such-profile` and `not-for-this-token` are answers, not mistakes. */
  readonly find: (principal: Principal, door: Door) => Catalogue | 'no-such-profile' | 'not-for-this-token'
  /** For a session that is open already: where its profile has gone since, the lists are empty. */
  readonly current: (principal: Principal, door: Door) => Catalogue
}

/** Tokens are few, so are their restrictions; the bound is for a caller who finds a way to make more. */
const MAX_KEPT = 64

export function createCatalogues({ bus, profiles, families }: CataloguesOptions): Catalogues {
  let builtFrom: readonly Offer[] | undefined
  let knownFamilies: ReadonlySet<string> = new Set()
  const kept = new Map<string, Catalogue>()

  const find: Catalogues['find'] = (principal, door) => {
    const offers = bus.offers()
    if (offers !== builtFrom) {
      builtFrom = offers
      knownFamilies = new Set([...families, ...offers.map(({ family }) => family.name)])
      kept.clear()
    }
    const key = keyOf(principal, door)
    const ready = kept.get(key)
    if (ready !== undefined) return ready

    const allowed = principal.restrictions?.profiles
    const { profile } = door
    if (profile !== undefined && findProfile(profile, profiles, knownFamilies) === undefined) return 'no-such-profile'
    if (profile !== undefined && allowed?.includes(profile) === false) return 'not-for-this-token'
    // `/mcp` shows a token narrowed to some profiles the union of them.
    const names = profile === undefined ? (allowed ?? ['all']) : [profile]
    const served = names.map((name) => findProfile(name, profiles, knownFamilies)).filter((each) => each !== undefined)

    const oldest = kept.keys().next()
    if (kept.size >= MAX_KEPT && oldest.done !== true) kept.delete(oldest.value)
    const made = buildCatalogue(door.node === undefined ? offers : bus.offers(door.node), {
      principal,
      profileName: names.join('+'),
      profiles: served,
      style: door.style,
      ...(door.node === undefined ? { nodesOffering: (name: string) => bus.nodesOffering(name) } : {}),
    })
    kept.set(key, made)
    return made
  }

  return {
    find,
    current: (principal, door) => {
      const found = find(principal, door)
      if (typeof found !== 'string') return found
      return buildCatalogue([], { principal, profileName: door.profile ?? '', profiles: [], style: door.style })
    },
  }
}

function keyOf({ role, restrictions }: Principal, { profile = '', style, node = '' }: Door): string {
  const narrowed = restrictions === undefined ? '' : canonicalJson(restrictions)
  return `${role} ${profile} ${style} ${narrowed} ${node}`
}
