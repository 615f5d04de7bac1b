/**
 * Catalogue: what one kind of caller sees in MCP's lists, built once from the bus's offers and asked often.
 *
 *   offers ──▶ visible to the principal ──▶ in the profile ──▶ spelt in the style ──▶ lists and finders
 *
 * Each part is made when it is first asked for: while devices come and go there is a new catalogue for nearly every call,
 * and a call wants to know one tool. There is one per kind of caller and endpoint, kept until the bus offers something
 * else.
 *
 * Pure, given its bus.
 */
import type { Offer } from '../bus/capability.ts'
import { closest } from '../core/closest.ts'
import { canonicalJson } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import type { FaceBus, Principal } from './face-bus.ts'
import { listedTool } from './listed-tool.ts'
import { nameBook } from './names.ts'
import type { NameStyle } from './names.ts'
import { once } from './once.ts'
import { paramHeaders } from './modern-request.ts'
import type { ParamHeader } from './modern-request.ts'
import { findProfile, inProfile } from './profile.ts'
import type { Profile, ProfileTable } from './profile.ts'
import { isTemplate, uriTemplate } from './uri-template.ts'
import type { UriTemplate } from './uri-template.ts'
import { isVisible } from './visibility.ts'
import type { Standing } from './visibility.ts'

/** Everything that a list may depend on. */
export interface View {
  readonly principal: Standing
  /** The endpoint's name, for the record. */
  readonly profileName: string
  /** More than one when a token is narrowed to several: then their union. */
  readonly profiles: readonly Profile[]
  readonly style: NameStyle
  /** The list of everything is short; a part of it is complete. */
  readonly isSlim?: boolean
  /** Who offers a tool; where there are several, its arguments show how to name one. */
  readonly nodesOffering?: (name: string) => readonly string[]
}

export const LIST_METHODS = ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'] as const
export type ListMethod = (typeof LIST_METHODS)[number]

export interface Catalogue {
  readonly view: View
  readonly list: (method: ListMethod) => JsonObject
  /** Whether anything on the bus is called so, of whatever kind and for whomever. */
  readonly isOffered: (name: string) => boolean
  /** The canonical name behind either spelling, whether this view shows it or not. */
  readonly canonicalTool: (given: string) => string | undefined
  /** A tool's name as this view spells it, whether its list has it or not. */
  readonly listed: (canonical: string) => string
  readonly tool: (canonical: string) => ToolEntry | undefined
  /** Tools of this view that may have been meant by an unknown name, as its list spells them. */
  readonly near: (given: string) => readonly string[]
  readonly prompt: (given: string) => Offer | undefined
  readonly resource: (uri: string) => { readonly offer: Offer; readonly body: JsonObject } | undefined
}

interface ToolEntry {
  readonly offer: Offer
  readonly inProfile: boolean
  readonly headers: readonly ParamHeader[]
}

export function buildCatalogue(offers: readonly Offer[], view: View): Catalogue {
  const byName = once(() => new Map(offers.map((offer) => [offer.name, offer])))
  const ofKind = (kind: Offer['face']['kind']): (() => readonly Offer[]) =>
    once(() => offers.filter((offer) => offer.face.kind === kind))
  const [tools, allPrompts, allResources] = [ofKind('tool'), ofKind('prompt'), ofKind('resource')]
  const toolNames = once(() => nameBook(tools().map(({ name }) => name)))
  const promptNames = once(() => nameBook(allPrompts().map(({ name }) => name)))
  const served = (offer: Offer): boolean => view.profiles.some((profile) => inProfile(offer, profile))
  const shown = (offer: Offer): boolean => isVisible(offer, view.principal) && served(offer)

  const shownTools = once(() => tools().filter((offer) => shown(offer) && !isUnlisted(offer)))
  const prompts = once(() => allPrompts().filter(shown))
  const resources = once(() => allResources().filter(shown).flatMap(resourceEntry))
  const listed = (name: string): string => toolNames().listed(name, view.style)
  const lists = listsOf(
    { tools: shownTools, prompts, resources },
    {
      tool: listed,
      prompt: (name) => promptNames().listed(name, view.style),
      nodes: view.nodesOffering ?? (() => []),
      isSlim: view.isSlim ?? false,
    },
  )
  const entries = new Map<string, ToolEntry>()
  return {
    view,
    isOffered: (name) => byName().has(name),
    list: (method) => lists[method](),
    canonicalTool: (given) => toolNames().canonical(given),
    listed,
    tool: (canonical) => {
      const known = entries.get(canonical)
      if (known !== undefined) return known
      const offer = byName().get(canonical)
      if (offer?.face.kind !== 'tool') return undefined
      const entry = toolEntry(offer, served(offer))
      entries.set(canonical, entry)
      return entry
    },
    near: (given) => {
      // Dots for underscores are no slip of the pen: either spelling means the tool.
      const plain = (name: string): string => name.replaceAll('.', '_')
      const spelt = new Map(shownTools().map(({ name }) => [plain(name), listed(name)]))
      // Texts are short: they say registry.methods.list where the whole name is longer.
      const ending = [...spelt.keys()].filter((name) => name.endsWith(`_${plain(given)}`))
      const near = ending.length === 1 ? ending : closest(plain(given), spelt.keys())
      return near.map((name) => spelt.get(name) ?? name)
    },
    prompt: (given) => {
      const name = promptNames().canonical(given) ?? given
      return prompts().find((offer) => offer.name === name)
    },
    resource: (uri) => findResource(resources(), uri),
  }
}

