/**
 * Health checks: the results of the checks, and the overall result, which is that of the worst check.
 */
import { z } from 'zod'
import type { JsonObject } from '../../core/json.ts'

export type HealthStatus = 'ok' | 'degraded' | 'failing'

/** `skipped` is not a verdict: there was nothing to check, and `message` says why. */
type CheckStatus = HealthStatus | 'skipped'

export interface HealthCheckResult {
  readonly status: CheckStatus
  /** What is wrong and what to do about it, if something is wrong. */
  readonly message?: string
  readonly figures: JsonObject
}

export const healthCheckResultSchema = z.object({
  status: z.enum(['ok', 'degraded', 'failing', 'skipped']),
  message: z.string().exactOptional(),
  figures: z.record(z.string(), z.unknown()),
})

/** From best to worst; the index compares. */
const SEVERITY: readonly CheckStatus[] = ['skipped', 'ok', 'degraded', 'failing']

export function findWorstStatus(checks: readonly HealthCheckResult[]): HealthStatus {
  // At least `ok`: if everything was skipped, nothing is wrong.
  const worst = Math.max(1, ...checks.map(({ status }) => SEVERITY.indexOf(status)))
  return SEVERITY[worst] as HealthStatus
}

/** The checks as JSON. */
export function toHealthChecksJson(checks: Readonly<Record<string, HealthCheckResult>>): JsonObject {
  return Object.fromEntries(Object.entries(checks).map(([name, check]) => [name, { ...check }]))
}

const MEBIBYTE = 1_048_576
/**
 * Enough for a day of audit on a busy node. With less than the second value, SQLite may be unable to finish a
 * transaction.
 */
const LOW_DISK_BYTES = 512 * MEBIBYTE
const FULL_DISK_BYTES = 64 * MEBIBYTE

export function checkDisk(freeBytes: number): HealthCheckResult {
  const figures = { free_bytes: freeBytes }
  if (freeBytes < FULL_DISK_BYTES)
    return { status: 'failing', message: 'The disk is almost full; soon nothing can be recorded.', figures }
  if (freeBytes < LOW_DISK_BYTES) return { status: 'degraded', message: 'The disk is filling up.', figures }
  return { status: 'ok', figures }
}

export interface LockQueueFacts {
  /** How many calls wait for a lock. */
  readonly waiting: number
  /** How many may wait for one lock before further calls are refused. */
  readonly limit: number
}

/** Never reports a failure: whether a call is refused depends on its lock, and a full queue empties. */
export function checkLockQueue({ waiting, limit }: LockQueueFacts): HealthCheckResult {
  const figures = { waiting, limit }
  // Half of the limit for one lock, even if the calls wait for several: an early warning is better than an exact one.
  if (waiting * 2 < limit) return { status: 'ok', figures }
  return { status: 'degraded', message: 'Many calls wait for their turn; some may be turned away.', figures }
}

export interface LedgerHealthFacts {
  readonly size: number
  /** What is wrong with the ledger, as far as it knows, or `undefined`. */
  readonly unsound: string | undefined
  /** Whether it refuses entries and signatures because of that. */
  readonly refuses: boolean
  /** Whether the tree still has the root that was signed last; `undefined` before the first signature. */
  readonly extendsSigned: boolean | undefined
  readonly signedSize: number | undefined
  readonly cosignatures: number
  /** How long the oldest entry without a checkpoint has waited; 0 when all are covered. */
  readonly oldestUnsignedMs: number
  /** The age of the last entry that the newest checkpoint covers. */
  readonly checkpointAgeMs: number | undefined
  /** The age of the last entry that the newest cosigned checkpoint covers. */
  readonly cosignedAgeMs: number | undefined
  readonly checkpointSeconds: number
  /** How long ago this process last verified everything. */
  readonly verifiedAgeMs: number | undefined
  readonly verifiedSize: number | undefined
  /** Why the pin outside of the data directory cannot be written. */
  readonly pinTrouble?: string | undefined
}

/** After this many missed periods, signing counts as stopped; a few may be missed on a busy node. */
const LATE_TURNS = 5

export function checkLedger(facts: LedgerHealthFacts): HealthCheckResult {
  const figures = {
    size: facts.size,
    forked: facts.refuses || facts.extendsSigned === false,
    signed_size: facts.signedSize ?? null,
    unsigned_entries: facts.size - (facts.signedSize ?? 0),
    last_checkpoint_age_ms: facts.checkpointAgeMs ?? null,
    cosignatures: facts.cosignatures,
    last_cosigned_age_ms: facts.cosignedAgeMs ?? null,
    last_verified_age_ms: facts.verifiedAgeMs ?? null,
    last_verified_size: facts.verifiedSize ?? null,
  }
  if (facts.unsound !== undefined) return { status: 'failing', message: facts.unsound, figures }
  if (facts.extendsSigned === false)
    return {
      status: 'failing',
      message: 'The tree does not have the root that was signed; run ledger_verify.',
      figures,
    }
  if (facts.oldestUnsignedMs > facts.checkpointSeconds * 1_000 * LATE_TURNS)
    return { status: 'degraded', message: 'No checkpoint has been signed for a while.', figures }
  if (facts.pinTrouble !== undefined) return { status: 'degraded', message: facts.pinTrouble, figures }
  return { status: 'ok', figures }
}
