/**
 * Attention: everything that waits for a person, collected from all sources, in sentences.
 */
import { z } from 'zod'
import type { Service } from '../../bus/capability.ts'
import type { ApprovalService } from '../../guard/approval-service.ts'
import type { EmergencyStopControl } from '../../guard/actuator-usage-and-stop-store.ts'
import type { QuorumRoundService } from '../../guard/quorum-round-service.ts'
import type { AccessTokenService } from '../../guard/access-token-store.ts'
import type { HealthCheckResult } from './health-checks.ts'

export const attentionOutputSchema = z.array(z.object({ about: z.string(), sentence: z.string() }))
export type AttentionList = z.output<typeof attentionOutputSchema>

/** A family, or the mesh, which reports its health. */
export type ServiceHealthSource = Pick<Service, 'name' | 'health'>

/** The sources of what waits for a person. */
export interface AttentionSources {
  readonly guard: {
    readonly approvals: Pick<ApprovalService, 'list'>
    readonly stop: Pick<EmergencyStopControl, 'state'>
    readonly tokens: Pick<AccessTokenService, 'list'>
    readonly quorums: Pick<QuorumRoundService, 'contradictions'>
  }
  readonly reporters: () => readonly ServiceHealthSource[]
}

/** A week is enough time to create another token before an agent is locked out, and to notice what was found. */
const WEEK_MS = 7 * 86_400_000

export function collectAttentionItems(
  { guard, reporters }: AttentionSources,
  checks: Readonly<Record<string, HealthCheckResult>>,
  nowMs: number,
): AttentionList {
  const waiting = guard.approvals.list({ state: 'requested' }).length
  const ending = guard.tokens.list().filter((token) => isEnding(token, nowMs)).length
  return [
    ...createItem(
      'stop',
      guard.stop.state() && 'Everything is stopped; every change is refused until an admin lifts the stop.',
    ),
    ...createItem('approvals', count(waiting, 'call waits', 'calls wait', 'for a person: hearthbus approvals.')),
    ...createItem('tokens', count(ending, 'token ends', 'tokens end', 'within a week: hearthbus token list.')),
    ...createItem(
      'consensus',
      count(
        guard.quorums.contradictions(nowMs - WEEK_MS),
        'pair of signed statements contradicts each other',
        'pairs of signed statements contradict each other',
        '(a vote or a checkpoint): see consensus.conflict and consensus.equivocated in the ledger.',
      ),
    ),
    ...reporters().flatMap(({ name, health }) => createItem(name, health().details['advice'])),
    ...Object.entries(checks).flatMap(([name, { status, message }]) =>
      createItem(name, status !== 'skipped' && message),
    ),
  ]
}

/** The owner of the token is not named, because only admins see the tokens. */
function isEnding(
  { revokedAtMs, expiresAtMs }: ReturnType<AccessTokenService['list']>[number],
  nowMs: number,
): boolean {
  return revokedAtMs === undefined && expiresAtMs !== undefined && expiresAtMs > nowMs && expiresAtMs <= nowMs + WEEK_MS
}

function count(number: number, one: string, more: string, rest: string): string | undefined {
  return number === 0 ? undefined : `${number} ${number === 1 ? one : more} ${rest}`
}

function createItem(about: string, sentence: unknown): AttentionList {
  return typeof sentence === 'string' ? [{ about, sentence }] : []
}
