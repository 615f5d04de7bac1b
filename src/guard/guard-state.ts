/** Guard state: everything that the guard decides from, as a projection of the log. No table could contradict it. */
import type { JsonObject } from '../core/json.ts'
import { readEntryTextField } from '../ledger/entry.ts'
import type { LedgerEntry } from '../ledger/entry.ts'
import type { EntryHandler, Projection } from '../ledger/projection.ts'
import { UndoableStateMap } from '../ledger/projection.ts'
import { actuatorAndStopEntryHandlers, EMERGENCY_STOP_STATE_KEY } from './actuator-usage-and-stop-store.ts'
import type { EngagedEmergencyStop, ActuatorUsageOfHour } from './actuator-usage-and-stop-store.ts'
import { approvalEntryHandlers } from './approval-state.ts'
import type { ApprovalRecord } from './approval-state.ts'
import { computeJsonSha256 } from './call-binding.ts'
import { preparedChangeEntryHandlers, isPreparedChangeForgettable } from './prepared-change-state.ts'
import type { PreparedChangeRecord } from './prepared-change-state.ts'
import { grantEntryHandlers } from './grant-state.ts'
import type { GrantRecord } from './grant-state.ts'
import { finalityEntryHandlers } from './finality-state.ts'
import { foreignRoundEntryHandlers } from './foreign-quorum-round-state.ts'
import type { ForeignQuorumRoundRecord } from './foreign-quorum-round-state.ts'
import { roundEntryHandlers } from './quorum-round-state.ts'
import type { QuorumRoundRecord } from './quorum-round-terms.ts'
import { idempotencyKeyEntryHandlers } from './idempotency-key-state.ts'
import type { IdempotencyKeyRecord } from './idempotency-key-state.ts'
import { entryPrincipalChecks, principalEntryHandlers } from './principal-state.ts'
import type { AccessTokenState } from './principal-state.ts'
import type { VoteChainHead } from './vote.ts'

export interface GuardState {
  readonly approvals: UndoableStateMap<ApprovalRecord>
  /** The voting rounds, by the id of their approval. */
  readonly rounds: UndoableStateMap<QuorumRoundRecord>
  /** Credential → the voter key that belongs to it. */
  readonly voterKeys: UndoableStateMap<string>
  /** The last vote of each voter, by the voter's key. */
  readonly voteHeads: UndoableStateMap<VoteChainHead>
  readonly revokedNodes: UndoableStateMap<boolean>
  /** Rounds of other nodes. */
  readonly foreignRounds: UndoableStateMap<ForeignQuorumRoundRecord>
  /** Contradictions on record, and when each was found. */
  readonly conflicts: UndoableStateMap<number>
  /** By the node that contradicted itself: when the newest of them were recorded, oldest first. */
  readonly conflictTimes: UndoableStateMap<readonly number[]>
  readonly grants: UndoableStateMap<GrantRecord>
  /** Tokens by their hashes. */
  readonly tokens: UndoableStateMap<AccessTokenState>
  /** Name → the hash of its newest token. */
  readonly tokenNames: UndoableStateMap<string>
  /** Roles for which a console link was created. */
  readonly consoleRoles: UndoableStateMap<boolean>
  readonly changes: UndoableStateMap<PreparedChangeRecord>
  readonly keys: UndoableStateMap<IdempotencyKeyRecord>
  /** Recent changes, by actuator. */
  readonly actuators: UndoableStateMap<readonly ActuatorUsageOfHour[]>
  readonly stop: UndoableStateMap<EngagedEmergencyStop>
  /** Commitments to the key of the argument hashes, and to the owner's token. */
  readonly secrets: UndoableStateMap<string>
}

/** The field of `node.start` that commits to the key of the argument hashes: the first one is valid for ever. */
export const GUARD_SECRET_COMMITMENT_FIELD = 'guard_secret'

/** The key in `secrets` under which the commitment to the owner's newest token is stored. */
const OWNER_TOKEN_STATE_KEY = 'owner_token'
const TOKEN_HASH = /^[0-9a-f]{64}$/

/** The hash, in hex, of the newest token that this node made for its owner. */
export function readOwnerTokenHash({ secrets }: GuardState): string | undefined {
  return secrets.get(OWNER_TOKEN_STATE_KEY)
}

