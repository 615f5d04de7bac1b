/**
 * Thought authorship: whether a thought is the agent's own. The first key that an agent signs with becomes its key;
 * from then on every record under that name needs it, until a person replaces or revokes the key.
 *
 *   (no key) ──first signature──▶ key ──person: another──▶ given key ──person: none──▶ unsigned records only
 */
import type { Fault } from '../../core/fault.ts'
import { createRuntimeFault } from '../faults.ts'
import { isThoughtSignedBy } from './thought.ts'
import type { ThoughtSignature, ThoughtToSign } from './thought.ts'
import type { RuntimeState } from '../runtime-state.ts'

/** Why the record is refused, or `undefined`. */
export function explainThoughtSignatureRefusal(
  { agentKeys, signatures }: Pick<RuntimeState, 'agentKeys' | 'signatures'>,
  statement: ThoughtToSign,
  signature: ThoughtSignature | undefined,
): Fault | undefined {
  // Trust on first use: `agent_id` in spec 5 is only a text, so an agent's key cannot be known beforehand.
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
  // Ed25519 signatures are deterministic, so a repeated signature may be another party's replay.
  if (signatures.has(signature.value))
    return createRuntimeFault('ERR_SIGNATURE_REPLAYED', 'That signed statement is already on record.', { agent_id })
  return undefined
}

function invalidSignature(agent_id: string, message: string): Fault {
  return createRuntimeFault('ERR_SIGNATURE_INVALID', message, { agent_id })
}
