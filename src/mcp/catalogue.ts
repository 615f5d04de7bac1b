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
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { Offer } from '../bus/capability.ts'
import { findClosest } from '../core/closest-name.ts'
import { canonicalJson } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import type { FaceBus, FacePrincipal } from './face-bus.ts'
import { listedTool } from './listed-tool.ts'
import { createToolNameMap } from './tool-name-map.ts'
import type { NameStyle } from './tool-name-map.ts'
import { listParamHeaders } from './request.ts'
import type { ListMethod, ParamHeader } from './request.ts'
import { findProfile, isOfferInProfile } from './profile.ts'
import type { McpProfile, ProfileTable } from './profile.ts'
import { isTemplate, uriTemplate } from './uri-template.ts'
import type { UriTemplate } from './uri-template.ts'
import { isOfferVisible } from './visibility.ts'
import type { ViewerStanding } from './visibility.ts'

/** Everything that a list may depend on. */
export interface CatalogueView {
  readonly principal: ViewerStanding
  /** The endpoint's name, for the record. */
  readonly profileName: string
  /** More than one when a token is narrowed to several: then their union. */
  readonly profiles: readonly McpProfile[]
  readonly style: NameStyle
  /** The list of everything is short; a part of it is complete. */
  readonly isSlim?: boolean
  /** Who offers a tool; where there are several, its arguments show how to name one. */
  readonly nodesOffering?: (name: string) => readonly string[]
}

export interface McpCatalogue {
  readonly view: CatalogueView
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

export function buildCatalogue(offers: readonly Offer[], view: CatalogueView): McpCatalogue {
  const byName = once(() => new Map(offers.map((offer) => [offer.name, offer])))
  const ofKind = (kind: Offer['face']['kind']): (() => readonly Offer[]) =>
    once(() => offers.filter((offer) => offer.face.kind === kind))
  const [tools, allPrompts, allResources] = [ofKind('tool'), ofKind('prompt'), ofKind('resource')]
  const toolNames = once(() => createToolNameMap(tools().map(({ name }) => name)))
  const promptNames = once(() => createToolNameMap(allPrompts().map(({ name }) => name)))
  const served = (offer: Offer): boolean => view.profiles.some((profile) => isOfferInProfile(offer, profile))
  const shown = (offer: Offer): boolean => isOfferVisible(offer, view.principal) && served(offer)

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
    // Most callers say the name that a tool really has: nothing has to be spelt for them.
    canonicalTool: (given) => (byName().get(given)?.face.kind === 'tool' ? given : toolNames().canonical(given)),
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
      const near = ending.length === 1 ? ending : findClosest(plain(given), spelt.keys())
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
      return (headers ??= listParamHeaders(offer.requestSchema))
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
export const MAX_URI_LENGTH = 2_048

/** A resource of exactly that URI goes before a template that would also fit. */
function findResource(entries: readonly ResourceEntry[], uri: string): ReturnType<McpCatalogue['resource']> {
  if (uri.length > MAX_URI_LENGTH) return undefined
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
export interface EndpointScope {
  readonly profile: string | undefined
  readonly style: NameStyle
  /** Everything through this door is for that node, by id or name. */
  readonly node?: string | undefined
}

export interface CatalogueCache {
  /** `no-such-profile` and `not-for-this-token` are answers, not mistakes. */
  readonly find: (
    principal: FacePrincipal,
    door: EndpointScope,
  ) => McpCatalogue | 'no-such-profile' | 'not-for-this-token'
  /** For a session that is open already: where its profile has gone since, the lists are empty. */
  readonly current: (principal: FacePrincipal, door: EndpointScope) => McpCatalogue
}

/** Tokens are few, so are their restrictions; the bound is for a caller who finds a way to make more. */
const MAX_KEPT = 64

export function createCatalogueCache({ bus, profiles, families }: CataloguesOptions): CatalogueCache {
  let builtFrom: readonly Offer[] | undefined
  let knownFamilies: ReadonlySet<string> = new Set()
  const kept = new Map<string, McpCatalogue>()

  const find: CatalogueCache['find'] = (principal, door) => {
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

function keyOf({ role, restrictions }: FacePrincipal, { profile = '', style, node = '' }: EndpointScope): string {
  const narrowed = restrictions === undefined ? '' : canonicalJson(restrictions)
  return `${role} ${profile} ${style} ${narrowed} ${node}`
}

/** Made when it is first asked for, and kept. */
function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => (made ??= { value: make() }).value
}

//   /mcp            everything that the caller may see        ?names=underscore   spelt without dots
//   /mcp/<profile>  the subset of that name                   ?node=<id or name>  what that node offers, called there

const PATH = /^\/mcp(?:\/(?<profile>[a-z0-9][a-z0-9-]{0,31}))?\/?$/

const NODE = /^[^\s\p{C}](?:[^\p{C}]{0,126}[^\s\p{C}])?$/u

export function parseEndpoint(
  url: string,
): Result<EndpointScope, { readonly status: number; readonly message: string }> {
  const mark = url.indexOf('?')
  const found = PATH.exec(mark === -1 ? url : url.slice(0, mark))
  if (found === null) return fail({ status: 404, message: 'MCP lives at /mcp and /mcp/<profile>.' })
  const query = new URLSearchParams(mark === -1 ? '' : url.slice(mark))
  const [names, node] = [query.get('names'), query.get('node')]
  if (names !== null && names !== 'dots' && names !== 'underscore')
    return fail({ status: 400, message: 'names is "dots" (the default) or "underscore".' })
  if (node !== null && !NODE.test(node)) return fail({ status: 400, message: 'node is the id or the name of a node.' })
  const door: EndpointScope = { profile: found.groups?.['profile'], style: names ?? 'dots' }
  return ok(node === null ? door : { ...door, node })
}
