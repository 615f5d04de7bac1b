/**
 * Reputation tools: reputation_get, reputation_history, reputation_leaderboard and reputation_check_gates (spec 5 §
 * 6.3, failure pattern A). They only read: nobody sets a score.
 */
import { z } from 'zod'
import type { Call, Outcome } from '../../bus/call.ts'
import type { Capability } from '../../bus/capability.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail } from '../../core/result.ts'
import { createRuntimeOutcome } from '../runtime-dependencies.ts'
import type { RuntimeRecordDependencies } from '../runtime-dependencies.ts'
import { createRuntimeFault } from '../faults.ts'
import { defineRuntimeTool } from '../runtime-tool.ts'
import { runGeneratorYielding } from '../generator-runner.ts'
import { createTextArgument } from '../text-arguments.ts'
import { REPUTATION_FORMULA, REPUTATION_FORMULA_HASH, REPUTATION_DOMAINS } from './formula.ts'
import type { ReputationDomain } from './formula.ts'
import type { Reputation, ReputationRow } from './reputation.ts'
import { computeReputationGates } from './score.ts'

/** Targets of calls have up to 512 characters, and `device:` before them. */
const MAX_SUBJECT_LENGTH = 520

const common = {
  effect: 'reads',
  // The first call reads the whole ledger, piece by piece.
  timeoutSeconds: 600,
} as const

const subjectArgument = createTextArgument(MAX_SUBJECT_LENGTH).describe(
  'A node by its id, `agent:<name of the credential>`, or `device:<target of its calls>`.',
)
const domainArgument = z.enum(REPUTATION_DOMAINS)
const epochArgument = z
  .int()
  .min(0)
  .exactOptional()
  .describe('Refused unless it is the epoch of the ledger: days since 1970 of its newest entry.')

const basisPoints = z.int().min(0).max(REPUTATION_FORMULA.ceiling)
const row = z.object({
  node_id: z.string(),
  domain: domainArgument,
  score: basisPoints.describe('Basis points, decayed to `epoch`; 5000 is neutral.'),
  scar_bps: basisPoints.describe('By how much the highest score is lowered for good.'),
  ban_until_epoch: z.int(),
  last_activity_epoch: z.int(),
})
const asOf = {
  epoch: z.int().describe('Of the ledger.'),
  as_of_size: z.int().describe('Entries of the ledger that were counted.'),
  formula_hash: z.string().describe('SHA-256 of the formula in docs/protocols/reputation.md.'),
}

const reputationGet = defineRuntimeTool({
  ...common,
  name: 'reputation_get',
  title: 'Reputation of a node, an agent or a device',
  description:
    'Tells how an agent, a device or a node has behaved, in five domains, from 0 to 10000 basis points: computed from the ledger by a published formula, never set by anybody. `row` with `domain`, else `rows`; null or empty where nothing was ever counted.',
  input: z.strictObject({
    node_id: subjectArgument,
    domain: domainArgument.exactOptional(),
    current_epoch: epochArgument,
  }),
  output: z.object({ row: row.nullable().exactOptional(), rows: z.array(row).exactOptional(), ...asOf }),
})

const reputationHistory = defineRuntimeTool({
  ...common,
  name: 'reputation_history',
  title: 'Evidence behind a score',
  description:
    'Lists what counted for or against a subject in one domain, newest first, each with the ledger entry that says so (prove it with ledger_proof) and the score after it.',
  input: z.strictObject({
    node_id: subjectArgument,
    domain: domainArgument,
    limit: z.int().min(1).max(500).default(50),
    offset: z.int().min(0).max(1_000_000).default(0),
  }),
  output: z.object({
    node_id: z.string(),
    domain: domainArgument,
    events: z.array(
      z.object({
        id: z.string(),
        event: z.string().describe('The rule of the formula.'),
        log_index: z.int(),
        epoch: z.int(),
        at: z.string(),
        delta_bps: z.int().describe('What counted of it.'),
        score: basisPoints.describe('After it.'),
      }),
    ),
    total: z.int(),
    omitted: z.int().describe('Older ones that count and are not listed.'),
    ...asOf,
  }),
})

