/**
 * Agent key tools: the tools with which a person lists, replaces and revokes the keys that agents sign with. An agent
 * that lost its key must not be locked out of its name for good.
 *
 * Models do not see these tools: an agent that decided about keys could take another agent's name.
 *
 * Reads and writes through the ledger.
 */
import { z } from 'zod'
import type { Call } from '../../bus/call.ts'
import { toCallerKey } from '../../bus/caller.ts'
import type { CallAssessment, Capability } from '../../bus/capability.ts'
import { defineChange } from '../../bus/capability-definition.ts'
import { fail, ok } from '../../core/result.ts'
import { explainAdministrationRefusal } from '../../guard/administration-and-record-rights.ts'
import { createRuntimeOutcome, toRuntimeOutcome, readCallOrigin, RUNTIME_LOCK_KEY } from '../runtime-dependencies.ts'
import type { RuntimeRecordDependencies } from '../runtime-dependencies.ts'
import { runtimeFamilyEnvelope } from '../runtime-envelope.ts'
import { createRuntimeFault } from '../faults.ts'
import { defineRuntimeTool, addFailurePatternToDescription } from '../runtime-tool.ts'
import type { AgentKey, RuntimeState } from '../runtime-state.ts'
import { createIdArgument, MAX_REASON_LENGTH, createTextArgument } from '../text-arguments.ts'
import { isPublicKey, publicKeyArgument } from './thought.ts'

/** The entry with which a person gives an agent another key, or none. */
export const AGENT_KEY_KIND = 'agent.key'

const MAX_LISTED = 1_000

const agentOutput = z.object({
  agent_id: z.string(),
  public_key: z.string().nullable().describe('base64; null: revoked, records are unsigned.'),
  given_by_person: z.boolean().describe('False: the first key that the agent signed with.'),
  since: z.string(),
  log_index: z.int(),
})

const common = { lock: RUNTIME_LOCK_KEY, face: { kind: 'service' }, trustRequired: 'self' } as const

function assessAdministration(effect: 'reads' | 'admin', { caller }: Call, label?: string): CallAssessment {
  const flaw = explainAdministrationRefusal(caller)
  const reasons = flaw === undefined ? [] : (flaw.reasons ?? [{ rule: 'role', message: flaw.message }])
  return { effect, reasons, ...(label === undefined ? {} : { label }) }
}

const agentKeyList = defineRuntimeTool({
  ...common,
  effect: 'reads',
  assess: (_input, call) => assessAdministration('reads', call),
  name: 'agent_key_list',
  title: 'Keys of agents',
  description: 'Lists the agents whose records are signed, and with which key.',
  input: z.strictObject({}),
  output: z.object({ agents: z.array(agentOutput), omitted: z.int() }),
})

const setInput = z.strictObject({
  agent_id: createIdArgument(),
  public_key: publicKeyArgument.nullable().describe('The new key; null takes the key away.'),
  reason: createTextArgument(MAX_REASON_LENGTH),
})

export function createAgentKeyTools(
  { database, ledger }: RuntimeRecordDependencies,
  { agentKeys }: Pick<RuntimeState, 'agentKeys'>,
): readonly Capability[] {
  return [
    agentKeyList.handledBy(async () => {
      const agents = [...agentKeys.entries()].map(([agent, key]) => agentView(agent, key))
      return createRuntimeOutcome({
        agents: agents.slice(0, MAX_LISTED),
        omitted: Math.max(0, agents.length - MAX_LISTED),
      })
    }),

    defineChange({
      ...common,
      family: runtimeFamilyEnvelope,
      effect: 'admin',
      idempotent: false,
      name: 'agent_key_set',
      title: 'Rotate or revoke the key of an agent',
      description: addFailurePatternToDescription(
        'agent_key_set',
        'Gives an agent another key to sign its records with, or takes its key away. Records that were signed stay so. Afterwards no signature makes another key the agent’s: only a person does.',
      ),
      input: setInput,
      output: agentOutput,
      plan: ({ public_key: key }) =>
        key === null || isPublicKey(key)
          ? ok(undefined)
          : fail(createRuntimeFault('INVALID_KEY', 'The public key is not a point of the curve.')),
      assess: (_plan, { agent_id: agent }, call) => assessAdministration('admin', call, agent),
      act: async (_plan, { agent_id: agent, public_key: key, reason }, call) =>
        toRuntimeOutcome(
          await database.commit(() => {
            const before = agentKeys.get(agent)
            if (before?.isGiven === true && (before.key ?? null) === key) return ok(agentView(agent, before))
            const keys = { public_key: key ?? undefined, previous_key: before?.key }
            const by = toCallerKey(call.caller)
            ledger.appendIn({ kind: AGENT_KEY_KIND, agent_id: agent, ...keys, by, ...readCallOrigin(call) }, { reason })
            const now = agentKeys.get(agent)
            if (now === undefined) throw new Error(`the key of ${agent} was set and is not there`)
            return ok(agentView(agent, now))
          }),
        ),
    }),
  ]
}

function agentView(agent_id: string, { key, isGiven, since, logIndex }: AgentKey): z.output<typeof agentOutput> {
  return { agent_id, public_key: key ?? null, given_by_person: isGiven, since, log_index: logIndex }
}
