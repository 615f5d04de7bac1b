/**
 * Node start event: what the log says of a start: the version, the rules and the keys that hold from then on, and what
 * the last run left behind.
 */
import type { Config } from '../config/schema.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { Logger } from '../core/logger.ts'
import type { Guard } from '../guard/guard.ts'
import type { LedgerEvent } from '../ledger/entry.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { RandomDrawKey } from '../ledger/random-draw.ts'

interface StartedNode {
  readonly id: string
  readonly config: Config
  readonly version: string
  readonly guard: Guard
  readonly draws: RandomDrawKey
  readonly ledger: Ledger
  readonly logger: Logger
}

export function createNodeStartEvent({ id, config, version, guard, draws, ledger, logger }: StartedNode): LedgerEvent {
  const { secretCommitment: guard_secret } = guard
  return {
    kind: 'node.start',
    node: id,
    version,
    mode: config.mode,
    // Who can write the configuration can change the rules, and put them back: under which ones it ran is on record.
    policy_version: guard.services.policyVersion,
    // The same for what decides beside the rules, such as profiles that narrow tokens.
    config_hash: guard.keyedHash(JSON.parse(JSON.stringify(config)) as Json),
    guard_secret,
    vrf_key: draws.publicKey,
    cosigned: ledger.cosignedSize(),
    ...recordNewPin(ledger, logger),
    ...recoveredTail(ledger),
  }
}

/**
 * The log existed before its pin, so nothing outside of the data directory can say whether it was the newest one then.
 */
function recordNewPin(ledger: Ledger, logger: Logger): JsonObject {
  const file = ledger.pin()
  if (file === undefined || file.pin !== undefined || ledger.size() === 0) return {}
  logger.warn(
    { path: file.path },
    `nothing outside of the data directory vouches for the first ${ledger.size()} entries of the ledger`,
  )
  return { pinned_from: ledger.size() }
}

/** What the log says after a crash: how many entries were not signed yet, and what they were. */
function recoveredTail(ledger: Ledger): JsonObject {
  const tail = ledger.unsignedTail()
  if (tail === undefined) return {}
  const { from, entries, kinds, torn, uncommitted } = tail
  return { unsigned: { from, entries, kinds, torn_bytes: torn, uncommitted } }
}
