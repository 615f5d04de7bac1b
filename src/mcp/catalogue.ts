/**
 * Catalogue: what one kind of caller sees in MCP's lists, built once from the bus's offers and asked often.
 *
 *   offers ──▶ visible to the principal ──▶ in the profile ──▶ spelt in the style ──▶ lists and finders
 *
 * Each part is made when it is first asked for: while devices come and go there is a new catalogue for nearly every
 * call, and a call needs only one tool. There is one per kind of caller and endpoint, kept until the bus offers
 * something else.
 */
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { Offer } from '../bus/capability.ts'
import { findClosestNames } from '../core/closest-name.ts'
import { canonicalJson } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import type { FaceBus, FacePrincipal } from './face-bus.ts'
import { createListedTool } from './listed-tool.ts'
import { createToolNameMap } from './tool-name-map.ts'
import type { ToolNameStyle } from './tool-name-map.ts'
import { listParamMirrorHeaders } from './mcp-request.ts'
import type { McpListMethod, ParamMirrorHeader } from './mcp-request.ts'
import { findMcpProfile, isOfferInProfile } from './profile.ts'
import type { McpProfile, McpProfilesByName } from './profile.ts'
import { isUriTemplate, parseUriTemplate } from './uri-template.ts'
import type { UriTemplate } from './uri-template.ts'
import { isOfferVisible } from './offer-visibility.ts'
import type { ViewerRights } from './offer-visibility.ts'

/** Everything that the content of a list depends on. */
export interface McpCatalogueCriteria {
  readonly principal: ViewerRights
  /** The endpoint's name; only recorded. */
  readonly profileName: string
  /** More than one when a token is restricted to several: then their union. */
  readonly profiles: readonly McpProfile[]
  readonly style: ToolNameStyle
  /** The list of everything is short; lists of a part are complete. */
  readonly isSlim?: boolean
  /** The nodes that offer a tool; where there are several, its arguments include one that names the node. */
  readonly nodesOffering?: (name: string) => readonly string[]
}

export interface McpCatalogue {
  readonly view: McpCatalogueCriteria
  readonly list: (method: McpListMethod) => JsonObject
  /** Whether anything on the bus has this name, of whatever kind and for whichever caller. */
  readonly isOffered: (name: string) => boolean
  /** The canonical name behind either spelling, whether this view shows it or not. */
  readonly canonicalTool: (given: string) => string | undefined
  /** A tool's name as this view spells it, whether its list has it or not. */
  readonly listed: (canonical: string) => string
  readonly tool: (canonical: string) => ToolEntry | undefined
  /** Whether this view lists the tool. */
  readonly hasTool: (canonical: string) => boolean
  /** Tools of this view with a name similar to an unknown one, as its list spells them. */
  readonly near: (given: string) => readonly string[]
  readonly prompt: (given: string) => Offer | undefined
  readonly resource: (uri: string) => { readonly offer: Offer; readonly body: JsonObject } | undefined
}

interface ToolEntry {
  readonly offer: Offer
  readonly inProfile: boolean
  readonly headers: readonly ParamMirrorHeader[]
}

