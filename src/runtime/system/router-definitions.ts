/**
 * Router definitions: the tools that show how calls find their provider (spec 5 § 6.3 names them), using the bus's own
 * router, so that they show what the next call will get.
 */
import { z } from 'zod'
import { DELEGATING_CHANGE_STEPS } from '../../bus/capability-definition.ts'
import { runtimeFamilyEnvelope } from '../runtime-envelope.ts'
import { defineRuntimeTool, addFailurePatternToDescription } from '../runtime-tool.ts'
import { createIdArgument, createTextArgument } from '../text-arguments.ts'

/** No longer than a message of llm.chat can be in practice. */
const MAX_PROMPT_LENGTH = 100_000

/** The original's arguments. Only the preference counts, because providers publish nothing about the others. */
const promptContext = z.strictObject({
  task: z
    .strictObject({
      domain: createIdArgument().exactOptional(),
      tokens: z.int().min(0).exactOptional(),
      deadline_ms: z.int().min(0).exactOptional(),
      skill: z.array(createIdArgument()).max(64).exactOptional(),
    })
    .exactOptional(),
  operatorPreference: z
    .record(createIdArgument(), z.number().min(0).max(1))
    .exactOptional()
    .describe('By model, 0 to 1.'),
})

/** The arguments by which a call is routed, for resolving and for calling. */
const target = {
  capability: createIdArgument().exactOptional().describe('Its name, as bus_topology shows it. This or `prompt`.'),
  prompt: createTextArgument(MAX_PROMPT_LENGTH)
    .exactOptional()
    .describe('For a language model, which is chosen by its score.'),
  context: promptContext.exactOptional().describe('Goes with `prompt`.'),
  version: z
    .string()
    .regex(/^\d{1,6}\.\d{1,6}$/, 'major.minor')
    .exactOptional()
    .describe('At least this minor of this major; any, unless told.'),
  arguments: z.record(z.string(), z.json()).default({}).describe('What the capability is called with.'),
  node: createIdArgument().exactOptional().describe('Only this node, by id or name.'),
}

const provider = {
  node_id: z.string(),
  version: z.string(),
  instance_id: z.string(),
  is_local: z.boolean(),
}

function checkTarget({
  value,
  issues,
}: z.core.ParsePayload<{ capability?: string; prompt?: string; context?: unknown }>): void {
  const refuse = (path: string, message: string): void => {
    issues.push({ code: 'custom', input: value, path: [path], message })
  }
  if (value.capability === undefined && value.prompt === undefined) refuse('capability', 'or `prompt` is needed')
  if (value.capability !== undefined && value.prompt !== undefined) refuse('prompt', 'given beside `capability`')
  if (value.context !== undefined && value.prompt === undefined) refuse('context', 'goes with `prompt`')
}

export const routerScoreTool = defineRuntimeTool({
  name: 'router_score',
  title: 'Who would take a call',
  description:
    'Scores every provider of a capability as the router does, without calling any: `score` is the formula of spec 2 § 5.4 and `cost_ms` the measured latency times load, lower is better for both. `winner` is who would get the call now; if nobody would, `refusal` says why. With `prompt` it scores the language models instead, from 0 to 1 by success, speed, room and preference.',
  input: z.strictObject(target).check(checkTarget),
  output: z.object({
    capability: z.string(),
    scores: z.union([
      z.record(z.string(), z.number()).describe('Of a prompt: by model.'),
      z.array(
        z.object({
          ...provider,
          score: z.number(),
          cost_ms: z.number(),
          viable: z.boolean(),
          reasons: z.array(z.string()).describe('Why it would not be chosen.'),
          in_flight: z.int(),
          max_concurrent: z.int(),
          success_rate: z.number(),
          p50_ms: z.number(),
        }),
      ),
    ]),
    winner: z.union([z.string(), z.object(provider)]).nullable(),
    rule_version_hash: z.string().exactOptional().describe('Of a prompt: SHA-256 of the rules it was scored by.'),
    refusal: z.string().exactOptional(),
  }),
  effect: 'reads',
})

export const routerCallDefinition = {
  name: 'router_call',
  title: 'Call any capability',
  description: addFailurePatternToDescription(
    'router_call',
    'Calls a capability by name through the router, on this node or a peer, in your own name: the same rights, approvals, limits and records apply as if you had called it directly. For capabilities that are not in your tool list, or to choose the node. With `prompt` it asks the language models in the order of their scores until one answers; if none does, FallbackChainExhaustedError lists the attempts.',
  ),
  input: z
    .strictObject({
      ...target,
      session_id: createIdArgument()
        .exactOptional()
        .describe('Calls with one session go to one provider while it is there.'),
      // Never longer than the tool's own deadline, which is as long.
      timeout_ms: z.int().min(1).max(600_000).exactOptional(),
    })
    .check(checkTarget),
  output: z.object({
    capability: z.string(),
    served_by: z.string().nullable().describe('The node that answered.'),
    model: z.string().exactOptional().describe('Of a prompt: who answered.'),
    attempts: z.array(z.object({ model: z.string(), code: z.string(), message: z.string() })).exactOptional(),
    data: z.unknown(),
  }),
  // The strongest effect of the calls that it makes, so that clients ask before they run it. The tool itself only makes
  // a further call.
  effect: 'writes',
  idempotent: false,
  family: runtimeFamilyEnvelope,
  timeoutSeconds: 600,
  ...DELEGATING_CHANGE_STEPS,
  // The nested call records these arguments, because its tool declares which of them are secret.
  secrets: ['arguments', 'data', 'prompt'],
} as const

export const routerFallbackTool = defineRuntimeTool({
  name: 'router_fallback',
  title: 'Providers that are left alone',
  description:
    'Shows which providers failed so often that the router leaves them alone, for how long, and who is left instead. With `reset` it forgets the failures of the providers named, so that they get calls again at once.',
  input: z.strictObject({
    capability: createIdArgument().exactOptional(),
    node: createIdArgument().exactOptional().describe('Only this node, by id or name.'),
    reset: z.boolean().default(false),
  }),
  output: z.object({
    providers: z.array(
      z.object({
        ...provider,
        name: z.string(),
        // Spec 2 § 5.7: quarantined for a time, then one call is the probe that decides.
        state: z.enum(['trusted', 'quarantined', 'probe_due']),
        quarantined_for_ms: z.number(),
        ejections: z.int(),
        success_rate: z.number(),
        samples: z.int(),
      }),
    ),
    omitted: z.int().describe('Further providers, not listed.'),
    reset_count: z.int(),
  }),
  effect: 'records',
  assess: ({ reset }) => ({ effect: reset ? 'records' : 'reads', reasons: [] }),
})

export const routerStatsTool = defineRuntimeTool({
  name: 'router_stats',
  title: 'The router in numbers',
  description:
    'Counts since the start: calls, retries on another provider, hedges, quarantines, sticky sessions, and load now.',
  input: z.strictObject({}),
  output: z.object({
    calls: z.int(),
    in_flight: z.int(),
    providers_local: z.int(),
    providers_remote: z.int(),
    quarantined: z.int().describe('Providers that are left alone now.'),
    quarantines: z.int().describe('How often one was, since the start.'),
    retries: z.int(),
    hedges: z.int(),
    cut_off: z.int(),
    sticky_sessions: z.int(),
  }),
  effect: 'reads',
})
