/** Help tool: which calls reach a goal in this house. */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import { EMPTY_HOMESEER_DEVICE_CATALOG } from '../catalog/device-catalog-and-event-consequences.ts'
import { buildNameResolver } from '../resolve/name-resolver.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { createHomeseerOutcome, homeseerFamilyEnvelope, HOMESEER_READ_DEFAULTS } from './homeseer-envelope.ts'
import { rankHelpRoutes } from './help-route.ts'
import { HELP_STEP_MODES } from './help-route-steps.ts'
import { readCurrentResolver } from './resolve-tools.ts'
import { createTolerantInputSchema } from './homeseer-change.ts'

const NOTHING = buildNameResolver({ devices: EMPTY_HOMESEER_DEVICE_CATALOG, events: [], cameras: [], aliases: [] })

export function createHelpRouteTool(homeseer: HomeseerToolContext): Capability {
  return defineTool({
    ...HOMESEER_READ_DEFAULTS,
    name: 'hs4.help.route',
    title: 'How to reach a goal',
    description:
      'Says which tools to call, in which order and with which arguments, to reach a goal in this house. `mode` bounds what the route may contain.',
    input: createTolerantInputSchema({
      goal: z.string().min(3).max(500),
      mode: z.enum(HELP_STEP_MODES).default('dry_run'),
    }),
    output: z.looseObject({
      routes: z.array(
        z.looseObject({ rank: z.int(), route: z.string(), confidence: z.number(), steps: z.array(z.looseObject({})) }),
      ),
    }),
  }).handledBy(async ({ goal, mode }, call) => {
    const current = await readCurrentResolver(homeseer, call)
    // Without HomeSeer the answer is still useful: it says how to find the cause.
    const resolver = current.ok ? current.value.resolver : NOTHING
    // Only tools of this family, because the contract's help is about HomeSeer.
    const offers = homeseer.bus.offers().filter(({ family }) => family.name === homeseerFamilyEnvelope.name)
    const installed = await homeseer.catalog.plugins()
    const plugins = installed.ok ? [...new Set(installed.value.map(({ id }) => id))] : []
    const routes = rankHelpRoutes({ goal, mode, resolver, offers, plugins })
    return createHomeseerOutcome({
      goal,
      mode,
      routes: routes.map(({ route, confidence, steps, question, candidates }, index) => ({
        rank: index + 1,
        route,
        confidence,
        ...(question === undefined ? {} : { question, candidates: [...(candidates ?? [])] }),
        steps: steps.map((step) => ({ ...step })),
      })),
      ...(current.ok ? {} : { warnings: [current.fault.message] }),
    })
  })
}
