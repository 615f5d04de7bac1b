/**
 * Authorship: whether the words are the agent's own. The first key an agent signs with becomes its key; from then on
 * nobody writes under that name without it.
 *
 * Pure.
 */
import type { Fault } from '../../core/fault.ts'
import { fault } from '../faults.ts'
import { isSignedBy } from './thought.ts'
import type { Signature, Statement } from './thought.ts'
import type { RuntimeState } from '../runtime-state.ts'

/** Why the record is refused, or `undefined`. */
export function refuseAuthor(
  { agentKeys, signatures }: Pick<RuntimeState, 'agentKeys' | 'signatures'>,
  statement: Statement,
  signature: Signature | undefined,
): Fault | undefined {
  // Trust on first use: spec 5 has only text for `agent_id`, so there is nobody to ask for an agent's key beforehand.
  const known = agentKeys.get(statement.agent_id)
  const { agent_id } = statement
  if (signature === undefined) {
    if (known === undefined) return undefined
    return fault('ERR_SIGNATURE_INVALID', `${agent_id} has a key; its records have to be signed with it.`, { agent_id })
  }
  if (known !== undefined && known !== signature.public_key)
    return fault('ERR_SIGNATURE_INVALID', `${agent_id} is known by another key.`, { agent_id })
  if (!isSignedBy(statement, signature))
    return fault('ERR_SIGNATURE_INVALID', 'The signature is not of these words by this key.', { agent_id })
  // Ed25519 signs the same words with the same bytes: a repetition may be somebody else's.
  if (signatures.has(signature.value))
    return fault('ERR_SIGNATURE_REPLAYED', 'That signed statement is already on record.', { agent_id })
  return undefined
}
