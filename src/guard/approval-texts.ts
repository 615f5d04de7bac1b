/**
 * Approval texts: what people were shown and what they said, from the erasable bodies of the entries of an approval.
 *
 * Pure, given the log.
 */
import { isJsonObject } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import { ERASED_PLACEHOLDER, readEntryBodyFields, readErasableText } from '../ledger/projection-log.ts'
import type { ProjectionLogWriter } from '../ledger/projection-log.ts'
import type { Approval, StoredCallView } from './approval.ts'
import type { ApprovalRecord } from './approval-state.ts'
import type { ArgumentLeafHashes } from './call-binding.ts'
import type { GuardState } from './guard-state.ts'

/** Adds what people were shown and answered, unless it was erased. */
export function addApprovalTexts(
  record: ApprovalRecord,
  state: GuardState,
  log: Pick<ProjectionLogWriter, 'body'>,
): Approval {
  const { askedSeq, decisionSeq, because, usedTrace: _, ...approval } = record
  const requestBody = readEntryBodyFields(log, askedSeq)
  const { leaves: __, ...shown } = requestBody ?? ERASED_CALL
  const reason =
    record.state === 'expired'
      ? because
      : decisionSeq === undefined
        ? undefined
        : readErasableText(readEntryBodyFields(log, decisionSeq), 'reason')
  const round = state.rounds.get(record.id)
  return {
    ...approval,
    shown: shown as unknown as StoredCallView,
    reason,
    ...(round === undefined ? {} : { round, askedSeq }),
  }
}

/**
 * The hashes of the single arguments. Short arguments could be guessed from them, so they are erased together with the
 * texts.
 */
export function readArgumentLeafHashes(
  state: GuardState,
  id: string,
  log: Pick<ProjectionLogWriter, 'body'>,
): ArgumentLeafHashes | undefined {
  const leaves = readEntryBodyFields(log, state.approvals.get(id)?.askedSeq)?.['leaves']
  return isJsonObject(leaves) ? (leaves as ArgumentLeafHashes) : undefined
}

/**
 * Whether the text of the request was stored when the approval was read, so that a person can read what they are asked.
 * It is not read a second time: the file may have changed since.
 */
export function isApprovalTextPresent({ shown }: Approval): boolean {
  return shown.traceId !== ERASED_CALL['traceId']
}

/**
 * Whether the stored text is not the one that the entry commits to. This node never changes such a text; it only erases
 * it, and records that.
 */
export function isApprovalTextTampered({ askedSeq }: ApprovalRecord, log: Pick<ProjectionLogWriter, 'body'>): boolean {
  return log.body(askedSeq).kind === 'altered'
}

/** Every real call has a trace. */
const ERASED_CALL: JsonObject = {
  title: ERASED_PLACEHOLDER,
  label: ERASED_PLACEHOLDER,
  effect: 'sensitive',
  arguments: {},
  channel: 'api',
  traceId: '',
}