export function buildMcpCatalogue(offers: readonly Offer[], view: McpCatalogueCriteria): McpCatalogue {
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
    // Most callers use the canonical name, which needs no translation.
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
    hasTool: (canonical) => {
      const offer = byName().get(canonical)
      return offer?.face.kind === 'tool' && shown(offer) && !isUnlisted(offer)
    },
    near: (given) => {
      // Dots instead of underscores are not a mistake: either spelling means the tool.
      const plain = (name: string): string => name.replaceAll('.', '_')
      const listedNames = new Map(shownTools().map(({ name }) => [plain(name), listed(name)]))
      // Our texts use short names such as registry.methods.list, so a name also matches by its ending.
      const ending = [...listedNames.keys()].filter((name) => name.endsWith(`_${plain(given)}`))
      const near = ending.length === 1 ? ending : findClosestNames(plain(given), listedNames.keys())
      return near.map((name) => listedNames.get(name) ?? name)
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
  let headers: readonly ParamMirrorHeader[] | undefined
  return {
    offer,
    inProfile: isInProfile,
    get headers() {
      return (headers ??= listParamMirrorHeaders(offer.requestSchema))
    },
  }
}

interface ResourceEntry {
  readonly offer: Offer
  readonly uri: string
  readonly mimeType: string
  readonly template: UriTemplate | undefined
}

/** Empty where another node's template cannot be parsed: everything else is listed all the same. */
function resourceEntry(offer: Offer): readonly ResourceEntry[] {
  if (offer.face.kind !== 'resource') return []
  const { uri, mimeType } = offer.face
  if (!isUriTemplate(uri)) return [{ offer, uri, mimeType, template: undefined }]
  const template = parseUriTemplate(uri)
  return template === undefined ? [] : [{ offer, uri, mimeType, template }]
}

/** Longer ones are refused: a template would match any of them, and subscribed ones are stored. */
export const MAX_RESOURCE_URI_LENGTH = 2_048

/** A resource with exactly that URI takes precedence over a template that would also match. */
function findResource(entries: readonly ResourceEntry[], uri: string): ReturnType<McpCatalogue['resource']> {
  if (uri.length > MAX_RESOURCE_URI_LENGTH) return undefined
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

/** Created on the first request: schemas are lazy, and most views never need most lists. */
function listsOf(
  { tools, prompts, resources }: Shown,
  { tool, prompt, nodes, isSlim }: Spelling,
): Readonly<Record<McpListMethod, () => JsonObject>> {
  const fixed = (): readonly ResourceEntry[] => resources().filter(({ template }) => template === undefined)
  const templates = (): readonly ResourceEntry[] => resources().filter(({ template }) => template !== undefined)
  return {
    'tools/list': once(() => ({
      tools: tools().map((offer) => createListedTool(offer, tool(offer.name), nodes(offer.name), isSlim)),
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

export interface McpCatalogueSources {
  readonly bus: Pick<FaceBus, 'offers' | 'nodesOffering'>
  readonly profiles: McpProfilesByName
  /** Families whose profile exists even while they offer nothing, e.g. devices that are asleep. */
  readonly families: readonly string[]
}

/** The endpoint that a caller uses: `/mcp/<profile>?names=<style>&node=<node>`; no profile is `/mcp` itself. */
export interface McpEndpointScope {
  readonly profile: string | undefined
  readonly style: ToolNameStyle
  /** Every call through this endpoint is for that node, by id or name. */
  readonly node?: string | undefined
}

export interface McpCatalogueCache {
  /** `no-such-profile` and `not-for-this-token` are regular results. */
  readonly find: (
    principal: FacePrincipal,
    scope: McpEndpointScope,
  ) => McpCatalogue | 'no-such-profile' | 'not-for-this-token'
  /** For an open session: if its profile no longer exists, the lists are empty. */
  readonly current: (principal: FacePrincipal, scope: McpEndpointScope) => McpCatalogue
}

/** Tokens and their restrictions are few; the limit is for a caller who finds a way to create more. */
const MAX_CACHED = 64

export function createMcpCatalogueCache({ bus, profiles, families }: McpCatalogueSources): McpCatalogueCache {
  let builtFrom: readonly Offer[] | undefined
  let knownFamilies: ReadonlySet<string> = new Set()
  const cached = new Map<string, McpCatalogue>()

  const find: McpCatalogueCache['find'] = (principal, scope) => {
    const offers = bus.offers()
    if (offers !== builtFrom) {
      builtFrom = offers
      knownFamilies = new Set([...families, ...offers.map(({ family }) => family.name)])
      cached.clear()
    }
    const key = keyOf(principal, scope)
    const ready = cached.get(key)
    if (ready !== undefined) return ready

    const allowed = principal.restrictions?.profiles
    const { profile } = scope
    if (profile !== undefined && findMcpProfile(profile, profiles, knownFamilies) === undefined)
      return 'no-such-profile'
    if (profile !== undefined && allowed?.includes(profile) === false) return 'not-for-this-token'
    // `/mcp` shows a token that is restricted to some profiles their union.
    const names = profile === undefined ? (allowed ?? ['all']) : [profile]
    const served = names
      .map((name) => findMcpProfile(name, profiles, knownFamilies))
      .filter((each) => each !== undefined)

    const oldest = cached.keys().next()
    if (cached.size >= MAX_CACHED && oldest.done !== true) cached.delete(oldest.value)
    const made = buildMcpCatalogue(scope.node === undefined ? offers : bus.offers(scope.node), {
      principal,
      profileName: names.join('+'),
      isSlim: names.includes('all'),
      profiles: served,
      style: scope.style,
      ...(scope.node === undefined ? { nodesOffering: (name: string) => bus.nodesOffering(name) } : {}),
    })
    cached.set(key, made)
    return made
  }

  return {
    find,
    current: (principal, scope) => {
      const found = find(principal, scope)
      if (typeof found !== 'string') return found
      return buildMcpCatalogue([], { principal, profileName: scope.profile ?? '', profiles: [], style: scope.style })
    },
  }
}

function keyOf({ role, restrictions }: FacePrincipal, { profile = '', style, node = '' }: McpEndpointScope): string {
  const narrowed = restrictions === undefined ? '' : canonicalJson(restrictions)
  return `${role} ${profile} ${style} ${narrowed} ${node}`
}

/** Computed on the first call, and cached. */
function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => (made ??= { value: make() }).value
}

//   /mcp            everything that the caller may see        ?names=underscore   spelt without dots
//   /mcp/<profile>  the subset of that name                   ?node=<id or name>  what that node offers, called there

const PATH = /^\/mcp(?:\/(?<profile>[a-z0-9][a-z0-9-]{0,31}))?\/?$/

const NODE = /^[^\s\p{C}](?:[^\p{C}]{0,126}[^\s\p{C}])?$/u

export function parseMcpEndpoint(
  url: string,
): Result<McpEndpointScope, { readonly status: number; readonly message: string }> {
  const mark = url.indexOf('?')
  const found = PATH.exec(mark === -1 ? url : url.slice(0, mark))
  if (found === null) return fail({ status: 404, message: 'MCP lives at /mcp and /mcp/<profile>.' })
  const profile = found.groups?.['profile']
  if (mark === -1) return ok({ profile, style: 'dots' })
  const query = new URLSearchParams(url.slice(mark))
  const [names, node] = [query.get('names'), query.get('node')]
  if (names !== null && names !== 'dots' && names !== 'underscore')
    return fail({ status: 400, message: 'names is "dots" (the default) or "underscore".' })
  if (node !== null && !NODE.test(node)) return fail({ status: 400, message: 'node is the id or the name of a node.' })
  const scope: McpEndpointScope = { profile, style: names ?? 'dots' }
  return ok(node === null ? scope : { ...scope, node })
}
