/**
 * Guide resources: how to work with audited tasks, for a model that is new to them: a resource to read and a prompt to
 * begin with.
 */
import { z } from 'zod'
import type { Capability } from '../bus/capability.ts'
import { ok } from '../core/result.ts'
import { createRuntimeOutcome } from './runtime-dependencies.ts'
import { defineRuntimeTool } from './runtime-tool.ts'
import { MAX_REASON_LENGTH, createTextArgument } from './text-arguments.ts'

const GUIDE_URI = 'hearthbus://runtime/audited-work'

const GUIDE = `# Audited work

Work on record: what was to be done, why it was done so, what was changed, and a proof of it that a stranger can check.

1. \`task_create {title, description?, priority?, depends_on?, follows?, more?}\`. \`more\` creates several tasks in one call; \`#0\` in their \`depends_on\` is the first of the call.
2. \`audit_session_start {intent, task_id}\`. Thoughts about that task now join the session by themselves. A thought that no session takes says so in \`unsealed\`.
3. \`task_update {id, transitions: [{status}, …]}\` along INIT ▸ GATHER ▸ ANALYZE ▸ PLAN ▸ APPLY ▸ VERIFY. No status is skipped. VERIFY ▸ GATHER tries again. CANCELLED needs a \`reason\`.
4. \`thought_record {type: plan | analysis | decision | reflection, task_id, agent_id, content}\` where you decide something. It stays for good.
5. Do the work. Put the task into the \`_meta\` of each call, \`{"io.hearthbus/task": id}\`: \`task_get {id, include: ["changes"]}\` then shows what it changed in the house, before and after.
6. \`task_update {id, status: "DONE", reflection: {agent_id, content}}\` from VERIFY: the reflection and DONE in one call. A task that is DONE or CANCELLED never changes again; later work is a task that \`follows\` it.
7. \`merkle_finalize {session_id, dry_run: true}\` verifies and names in \`left_out\` what the seal would lack; without \`dry_run\` it seals. \`close_empty\` closes a session without records.
8. \`ledger_proof\` and \`ledger_checkpoint\` give a stranger what is needed to check it offline.

\`task_get {id, include: ["history", "thoughts"]}\` tells a task's whole story. Give record tools an \`idempotency_key\` of your own: a call that is repeated with it is recorded once.

## Where failures stand

- Pattern A: \`{ok: false, error: {code, message, details?}}\` with \`isError\`. All tools for refused arguments (INVALID_PARAMS), and these for everything: \`server_*\`, \`skill_*\`, \`thought_*\`, \`audit_verify_chain\`, \`reputation_*\`, \`consensus_*\`, \`vrf_*\`, \`router_*\`, \`ledger_*\`, \`bus_*\`. The code of a domain error stands before the colon of the message and in \`details.code\`.
- Pattern B: \`{ok: true, data: {ok: false, error: {code, message, …}}}\` without \`isError\`: \`task_*\`, \`audit_session_start\`, \`merkle_finalize\`, \`merkle_root\`. Look at \`data.ok\` before you believe a success.
`

const guideResource = defineRuntimeTool({
  effect: 'reads',
  // A resource is a capability named by its URI, so that reading it passes through the same stages as any call.
  name: GUIDE_URI,
  title: 'How audited work goes',
  description: 'Tasks, thoughts, sessions and proofs step by step, and where failures stand.',
  face: { kind: 'resource', uri: GUIDE_URI, mimeType: 'text/markdown' },
  input: z.strictObject({}),
  output: z.string(),
})

const guidePrompt = defineRuntimeTool({
  effect: 'reads',
  name: 'audited_work',
  title: 'Do audited work',
  description: 'Begins work that is put on record, sealed and proved.',
  face: {
    kind: 'prompt',
    arguments: [{ name: 'goal', description: 'What is to be done.', required: true }],
  },
  input: z.strictObject({ goal: createTextArgument(MAX_REASON_LENGTH) }),
  output: z.looseObject({ messages: z.array(z.looseObject({})) }),
})

export function createGuideResources(): readonly Capability[] {
  return [
    guideResource.handledBy(async () => ok({ data: GUIDE })),
    guidePrompt.handledBy(async ({ goal }) =>
      createRuntimeOutcome({
        description: 'Audited work',
        messages: [
          {
            role: 'user',
            content: {
              type: 'text',
              text: `Do this as audited work, with the tools of this server: ${goal}\n\n${GUIDE}`,
            },
          },
        ],
      }),
    ),
  ]
}