const secretEntries: Readonly<Record<string, EntryHandler<GuardState>>> = {
  'owner.token': ({ secrets }, entry) => {
    const hash = readEntryTextField(entry, 'token_hash')
    if (hash === undefined || !TOKEN_HASH.test(hash)) return 'it names no token'
    secrets.set(OWNER_TOKEN_STATE_KEY, hash)
    return undefined
  },
  'node.start': ({ secrets }, entry) => {
    const commitment = readEntryTextField(entry, GUARD_SECRET_COMMITMENT_FIELD)
    if (commitment === undefined) return undefined
    const before = secrets.get(GUARD_SECRET_COMMITMENT_FIELD)
    if (before !== undefined && before !== commitment) return 'the guard had another secret before'
    secrets.set(GUARD_SECRET_COMMITMENT_FIELD, commitment)
    return undefined
  },
}

export const guardProjection: Projection<GuardState> = {
  name: 'guard',
  initial: (journal) => ({
    approvals: new UndoableStateMap(journal),
    rounds: new UndoableStateMap(journal),
    voterKeys: new UndoableStateMap(journal),
    voteHeads: new UndoableStateMap(journal),
    revokedNodes: new UndoableStateMap<boolean>(journal),
    foreignRounds: new UndoableStateMap(journal),
    conflicts: new UndoableStateMap<number>(journal),
    conflictTimes: new UndoableStateMap<readonly number[]>(journal),
    grants: new UndoableStateMap(journal),
    tokens: new UndoableStateMap(journal),
    tokenNames: new UndoableStateMap(journal),
    consoleRoles: new UndoableStateMap<boolean>(journal),
    changes: new UndoableStateMap(journal),
    keys: new UndoableStateMap(journal),
    actuators: new UndoableStateMap(journal),
    stop: new UndoableStateMap(journal),
    secrets: new UndoableStateMap(journal),
  }),
  apply: {
    ...secretEntries,
    ...principalEntryHandlers,
    ...approvalEntryHandlers,
    ...roundEntryHandlers,
    ...finalityEntryHandlers,
    ...foreignRoundEntryHandlers,
    ...grantEntryHandlers,
    ...preparedChangeEntryHandlers,
    ...idempotencyKeyEntryHandlers,
    ...actuatorAndStopEntryHandlers,
  },
  check: entryPrincipalChecks,
  bodyChecks: {
    'approval.requested': (entry, body) =>
      explainHashContradiction(entry, body, { leaves_hash: 'leaves', preview_hash: 'preview' }),
    'grant.created': (entry, body) => explainHashContradiction(entry, body, { frame_hash: 'frame' }),
  },
  holds: (state, entry, nowMs) => {
    const [approval, grant, change] = [
      readEntryTextField(entry, 'approval'),
      readEntryTextField(entry, 'grant'),
      readEntryTextField(entry, 'change'),
    ]
    switch (entry.kind) {
      case 'approval.requested': {
        const open = state.approvals.get(approval ?? '')
        return open?.state === 'requested' && open.expiresAtMs > nowMs
          ? `Approval ${open.id} still waits for an answer and shows these words; answer it first (hearthbus approvals).`
          : undefined
      }
      case 'grant.created':
        return grant !== undefined && isInForce(state.grants.get(grant), nowMs)
          ? `The grant ${grant} is in force and needs these; end it first (hearthbus grants).`
          : undefined
      case 'change.prepared': {
        const prepared = state.changes.get(change ?? '')
        return prepared !== undefined &&
          !isPreparedChangeForgettable(prepared, nowMs) &&
          prepared.finishedAtMs === undefined
          ? `The change ${prepared.name} is prepared and not yet decided on; it lapses by itself, or is committed. Try again then.`
          : undefined
      }
      case 'stop.engaged':
        return state.stop.get(EMERGENCY_STOP_STATE_KEY)?.seq === entry.seq
          ? 'The stop is still engaged and shows these words; release it first (hearthbus resume).'
          : undefined
      default:
        return undefined
    }
  },
}

function isInForce(grant: GrantRecord | undefined, nowMs: number): boolean {
  return grant !== undefined && grant.endedAtMs === undefined && grant.expiresAtMs > nowMs
}

/** `fields` names the part of the body that each hash in the entry is of. */
function explainHashContradiction(
  entry: LedgerEntry,
  body: JsonObject,
  fields: Readonly<Record<string, string>>,
): string | undefined {
  const wrong = Object.entries(fields).find(([field, part]) => {
    const recordedHash = readEntryTextField(entry, field)
    return recordedHash !== (body[part] === undefined ? undefined : computeJsonSha256(body[part]))
  })
  return wrong === undefined ? undefined : `${wrong[0]} is not that of what was shown`
}
