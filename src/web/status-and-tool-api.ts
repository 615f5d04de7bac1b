/**
 * Status and tool api: the node's status, its tools, and its measurements.
 *
 * Pure: it reads what it is given.
 */
import type { Offer } from '../bus/capability.ts'
import { formatCapabilityVersion } from '../bus/capability.ts'
import type { JsonObject } from '../core/json.ts'
import type { ToolView } from './api-requests.ts'
import { createRefusalResponse } from './api-context.ts'
import type { HonoApi, ApiOptions } from './api-context.ts'
import type { ToolSummaryView } from './views.ts'

export function addStatusAndToolRoutes(api: HonoApi, options: ApiOptions): void {
  const { bus, guard, status, settings, examine, history, profiles } = options
  api.get('/status', (context) => context.json(status()))
  api.get('/topology', (context) => context.json(bus.topologySnapshot()))
  api.get('/stats', (context) => context.json(bus.stats()))
  api.get('/settings', async (context) => context.json(await settings()))
  api.get('/doctor', async (context) => context.json({ findings: await examine() }))
  api.get('/history', (context) => {
    const ids = context.req.queries('id')
    return context.json(history.read(ids))
  })
  api.get('/tools', (context) => {
    const name = context.req.query('profile') ?? 'all'
    const all = profiles()
    const holds = all.get(name)
    if (holds === undefined)
      return createRefusalResponse(404, `There is no profile ${name}. hearthbus profiles lists them.`)
    const shown = bus
      .offers()
      .filter((offer) => offer.face.kind === 'tool' && guard.visible(context.var.caller, offer) && holds(offer))
    // Schemas are the largest part of a tool, and a list of tools does not need them.
    const view = context.req.query('brief') === undefined ? toolView : summaryView
    return context.json(shown.map((offer) => view(offer, profilesWith(all, offer))))
  })
  api.get('/tools/:name', (context) => {
    const offer = bus.offer(context.req.param('name'))
    if (offer?.face.kind !== 'tool' || !guard.visible(context.var.caller, offer))
      return createRefusalResponse(404, 'There is no such tool now.')
    return context.json(toolView(offer, profilesWith(profiles(), offer)))
  })
}

/** Descriptions of devices' tools may have any length. */
const BRIEF_CHARACTERS = 300

function profilesWith(all: ReturnType<ApiOptions['profiles']>, offer: Offer): readonly string[] {
  return [...all].flatMap(([profile, has]) => (has(offer) ? [profile] : []))
}

function summaryView(offer: Offer, profiles: readonly string[]): ToolSummaryView {
  const { name, title, description, effect, family } = offer
  return {
    name,
    title,
    description: description.slice(0, BRIEF_CHARACTERS).toWellFormed(),
    effect,
    family: family.name,
    profiles,
  }
}

function toolView(offer: Offer, profiles: readonly string[]): ToolView {
  return {
    name: offer.name,
    title: offer.title,
    description: offer.description,
    effect: offer.effect,
    family: offer.family.name,
    version: formatCapabilityVersion(offer.version),
    timeoutSeconds: offer.timeoutSeconds,
    idempotent: offer.idempotent,
    params: offer.params,
    profiles,
    inputSchema: offer.requestSchema as JsonObject,
  }
}
