/**
 * Catalogue: what one kind of caller sees in MCP's lists, built once from the bus's offers and asked often.
 *
 *   offers ──▶ visible to the principal ──▶ in the profile ──▶ spelt in the style ──▶ lists and finders
 *
 * Pure.
 */
import type { Effect, JsonSchema, Offer } from '../bus/capability.ts'
import { closest } from '../core/closest.ts'
import type { JsonObject } from '../core/json.ts'
import { nameBook } from './names.ts'
import type { NameBook, NameStyle } from './names.ts'
import { withPin } from './node-pin.ts'
import { paramHeaders } from './param-headers.ts'
import type { ParamHeader } from './param-headers.ts'
import { inProfile } from './profile.ts'
import type { Profile } from './profile.ts'
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
  const byKind = (kind: Offer['face']['kind']): readonly Offer[] => offers.filter((offer) => offer.face.kind === kind)
  const toolNames = nameBook(byKind('tool').map(({ name }) => name))
  const promptNames = nameBook(byKind('prompt').map(({ name }) => name))
  const served = (offer: Offer): boolean => view.profiles.some((profile) => inProfile(offer, profile))
  const shown = (offer: Offer): boolean => isVisible(offer, view.principal) && served(offer)

  const tools = new Map(byKind('tool').map((offer) => [offer.name, toolEntry(offer, served(offer))]))
  const prompts = new Map(
    byKind('prompt')
      .filter(shown)
      .map((offer) => [offer.name, offer]),
  )
  const resources = byKind('resource').filter(shown).flatMap(resourceEntry)
  const shownTools = byKind('tool').filter(shown)
  const listed = (name: string): string => toolNames.listed(name, view.style)
  const lists = listsOf(
    { tools: shownTools, prompts: [...prompts.values()], resources },
    {
      tool: listed,
      prompt: (name) => promptNames.listed(name, view.style),
      nodes: view.nodesOffering ?? (() => []),
    },
  )
  const names = new Set(offers.map(({ name }) => name))
  return {
    view,
    isOffered: (name) => names.has(name),
    list: (method) => lists[method](),
    canonicalTool: toolNames.canonical,
    listed,
    tool: (canonical) => tools.get(canonical),
    near: (given) => {
      // Dots for underscores are no slip of the pen: either spelling means the tool.
      const plain = (name: string): string => name.replaceAll('.', '_')
      const spelt = new Map(shownTools.map(({ name }) => [plain(name), listed(name)]))
      // Texts are short: they say registry.methods.list where the whole name is longer.
      const ending = [...spelt.keys()].filter((name) => name.endsWith(`_${plain(given)}`))
      const near = ending.length === 1 ? ending : closest(plain(given), spelt.keys())
      return near.map((name) => spelt.get(name) ?? name)
    },
    prompt: (given) => prompts.get(canonicalOr(promptNames, given)),
    resource: (uri) => findResource(resources, uri),
  }
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

/** A resource of exactly that URI goes before a template that would also fit. */
function findResource(entries: readonly ResourceEntry[], uri: string): ReturnType<Catalogue['resource']> {
  const fixed = entries.find((entry) => entry.template === undefined && entry.uri === uri)
  if (fixed !== undefined) return { offer: fixed.offer, body: {} }
  for (const { offer, template } of entries) {
    const body = template?.match(uri)
    if (body !== undefined) return { offer, body }
  }
  return undefined
}

function canonicalOr(book: NameBook, given: string): string {
  return book.canonical(given) ?? given
}

interface Spelling {
  readonly tool: (canonical: string) => string
  readonly prompt: (canonical: string) => string
  readonly nodes: (canonical: string) => readonly string[]
}

interface Shown {
  readonly tools: readonly Offer[]
  readonly prompts: readonly Offer[]
  readonly resources: readonly ResourceEntry[]
}

/** Made when first asked for: schemas are lazy, and most views never see most lists. */
function listsOf(
  { tools, prompts, resources }: Shown,
  spelling: Spelling,
): Readonly<Record<ListMethod, () => JsonObject>> {
  const fixed = resources.filter(({ template }) => template === undefined)
  const templates = resources.filter(({ template }) => template !== undefined)
  return {
    'tools/list': once(() => ({ tools: tools.map((offer) => listedTool(offer, spelling)) })),
    'prompts/list': once(() => ({ prompts: prompts.map((offer) => listedPrompt(offer, spelling.prompt(offer.name))) })),
    'resources/list': once(() => ({ resources: fixed.map((entry) => ({ uri: entry.uri, ...described(entry) })) })),
    'resources/templates/list': once(() => ({
      resourceTemplates: templates.map((entry) => ({ uriTemplate: entry.uri, ...described(entry) })),
    })),
  }
}

function listedTool(offer: Offer, { tool, nodes }: Spelling): JsonObject {
  return {
    name: tool(offer.name),
    title: offer.title,
    description: offer.description,
    inputSchema: withPin(objectSchema(offer.requestSchema), nodes(offer.name)),
    outputSchema: objectSchema(offer.family.outputSchema(offer)),
    annotations: annotationsOf(offer.effect, offer.idempotent),
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

/** MCP demands an object at the root of both schemas and wants it said. */
function objectSchema(schema: JsonSchema): JsonObject {
  return { type: 'object', ...(schema as JsonObject) }
}

/** Derived from the effect, never written by hand: hints cannot drift from what the guard enforces. */
export function annotationsOf(effect: Effect, idempotent: boolean): JsonObject {
  if (effect === 'reads') return { readOnlyHint: true, openWorldHint: false }
  // Records are only ever added; every other effect replaces a state of the house.
  return {
    readOnlyHint: false,
    destructiveHint: effect !== 'records',
    idempotentHint: idempotent,
    openWorldHint: false,
  }
}

function once<Value>(make: () => Value): () => Value {
  let made: Value | undefined
  return () => (made ??= make())
}
