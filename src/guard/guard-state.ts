/**
 * Guard state: everything that the guard decides from, as the log says it. The log decides; there is no table that
 * could say something else.
 */
import { readEntryText } from '../ledger/entry.ts'
import type { ApplyEntry, Projection } from '../ledger/projection.ts'
import { StateTable } from '../ledger/projection.ts'
import { actuatorEntryHandlers, EMERGENCY_STOP_KEY } from './actuator-store.ts'
import type { EngagedStop, HourlyActuatorUsage } from './actuator-store.ts'
import { approvalEntryHandlers } from './approval-state.ts'
import type { ApprovalRecord } from './approval-state.ts'
import { changeEntryHandlers, isChangeOver } from './change-state.ts'
import type { ChangeRecord } from './change-state.ts'
import { grantEntryHandlers } from './grant-state.ts'
import type { GrantRecord } from './grant-state.ts'
import { foreignRoundEntryHandlers } from './foreign-round-state.ts'
import type { ForeignRoundRecord } from './foreign-round-state.ts'
import { roundEntryHandlers } from './round-state.ts'
import type { RoundRecord } from './round.ts'
import { idempotencyKeyEntryHandlers } from './idempotency-key-state.ts'
import type { IdempotencyKeyRecord } from './idempotency-key-state.ts'
import { principalEntryChecks, principalEntryHandlers } from './principal-state.ts'
import type { TokenState } from './principal-state.ts'

export interface GuardState {
  readonly approvals: StateTable<ApprovalRecord>
  /** By approval. */
  readonly rounds: StateTable<RoundRecord>
  /** Credential to the key that belongs to it. */
  readonly voterKeys: StateTable<string>
  /** By key: the last vote of each voter. */
  readonly voteHeads: StateTable<{ readonly seq: number; readonly hash: string }>
  readonly revokedNodes: StateTable<boolean>
  /** Rounds of other nodes. */
  readonly foreignRounds: StateTable<ForeignRoundRecord>
  /** Contradictions on record. */
  readonly conflicts: StateTable<boolean>
  readonly grants: StateTable<GrantRecord>
  /** By hash. */
  readonly tokens: StateTable<TokenState>
  /** The hash of the newest token of each name. */
  readonly tokenNames: StateTable<string>
  /** Roles for which a link to the console was made. */
  readonly consoleRoles: StateTable<boolean>
  readonly changes: StateTable<ChangeRecord>
  readonly keys: StateTable<IdempotencyKeyRecord>
  /** By target. */
  readonly actuators: StateTable<readonly HourlyActuatorUsage[]>
  readonly stop: StateTable<EngagedStop>
  /** What commits to the key of the argument hashes. */
  readonly secrets: StateTable<string>
}

/** The field of `node.start` that commits to the key of the argument hashes: the first one counts for ever. */
export const GUARD_SECRET_FIELD = 'guard_secret'

const secretEntries: Readonly<Record<string, ApplyEntry<GuardState>>> = {
  'node.start': ({ secrets }, entry) => {
    const commitment = readEntryText(entry, GUARD_SECRET_FIELD)
    if (commitment === undefined) return undefined
    const before = secrets.get(GUARD_SECRET_FIELD)
    if (before !== undefined && before !== commitment) return 'the guard had another secret before'
    secrets.set(GUARD_SECRET_FIELD, commitment)
    return undefined
  },
}

export const guardProjection: Projection<GuardState> = {
  name: 'guard',
  initial: (journal) => ({
    approvals: new StateTable(journal),
    rounds: new StateTable(journal),
    voterKeys: new StateTable(journal),
    voteHeads: new StateTable(journal),
    revokedNodes: new StateTable<boolean>(journal),
    foreignRounds: new StateTable(journal),
    conflicts: new StateTable<boolean>(journal),
    grants: new StateTable(journal),
    tokens: new StateTable(journal),
    tokenNames: new StateTable(journal),
    consoleRoles: new StateTable<boolean>(journal),
    changes: new StateTable(journal),
    keys: new StateTable(journal),
    actuators: new StateTable(journal),
    stop: new StateTable(journal),
    secrets: new StateTable(journal),
  }),
  apply: {
    ...secretEntries,
    ...principalEntryHandlers,
    ...approvalEntryHandlers,
    ...roundEntryHandlers,
    ...foreignRoundEntryHandlers,
    ...grantEntryHandlers,
    ...changeEntryHandlers,
    ...idempotencyKeyEntryHandlers,
    ...actuatorEntryHandlers,
  },
  check: principalEntryChecks,
  holds: (state, entry, nowMs) => {
    const [approval, grant, change] = [
      readEntryText(entry, 'approval'),
      readEntryText(entry, 'grant'),
      readEntryText(entry, 'change'),
    ]
    switch (entry.kind) {
      case 'approval.requested': {
        const asked = state.approvals.get(approval ?? '')
        return asked?.state === 'requested' && asked.expiresAtMs > nowMs
          ? `Approval ${asked.id} still waits for an answer and shows these words; answer it first (hearthbus approvals).`
          : undefined
      }
      case 'grant.created':
        return grant !== undefined && isInForce(state.grants.get(grant), nowMs)
          ? `The grant ${grant} is in force and needs these; end it first (hearthbus grants).`
          : undefined
      case 'change.prepared': {
        const prepared = state.changes.get(change ?? '')
        return prepared !== undefined && !isChangeOver(prepared, nowMs) && prepared.finishedAtMs === undefined
          ? `The change ${prepared.name} is prepared and not yet decided on; it lapses by itself, or is committed. Try again then.`
          : undefined
      }
      case 'stop.engaged':
        return state.stop.get(EMERGENCY_STOP_KEY)?.seq === entry.seq
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
