/**
 * Thought authorship: whether the words are the agent's own. The first key an agent signs with becomes its key; from then on
 * nobody writes under that name without it, until a person gives the agent another key or takes it away.
 *
 *   (no key) ──first signature──▶ key ──person: another──▶ given key ──person: none──▶ unsigned records only
 */
import type { Fault } from '../../core/fault.ts'
import { createRuntimeFault } from '../faults.ts'
import { isThoughtSignedBy } from './thought.ts'
import type { ThoughtSignature, ThoughtStatement } from './thought.ts'
import type { RuntimeState } from '../runtime-state.ts'

/** Why the record is refused, or `undefined`. */
export function explainAuthorRefusal(
  { agentKeys, signatures }: Pick<RuntimeState, 'agentKeys' | 'signatures'>,
  statement: ThoughtStatement,
  signature: ThoughtSignature | undefined,
): Fault | undefined {
  // Trust on first use: spec 5 has only text for `agent_id`, so there is nobody to ask for an agent's key beforehand.
  const known = agentKeys.get(statement.agent_id)
  const { agent_id } = statement
  if (signature === undefined) {
    if (known?.key === undefined) return undefined
    return invalidSignature(
      agent_id,
      `${agent_id} has a key; its records have to be signed with it. A person can give it another key or take it away (hearthbus agents).`,
    )
  }
  if (known !== undefined && known.key === undefined)
    return invalidSignature(agent_id, `The key of ${agent_id} was revoked; only a person gives it another.`)
  if (known !== undefined && known.key !== signature.public_key)
    return invalidSignature(agent_id, `${agent_id} is known by another key.`)
  if (!isThoughtSignedBy(statement, signature))
    return invalidSignature(agent_id, 'The signature is not of these words by this key.')
  // Ed25519 signs the same words with the same bytes: a repetition may be somebody else's.
  if (signatures.has(signature.value))
    return createRuntimeFault('ERR_SIGNATURE_REPLAYED', 'That signed statement is already on record.', { agent_id })
  return undefined
}

function invalidSignature(agent_id: string, message: string): Fault {
  return createRuntimeFault('ERR_SIGNATURE_INVALID', message, { agent_id })
}
