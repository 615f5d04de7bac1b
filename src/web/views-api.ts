/**
 * Views of the API: how the node is, what it can do, and what it measured.
 *
 * Pure: it reads what it is given.
 */
import type { Offer } from '../bus/capability.ts'
import { versionText } from '../bus/capability.ts'
import type { JsonObject } from '../core/json.ts'
import type { ToolView } from './api.ts'
import { refusal } from './api-context.ts'
import type { Api, ApiOptions } from './api-context.ts'

export function addViews(api: Api, options: ApiOptions): void {
  const { bus, guard, status, settings, history, profiles } = options
  api.get('/status', (context) => context.json(status()))
  api.get('/topology', (context) => context.json(bus.topologySnapshot()))
  api.get('/stats', (context) => context.json(bus.stats()))
  api.get('/settings', async (context) => context.json(await settings()))
  api.get('/history', (context) => {
    const ids = context.req.queries('id')
    return context.json(history.read(ids))
  })
  api.get('/tools', (context) => {
    const name = context.req.query('profile') ?? 'all'
    const all = profiles()
    const holds = all.get(name)
    if (holds === undefined) return refusal(404, `There is no profile ${name}.`)
    const shown = bus
      .offers()
      .filter((offer) => offer.face.kind === 'tool' && guard.visible(context.var.caller, offer) && holds(offer))
    return context.json(
      shown.map((offer) =>
        toolView(
          offer,
          [...all].flatMap(([profile, has]) => (has(offer) ? [profile] : [])),
        ),
      ),
    )
  })
}

function toolView(offer: Offer, profiles: readonly string[]): ToolView {
  return {
    name: offer.name,
    title: offer.title,
    description: offer.description,
    effect: offer.effect,
    family: offer.family.name,
    version: versionText(offer.version),
    timeoutSeconds: offer.timeoutSeconds,
    idempotent: offer.idempotent,
    params: offer.params,
    profiles,
    inputSchema: offer.requestSchema as JsonObject,
  }
}