const reputationLeaderboard = defineRuntimeTool({
  ...common,
  name: 'reputation_leaderboard',
  title: 'Who stands how, in one domain',
  description: 'Ranks every node, agent and device of a domain by the score as it is now, best first. It is exact.',
  input: z.strictObject({
    domain: domainArgument,
    limit: z.int().min(1).max(1_000).default(100),
    current_epoch: epochArgument,
  }),
  output: z.object({ domain: domainArgument, rows: z.array(row), total: z.int(), ...asOf }),
})

const reputationCheckGates = defineRuntimeTool({
  ...common,
  name: 'reputation_check_gates',
  title: 'What a reputation is good for',
  description:
    'Tells the five gates that follow from the scores of a subject. A domain in which nothing was counted has the neutral score. They inform: what is allowed, the guard decides.',
  input: z.strictObject({ node_id: subjectArgument, current_epoch: epochArgument }),
  output: z.object({
    node_id: z.string(),
    gates: z.object({
      max_parallel_tasks: z.int(),
      rate_limit_bonus: z.int(),
      stake_discount_bps: basisPoints,
      can_arbitrate: z.boolean(),
      can_govern: z.boolean(),
    }),
    scores: z.record(domainArgument, basisPoints),
    banned_until_epoch: z.int().nullable(),
    ...asOf,
  }),
})

export function createReputationTools(
  { ledger }: RuntimeRecordDependencies,
  reputation: Reputation,
): readonly Capability[] {
  /** Entries that were recorded when the call came are counted; later ones are left for the next call. */
  const counted = async (
    { signal }: Pick<Call, 'signal'>,
    epoch: number | undefined,
    view: () => JsonObject,
  ): Promise<Outcome> => {
    const read = await runGeneratorYielding(reputation.catchUp(ledger.size()), signal)
    if (!read.ok) return read
    const { epoch: current, size } = reputation
    if (epoch !== undefined && epoch !== current)
      return fail(
        createRuntimeFault('EPOCH_MISMATCH', `The ledger is in epoch ${current}, not ${epoch}.`, {
          epoch: current,
          given: epoch,
        }),
      )
    return createRuntimeOutcome({ ...view(), epoch: current, as_of_size: size, formula_hash: REPUTATION_FORMULA_HASH })
  }

  return [
    reputationGet.handledBy(({ node_id: id, domain, current_epoch: epoch }, call) =>
      counted(call, epoch, () =>
        domain === undefined
          ? { rows: reputation.rows(id).map(rowJson) }
          : { row: reputation.row(id, domain) === undefined ? null : rowJson(reputation.row(id, domain)) },
      ),
    ),

    reputationHistory.handledBy(({ node_id: id, domain, limit, offset }, call) =>
      counted(call, undefined, () => {
        const { events, dropped } = reputation.events(id, domain)
        return {
          node_id: id,
          domain,
          events: events.slice(offset, offset + limit).map(({ rule, logIndex, epoch, at, delta, scoreAfter }) => ({
            id: `${logIndex}:${rule}`,
            event: rule,
            log_index: logIndex,
            epoch,
            at,
            delta_bps: delta,
            score: scoreAfter,
          })),
          total: events.length + dropped,
          omitted: dropped,
        }
      }),
    ),

    reputationLeaderboard.handledBy(({ domain, limit, current_epoch: epoch }, call) =>
      counted(call, epoch, () => {
        const rows = reputation.leaderboard(domain)
        return { domain, rows: rows.slice(0, limit).map(rowJson), total: rows.length }
      }),
    ),

    reputationCheckGates.handledBy(({ node_id: id, current_epoch: epoch }, call) =>
      counted(call, epoch, () => {
        const rows = reputation.rows(id)
        const scores = Object.fromEntries(
          REPUTATION_DOMAINS.map((domain) => [
            domain,
            rows.find((each) => each.domain === domain)?.score ?? REPUTATION_FORMULA.neutral,
          ]),
        ) as Record<ReputationDomain, number>
        const banUntil = Math.max(0, ...rows.map((each) => each.ban_until_epoch))
        const isBanned = banUntil > reputation.epoch
        return {
          node_id: id,
          gates: { ...computeReputationGates(scores, isBanned) },
          scores,
          banned_until_epoch: isBanned ? banUntil : null,
        }
      }),
    ),
  ]
}

function rowJson(row: ReputationRow | undefined): JsonObject {
  return { ...row }
}
