/**
 * Request signing: turns a draft into a message that only its addressee accepts, and accepts an answer only if it is
 * proven.
 */
import type { Outcome } from '../bus/call.ts'
import type { Clock } from '../core/clock.ts'
import { fail } from '../core/result.ts'
import { decodeOutcome, createMalformedMeshReplyFault } from './mesh-answer.ts'
import { createEnvelopeFromDraft } from './request-draft.ts'
import type { RequestDraft } from './request-draft.ts'
import { formatAnswerTextToSign, computeBodyHash, formatCallTextToSign, toEnvelopeFields } from './mesh-envelope.ts'
import { isFirstSendOutcomeUnknown } from './message-gate.ts'
import type { NodeIdentity } from './identity/node-key.ts'
import { isMessageProofValid, createMacProof, createSignatureProof } from './message-proof.ts'
import { readMeshRefusalReason } from './mesh-refusal.ts'
import type { MeshSession } from './sessions.ts'
import { createLostMeshAnswerFault } from './transport.ts'
import type { DeliveredAnswer, MeshMessage } from './transport.ts'

export interface RequestSigningDependencies {
  readonly identity: NodeIdentity
  readonly clock: Clock
  /** The node that it is for. */
  readonly to: string
  readonly communityId: string
  /** Without one, the message is signed. */
  readonly session: MeshSession | undefined
}

export function signRequestDraft(
  draft: RequestDraft,
  { identity, clock, to, communityId, session }: RequestSigningDependencies,
): MeshMessage {
  const { id: keyId, takesActors: takesActor = false } = session ?? {}
  const fields = toEnvelopeFields(
    createEnvelopeFromDraft(draft, { from: identity.id, to, communityId, keyId, takesActor, clock }),
  )
  const text = formatCallTextToSign(fields, computeBodyHash(draft.body))
  const proof =
    draft.isSigned || session === undefined ? createSignatureProof(text, identity) : createMacProof(text, session)
  return { fields, proof, body: draft.body, idempotent: draft.idempotent }
}

export interface AnswerVerificationInput {
  readonly from: string
  readonly session: MeshSession | undefined
  /** The hash of the frames that were passed on. */
  readonly framesHash: string | undefined
}

export function verifyAndDecodeAnswer(
  { fields, idempotent }: MeshMessage,
  { status, text, proof, resent }: DeliveredAnswer,
  { from, session, framesHash }: AnswerVerificationInput,
): Outcome {
  const requestId = fields['request_id'] ?? ''
  const covered = formatAnswerTextToSign({ requestId, from, status, bodyHash: computeBodyHash(text), framesHash })
  if (!isMessageProofValid(covered, proof, { from, session })) {
    // Even a refusal must be proven: one that says "nothing was tried" makes the router try another provider.
    const fault = createMalformedMeshReplyFault(`The answer is not proven to be ${from}'s.`)
    return fail({ ...fault, kind: idempotent ? 'failed' : 'unknown-outcome' })
  }
  const outcome = decodeOutcome(status, text)
  if (resent !== true || outcome.ok || !isFirstSendOutcomeUnknown(outcome.fault)) return outcome
  // The first transmission may have been carried out, possibly by a process that has restarted since.
  const mayGoAgain = idempotent && readMeshRefusalReason(outcome.fault) === 'unknown-session'
  return mayGoAgain ? outcome : fail(createLostMeshAnswerFault(from, idempotent, 'the connection broke'))
}
