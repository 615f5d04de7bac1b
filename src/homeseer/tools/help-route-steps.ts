/**
 * Help suggestion: what is asked of the help, and what a route to the goal consists of.
 *
 * Pure.
 */
import type { Offer } from '../../bus/capability.ts'
import type { JsonObject } from '../../core/json.ts'
import type { NameResolver } from '../resolve/name-resolver.ts'
import { truncateText } from './json-text.ts'

/** What the steps of a route may do. */
export const HELP_STEP_MODES = ['read_only', 'dry_run', 'mutate'] as const

export interface HelpRouteSuggestion {
  readonly route: string
  readonly confidence: number
  readonly steps: readonly HelpStep[]
  /** The question to the user, if one has to be asked first. */
  readonly question?: string
  readonly candidates?: readonly JsonObject[]
}

export interface HelpStep {
  readonly tool: string
  readonly argsTemplate: JsonObject
}

export interface HelpRouteInput {
  readonly goal: string
  readonly mode: (typeof HELP_STEP_MODES)[number]
  readonly resolver: NameResolver
  readonly offers: readonly Offer[]
  /** Ids of the installed plug-ins. */
  readonly plugins: readonly string[]
}

/** Planning comes first; the real change comes last, and only if it was requested. */
export function planChangeSteps(
  tool: string,
  args: JsonObject,
  { mode, goal }: Pick<HelpRouteInput, 'mode' | 'goal'>,
): readonly HelpStep[] {
  const claims = { confirm: true, intent: truncateText(goal, 500), reason: truncateText(`Asked for: ${goal}`, 500) }
  const dry: HelpStep = { tool, argsTemplate: { ...args, dryRun: true } }
  if (mode === 'dry_run')
    return [dry, { tool: 'hs4.change.prepare', argsTemplate: { toolName: tool, args: { ...args, ...claims } } }]
  return [dry, { tool, argsTemplate: { ...args, ...claims } }]
}
