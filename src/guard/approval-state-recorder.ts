/**
 * Approval state recorder: writes every change of an approval's state into the ledger and, once it is durable, notifies
 * who listens; and holds in memory what is stored nowhere.
 *
 *   requested ─▶ approved ─▶ used (given back: approved)        requested, approved ─▶ denied, expired
 */
import type { Json, JsonObject } from '../core/json.ts'
import type { Approval, ApproverOnlyCallView } from './approval.ts'
import type { ApprovalRecord } from './approval-state.ts'
import { addApprovalTexts } from './approval-texts.ts'
import type { ApprovalEvent, ApprovalsConfig } from './approval-service.ts'
import { computeCertificateHash } from './quorum-round-terms.ts'
import type { QuorumRoundStore } from './quorum-round-store.ts'
import { QUORUM_DECIDER_NAME } from './quorum-round-state.ts'
import type { GuardState } from './guard-state.ts'
import type { ProjectionLogWriter } from '../ledger/projection-log.ts'
import { formatIsoTime } from '../toolbox/iso-time.ts'
import type { GuardTransaction } from './guard-transaction-store.ts'

interface AnnouncedEvent {
  readonly kind: ApprovalEvent['kind']
  readonly [field: string]: Json | undefined
}

export interface ApprovalStateRecorder {
  readonly read: (id: string) => Approval | undefined
  /** One change of state: the ledger entry, what follows from it, and the notification. */
  readonly announceIn: (
    transaction: GuardTransaction,
    approval: Pick<ApprovalRecord, 'id' | 'binding'>,
    event: AnnouncedEvent,
    body?: JsonObject,
  ) => Approval
  readonly approveIn: (
    transaction: GuardTransaction,
    approval: Pick<ApprovalRecord, 'id' | 'binding'>,
    decision: JsonObject,
  ) => Approval
  readonly expireIn: (transaction: GuardTransaction, approval: ApprovalRecord, because: string) => void
  /** Carries out what the votes of a round have decided. */
  readonly settleIn: (transaction: GuardTransaction, id: string) => void
  /** What is held in memory of open requests only, so at most `maxOpen` of them. */
  readonly openCalls: Map<string, ApproverOnlyCallView>
  readonly subscribe: (listener: (event: ApprovalEvent) => void) => () => void
}

export function createApprovalStateRecorder({
  state,
  log,
  config,
  rounds,
  report,
}: {
  readonly state: GuardState
  readonly log: Pick<ProjectionLogWriter, 'body'>
  readonly config: ApprovalsConfig
  readonly rounds: QuorumRoundStore
  readonly report: (error: unknown, message: string) => void
}): ApprovalStateRecorder {
  const listeners = new Set<(event: ApprovalEvent) => void>()
  const openCalls = new Map<string, ApproverOnlyCallView>()

  const read = (id: string): Approval | undefined => {
    const record = state.approvals.get(id)
    return record && addApprovalTexts(record, state, log)
  }

  function announceIn(
    transaction: GuardTransaction,
    { id, binding }: Pick<ApprovalRecord, 'id' | 'binding'>,
    { kind, ...fields }: AnnouncedEvent,
    body?: JsonObject,
  ): Approval {
    const { principal, tool, target } = binding
    transaction.record({ kind, approval: id, principal, tool, target, ...fields }, body)
    const approval = read(id)
    if (approval === undefined) throw new Error(`approval ${id} is gone`)
    transaction.afterwards(() => {
      if (approval.state !== 'requested') openCalls.delete(id)
      for (const listener of listeners) notifyListener(listener, { kind, approval })
    })
    return approval
  }

  /** Listeners are called one by one: one that throws must not undo what is durable. */
  function notifyListener(listener: (event: ApprovalEvent) => void, event: ApprovalEvent): void {
    try {
      listener(event)
    } catch (error) {
      report(error, 'a listener to approvals threw')
    }
  }

  function expireIn(transaction: GuardTransaction, approval: ApprovalRecord, because: string): void {
    announceIn(transaction, approval, { kind: 'approval.expired', was: approval.state, because })
  }

  function approveIn(
    transaction: GuardTransaction,
    approval: Pick<ApprovalRecord, 'id' | 'binding'>,
    decision: JsonObject,
  ): Approval {
    const until = { expires_at: formatIsoTime(transaction.nowMs + config.useMs) }
    return announceIn(transaction, approval, { kind: 'approval.approved', ...decision, ...until })
  }

  function settleIn(transaction: GuardTransaction, id: string): void {
    const [approval, round] = [state.approvals.get(id), state.rounds.get(id)]
    if (approval === undefined || round === undefined) return
    const outcome = rounds.outcome(round, transaction.nowMs)
    const by = QUORUM_DECIDER_NAME
    switch (outcome.kind) {
      case 'quorum':
        approveIn(transaction, approval, { by, certificate: computeCertificateHash(outcome.yeses), grant: null })
        return
      case 'denied':
        announceIn(transaction, approval, { kind: 'approval.denied', by }, { reason: outcome.why })
        return
      case 'lost':
        expireIn(transaction, approval, 'an approval no longer counts')
        return
      default:
    }
  }

  return {
    read,
    announceIn,
    approveIn,
    expireIn,
    settleIn,
    openCalls,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
