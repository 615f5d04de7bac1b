/**
 * Help route: finds the calls that reach a goal, with arguments from this house: the device that is meant, its control,
 * the event with that name.
 *
 * Routes are ranked by how well the goal names a thing of that kind, and by words that belong to one kind only. If
 * nothing is named with certainty, the first route is a question.
 */
import type { Offer } from '../../bus/capability.ts'
import { listNormalisedWords } from '../resolve/name-normalisation.ts'
import { suggestToolArguments } from './suggested-call-arguments.ts'
import { isQuestionText } from './help-goal-parsing.ts'
import { listNamedTargetRoutes } from './help-named-target-routes.ts'
import { countGoalWordsOfKind, rateTool, roundScore } from './help-score.ts'
import { planChangeSteps } from './help-route-steps.ts'
import type { HelpRouteInput, HelpRouteSuggestion, HelpStep } from './help-route-steps.ts'

/** Routes with less are left out; `generic_diagnostics` starts above it, so there is always one. */
const LEAST = 0.2
const MAX_ROUTES = 5

/**
 * The first route is either the right one or a question. A change is only proposed for a thing with exactly the named
 * name; a question never leads to a change; anything that is not understood leads to a question with candidates.
 */
export function rankHelpRoutes(input: HelpRouteInput): readonly HelpRouteSuggestion[] {
  const words = new Set(listNormalisedWords(input.goal))
  const goal: HelpRouteInput = isQuestionText(input.goal) ? { ...input, mode: 'read_only' } : input
  const routes = listNamedTargetRoutes(goal, words)
  // The sort is stable: of equal confidence the more specific kind, which comes first, wins.
  return [...routes, ...toolRoutes(goal, words), diagnosticRoute(words)]
    .filter(({ confidence }) => confidence >= LEAST)
    .toSorted((left, right) => right.confidence - left.confidence)
    .slice(0, MAX_ROUTES)
}

/**
 * Tools whose title shares words with the goal, or that the goal names; none that changes anything if the route may
 * only read.
 */
function toolRoutes(input: HelpRouteInput, words: ReadonlySet<string>): readonly HelpRouteSuggestion[] {
  const { goal, mode, offers } = input
  return (
    offers
      .filter(({ face, effect }) => face.kind === 'tool' && (mode !== 'read_only' || effect === 'reads'))
      .map((offer) => ({ offer, share: rateTool(offer, goal, words) }))
      .filter(({ share }) => share >= LEAST)
      .toSorted((left, right) => right.share - left.share)
      // Two at most, so that tools do not displace the routes that are specific to this goal.
      .slice(0, 2)
      .map(({ offer, share }) => ({
        route: `tool:${offer.name}`,
        confidence: roundScore(share),
        steps: toolSteps(offer, input),
      }))
  )
}

/** A tool with the guard's claims is planned first; others are called directly. */
function toolSteps(offer: Offer, { goal, mode, resolver, plugins }: HelpRouteInput): readonly HelpStep[] {
  const args = suggestToolArguments(offer, goal, { resolver, plugins })
  const takes = (name: string): boolean => Object.hasOwn(offer.requestSchema['properties'] ?? {}, name)
  if (!takes('dryRun') || takes('execute')) return [{ tool: offer.name, argsTemplate: args }]
  const ticket = takes('changeTicket') ? { maintenanceWindowId: '<string>', changeTicket: '<string>' } : {}
  return planChangeSteps(offer.name, { ...args, ...ticket }, { mode, goal })
}

function diagnosticRoute(words: ReadonlySet<string>): HelpRouteSuggestion {
  return {
    route: 'generic_diagnostics',
    // Comes last unless the goal is a complaint, and then after a thing that is named well.
    confidence: roundScore(0.25 + 0.3 * Math.min(1, countGoalWordsOfKind(words, 'diagnose'))),
    steps: [
      { tool: 'hs4.health.get', argsTemplate: {} },
      { tool: 'hs4.selftest.run', argsTemplate: {} },
      { tool: 'hs4.audit.query', argsTemplate: { result: 'error', limit: 20 } },
    ],
  }
}
