/**
 * Step: the one durable step between a decision and an act.
 *
 *   key reserved ▸ approval or grant used ▸ budget taken ▸ wear of the device counted        all of it, or nothing
 *
 * The decision is made again inside, from what the tables say at that moment: of a hundred calls that were promised
 * the same approval, one finds it there.
 *
 * Pure: the stores do the work.
 */
import type { Outcome } from '../bus/call.ts'
import { callerKey } from '../bus/caller-key.ts'
import type { Effect } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import { fail } from '../core/result.ts'
import { LedgerRefuses, ledgerFaultBrief } from '../ledger/fork.ts'
import type { ActuatorStore } from './actuators-store.ts'
import { decideOn } from './assessed.ts'
import type { Assessed, AssessParts } from './assessed.ts'
import { argumentsHash, keyedHash } from './binding.ts'
import type { KeyStore, KeyUse } from './keys-store.ts'
import { drivenBy } from './limits.ts'
import type { ApprovalStanding, Decision } from './policy.ts'
import { asksPerson, putQuestionIn, questionIn } from './question.ts'
import type { QuestionParts } from './question.ts'
import { approvalRequired, denied, repeated, withdrawn } from './refusal.ts'
import type { Transact, Transaction } from './transaction-store.ts'

export interface StepParts extends AssessParts, QuestionParts {
  readonly transact: Transact
  readonly actuators: ActuatorStore
  readonly keys: KeyStore
}

/** How a call came past the decision. */
export type Passed =
  /** Not at all: refused, asked of a person, or answered as a repeat. */
  | { readonly kind: 'answer'; readonly outcome: Outcome }
  | { readonly kind: 'rehearse' }
  | {
      readonly kind: 'act'
      readonly effect: Effect
      readonly key: KeyUse | undefined
      readonly yes?: UsedYes | undefined
    }

/** What a person said before, of which the act uses something up. */
export type UsedYes = Extract<ApprovalStanding, { readonly state: 'approved' | 'granted' }>

const MAX_KEY = 512
const FRESH = { state: 'fresh' } as const
const NOT_ASKED = { state: 'none' } as const

export async function takeStep(assessed: Assessed, parts: StepParts): Promise<Passed> {
  const { call, offer, assessment } = assessed
  const argsHash = argumentsHash(parts.hashKey, call.body)
  if (argsHash === undefined) return answer(invalid('The arguments hold text that is not valid Unicode.'))
  const key = assessment.idempotencyKey
  if (key !== undefined && (key === '' || key.length > MAX_KEY))
    return answer(invalid(`An idempotency key has 1 to ${MAX_KEY} characters.`))
  try {
    return await parts.transact((transaction) => stepIn(transaction, { assessed, argsHash }, parts))
  } catch (error) {
    // A full disk, or a ledger that refuses: what cannot be recorded is not done.
    parts.report(error, `${offer.name} could not be recorded beforehand`)
    const cause =
      error instanceof LedgerRefuses
        ? ledgerFaultBrief(error.fault)
        : 'This call cannot be recorded (is the disk full?).'
    return answer({ kind: 'internal', message: `${cause} Nothing was tried. \`hearthbus doctor\` says more.` })
  }
}

export function refuse(decision: Decision): Passed {
  if (decision.verdict !== 'deny') throw new Error(`${decision.verdict} is no refusal`)
  return answer(denied(decision))
}

function answer(fault: Fault): Passed {
  return { kind: 'answer', outcome: fail(fault) }
}

/** First everything is looked up and decided; only then is anything used up. */
function stepIn(
  transaction: Transaction,
  { assessed, argsHash }: { readonly assessed: Assessed; readonly argsHash: string },
  parts: StepParts,
): Passed {
  const { call, act } = assessed
  const { keys, approvals, grants, limits, actuators } = parts
  // While the step waited for its turn, the caller may have left: then nothing is used up.
  if (call.signal.aborted) return answer(withdrawn(call, parts.monotonic()))

  const key = keyUse(assessed, argsHash, parts.hashKey)
  const keyStanding = key === undefined ? FRESH : keys.standingIn(transaction, key)
  const question = asksPerson(assessed, parts) ? questionIn(transaction, { assessed, argsHash }, parts) : undefined
  const approval = question?.standing ?? NOT_ASKED
  const decision = decideOn(assessed, { approval, repeat: keyStanding.state !== 'fresh' }, parts)
  if (decision.verdict === 'approval-required' && question !== undefined) {
    const put = putQuestionIn(transaction, { assessed, question }, parts)
    return answer(put.ok ? approvalRequired(put.value, [...decision.reasons, ...question.notes]) : put.fault)
  }
  if (decision.verdict !== 'allow') return refuse(decision)
  if (keyStanding.state !== 'fresh') return { kind: 'answer', outcome: repeated(keyStanding) }

  if (key !== undefined) keys.reserveIn(transaction, key)
  const yes = decision.needsApproval ? yesOf(approval) : undefined
  if (yes !== undefined) (yes.state === 'approved' ? approvals : grants).useIn(transaction, yes.id, call)
  limits.take(act)
  const driven = drivenBy(act)
  if (driven !== undefined) actuators.countIn(transaction, driven)
  return { kind: 'act', effect: decision.effect, key, yes }
}

function yesOf(standing: ApprovalStanding): UsedYes | undefined {
  return standing.state === 'approved' || standing.state === 'granted' ? standing : undefined
}

function keyUse({ call, offer, assessment }: Assessed, argsHash: string, hashKey: Uint8Array): KeyUse | undefined {
  const { idempotencyKey: key, keyedChange: change } = assessment
  if (key === undefined) return undefined
  return {
    principal: callerKey(call.caller),
    capability: offer.name,
    key,
    argsHash: change === undefined ? argsHash : keyedHash(hashKey, change),
  }
}

function invalid(message: string): Fault {
  return { kind: 'invalid-arguments', message }
}
