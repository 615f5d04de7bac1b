/**
 * Seal: a draft made into a message that only its addressee takes, and the answer to it, believed only if proven.
 *
 * Pure.
 */
import type { Outcome } from '../bus/call.ts'
import type { Clock } from '../core/clock.ts'
import { fail } from '../core/result.ts'
import { decodeOutcome, nonsense } from './answer.ts'
import { addressed } from './draft.ts'
import type { Draft } from './draft.ts'
import { answerText, bodyHash, callText, envelopeFields } from './envelope.ts'
import { leavesFirstOpen } from './gate.ts'
import type { NodeIdentity } from './identity/node-key.ts'
import { isProven, macProof, signatureProof } from './proof.ts'
import { reasonOf } from './refusal.ts'
import type { Session } from './sessions.ts'
import { lostAnswer } from './transport.ts'
import type { Delivered, Message } from './transport.ts'

export interface SealParts {
  readonly identity: NodeIdentity
  readonly clock: Clock
  /** The node that it is for. */
  readonly to: string
  readonly communityId: string
  /** Without one, the message is signed. */
  readonly session: Session | undefined
}

export function seal(draft: Draft, { identity, clock, to, communityId, session }: SealParts): Message {
  const { id: keyId, takesActors: takesActor = false } = session ?? {}
  const fields = envelopeFields(addressed(draft, { from: identity.id, to, communityId, keyId, takesActor, clock }))
  const text = callText(fields, bodyHash(draft.body))
  const proof = draft.isSigned || session === undefined ? signatureProof(text, identity) : macProof(text, session)
  return { fields, proof, body: draft.body, idempotent: draft.idempotent }
}

export interface AnswerParts {
  readonly from: string
  readonly session: Session | undefined
  /** Of the frames as they were handed on. */
  readonly framesHash: string | undefined
}

export function openAnswer(
  { fields, idempotent }: Message,
  { status, text, proof, resent }: Delivered,
  { from, session, framesHash }: AnswerParts,
): Outcome {
  const requestId = fields['request_id'] ?? ''
  const covered = answerText({ requestId, from, status, bodyHash: bodyHash(text), framesHash })
  if (!isProven(covered, proof, { from, session })) {
    // Not even a refusal is believed unproven: one that says "nothing was tried" makes the router try elsewhere.
    const fault = nonsense(`The answer is not proven to be ${from}'s.`)
    return fail({ ...fault, kind: idempotent ? 'failed' : 'unknown-outcome' })
  }
  const outcome = decodeOutcome(status, text)
  if (resent !== true || outcome.ok || !leavesFirstOpen(outcome.fault)) return outcome
  // The first may have been carried out, if only by a process that has restarted since.
  const mayGoAgain = idempotent && reasonOf(outcome.fault) === 'unknown-session'
  return mayGoAgain ? outcome : fail(lostAnswer(from, idempotent, 'the connection broke'))
}