function isUnlisted({ face }: Offer): boolean {
  return face.kind === 'tool' && face.unlisted === true
}

function toolEntry(offer: Offer, isInProfile: boolean): ToolEntry {
  let headers: readonly ParamHeader[] | undefined
  return {
    offer,
    inProfile: isInProfile,
    get headers() {
      return (headers ??= paramHeaders(offer.requestSchema))
    },
  }
}

interface ResourceEntry {
  readonly offer: Offer
  readonly uri: string
  readonly mimeType: string
  readonly template: UriTemplate | undefined
}

/** None where the template is another node's and not understood here: everything else is listed all the same. */
function resourceEntry(offer: Offer): readonly ResourceEntry[] {
  if (offer.face.kind !== 'resource') return []
  const { uri, mimeType } = offer.face
  if (!isTemplate(uri)) return [{ offer, uri, mimeType, template: undefined }]
  const template = uriTemplate(uri)
  return template === undefined ? [] : [{ offer, uri, mimeType, template }]
}

/** Longer ones mean nothing: a template would fit any, and who subscribes to one has it kept. */
export const MAX_URI = 2_048

/** A resource of exactly that URI goes before a template that would also fit. */
function findResource(entries: readonly ResourceEntry[], uri: string): ReturnType<Catalogue['resource']> {
  if (uri.length > MAX_URI) return undefined
  const fixed = entries.find((entry) => entry.template === undefined && entry.uri === uri)
  if (fixed !== undefined) return { offer: fixed.offer, body: {} }
  for (const { offer, template } of entries) {
    const body = template?.match(uri)
    if (body !== undefined) return { offer, body }
  }
  return undefined
}

interface Spelling {
  readonly tool: (canonical: string) => string
  readonly prompt: (canonical: string) => string
  readonly nodes: (canonical: string) => readonly string[]
  readonly isSlim: boolean
}

interface Shown {
  readonly tools: () => readonly Offer[]
  readonly prompts: () => readonly Offer[]
  readonly resources: () => readonly ResourceEntry[]
}

/** Made when first asked for: schemas are lazy, and most views never see most lists. */
function listsOf(
  { tools, prompts, resources }: Shown,
  { tool, prompt, nodes, isSlim }: Spelling,
): Readonly<Record<ListMethod, () => JsonObject>> {
  const fixed = (): readonly ResourceEntry[] => resources().filter(({ template }) => template === undefined)
  const templates = (): readonly ResourceEntry[] => resources().filter(({ template }) => template !== undefined)
  return {
    'tools/list': once(() => ({
      tools: tools().map((offer) => listedTool(offer, tool(offer.name), nodes(offer.name), isSlim)),
    })),
    'prompts/list': once(() => ({ prompts: prompts().map((offer) => listedPrompt(offer, prompt(offer.name))) })),
    'resources/list': once(() => ({ resources: fixed().map((entry) => ({ uri: entry.uri, ...described(entry) })) })),
    'resources/templates/list': once(() => ({
      resourceTemplates: templates().map((entry) => ({ uriTemplate: entry.uri, ...described(entry) })),
    })),
  }
}

function listedPrompt(offer: Offer, name: string): JsonObject {
  const wanted = offer.face.kind === 'prompt' ? offer.face.arguments : []
  return {
    name,
    title: offer.title,
    description: offer.description,
    arguments: wanted.map(({ name, description, required }) => ({ name, description, required })),
  }
}

function described({ offer, mimeType }: ResourceEntry): JsonObject {
  return { name: offer.name, title: offer.title, description: offer.description, mimeType }
}

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
      isSlim: names.includes('all'),
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
