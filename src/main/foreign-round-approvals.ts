/**
 * Foreign round approvals: rounds of other nodes that wait for this node's vote, listed and answered like approvals of
 * this node, so that its people find them on the console, on the command line and in notices.
 *
 *   round of another node ─▶ listed as requested, asked by that node ─▶ approve or deny ─▶ this node's signed vote
 */
import { z } from 'zod'
import type { Caller } from '../bus/call.ts'
import { EFFECTS } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import type { Json } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { Approval, StoredCallView } from '../guard/approval.ts'
import type { ApprovalEvent, ApprovalService } from '../guard/approval-service.ts'
import type { ForeignQuorumRoundRecord } from '../guard/foreign-quorum-round-state.ts'
import type { VoteDecision } from '../guard/vote.ts'
import type { ConsensusPeerService } from '../runtime/consensus/tools.ts'

/** A round of another node in which this node has not voted, and what that node says of the call. */
export interface WaitingForeignQuorumRound extends Pick<ForeignQuorumRoundRecord, 'house' | 'digest' | 'expiresAtMs'> {
  /** The reference by which a vote may name it. */
  readonly reference: string
  readonly receivedAtMs: number
  readonly shown: Json | undefined
}

export interface ForeignQuorumRoundSource extends Pick<ConsensusPeerService, 'voteInForeignRound'> {
  readonly waiting: () => readonly WaitingForeignQuorumRound[]
  /** Calls the listener with every round that this node learns of. Returns a function that unsubscribes. */
  readonly onReceived: (listener: (round: WaitingForeignQuorumRound) => void) => () => void
}

const MAX_TEXT = 300
const text = z.string().transform((value) => value.slice(0, MAX_TEXT).toWellFormed())
/** The call as the other node shows it, possibly in a later version. */
const shownCall = z.object({
  tool: text,
  target: text.nullable().catch(null),
  title: text,
  label: text.optional().catch(undefined),
  effect: z.enum(EFFECTS).catch('sensitive'),
  arguments: z.record(z.string(), z.json()).catch({}),
  preview: z.record(z.string(), z.json()).optional().catch(undefined),
  traceId: text.catch(''),
})

export function addForeignQuorumRounds(approvals: ApprovalService, rounds: ForeignQuorumRoundSource): ApprovalService {
  const find = (id: string): WaitingForeignQuorumRound | undefined =>
    approvals.get(id) === undefined ? rounds.waiting().find(({ reference }) => reference === id) : undefined

  async function vote(
    round: WaitingForeignQuorumRound,
    decision: VoteDecision,
    caller: Caller,
  ): Promise<Result<Approval, Fault>> {
    const { reference, digest } = round
    const cast = await rounds.voteInForeignRound(reference, { digest, decision, caller })
    if (!cast.ok) return cast
    return ok({ ...toApproval(round), state: decision === 'allow' ? 'approved' : 'denied' })
  }

  return {
    ...approvals,
    list: (query = {}) => {
      const { state = 'requested', principal, before, limit } = query
      const foreign =
        state === 'requested' && principal === undefined && before === undefined ? rounds.waiting().map(toApproval) : []
      return [...foreign, ...approvals.list(query)].slice(0, limit)
    },
    get: (id) => {
      const round = find(id)
      return round === undefined ? approvals.get(id) : toApproval(round)
    },
    shownTo: (approval, by) => (find(approval.id) === undefined ? approvals.shownTo(approval, by) : approval),
    approve: (id, by, options = {}) => {
      const round = find(id)
      if (round === undefined) return approvals.approve(id, by, options)
      if (options.grant !== undefined)
        return Promise.resolve(
          fail({ kind: 'invalid-arguments', message: 'grant: a vote is for one call of another node' }),
        )
      return vote(round, 'allow', by)
    },
    deny: (id, by, reason) => {
      const round = find(id)
      return round === undefined ? approvals.deny(id, by, reason) : vote(round, 'deny', by)
    },
    subscribe: (listener) => {
      const publish = (round: WaitingForeignQuorumRound): void =>
        listener({ kind: 'approval.requested', approval: toApproval(round) } satisfies ApprovalEvent)
      const leave = [approvals.subscribe(listener), rounds.onReceived(publish)]
      return () => {
        for (const each of leave) each()
      }
    },
  }
}

/** The round as an approval, as far as this node knows it: the other node made the hashes of the call. */
function toApproval({
  reference,
  house,
  digest,
  expiresAtMs,
  receivedAtMs,
  shown,
}: WaitingForeignQuorumRound): Approval {
  const parsed = shownCall.safeParse(shown)
  const call = parsed.success ? parsed.data : undefined
  const { label, preview } = call ?? {}
  const view: StoredCallView = {
    title: call?.title ?? 'A call that its node does not describe',
    effect: call?.effect ?? 'sensitive',
    arguments: call?.arguments ?? {},
    channel: 'mesh',
    traceId: call?.traceId ?? '',
    ...(label === undefined ? {} : { label }),
    ...(preview === undefined ? {} : { preview }),
  }
  return {
    id: reference,
    state: 'requested',
    binding: {
      principal: `peer:${house}`,
      tool: call?.tool ?? '',
      argsHash: digest,
      definitionHash: '',
      target: call?.target ?? undefined,
      policyVersion: '',
      promiseHash: '',
    },
    shown: view,
    requestedAtMs: receivedAtMs,
    expiresAtMs,
    decidedAtMs: undefined,
    decidedBy: undefined,
    reason: undefined,
    usedAtMs: undefined,
    grantId: undefined,
  }
}
