/**
 * Ledger definitions: the tools that show the ledger to anybody who wants to check it.
 *
 * A call may make the node sign its present tree, which changes no record, so their effect is to read.
 */
import { z } from 'zod'
import { defineRuntimeTool } from '../runtime-tool.ts'
import { createIdArgument } from '../text-arguments.ts'

/**
 * A lock key of its own: reading a long ledger takes many seconds, during which other tools must not wait. Appends may
 * continue meanwhile; two verifications at once are useless.
 */
const VERIFY_LOCK = 'runtime:verify'

/** The size of a tree, or the number of an entry, both counted from 0. */
const size = z.int().min(0).max(Number.MAX_SAFE_INTEGER)

export const ledgerCheckpointTool = defineRuntimeTool({
  effect: 'reads',
  name: 'ledger_checkpoint',
  title: 'Signed checkpoint of the ledger',
  description:
    'Signs the ledger as it is now and returns the checkpoint (a C2SP signed note). Keep it outside this house: whoever has an old checkpoint can show later that nothing before it was changed, with ledger_consistency.',
  input: z.strictObject({}),
  output: z.object({
    checkpoint: z.string(),
    origin: z.string(),
    size: z.int(),
    root: z.string().describe('base64, as in the checkpoint.'),
    verifier_key: z.string().describe('C2SP vkey; whoever has it can check every signature of this ledger.'),
    cosignatures: z.int().describe('How many witnesses have signed it, too.'),
  }),
})

export const ledgerProofTool = defineRuntimeTool({
  effect: 'reads',
  name: 'ledger_proof',
  title: 'Proof that something is in the ledger',
  description:
    'Returns one ledger entry and a C2SP tlog-proof that it is in the signed ledger, which anybody can check offline: SHA-256(0x00 ‖ leaf) is the leaf hash. `log_index` comes from task, thought, session and skill tools. With `with_body` it also opens what the entry commits to: hex SHA-256(salt ‖ body) is the `body_hash` in the leaf.',
  input: z.strictObject({ log_index: size, with_body: z.boolean().default(false) }),
  output: z.object({
    log_index: z.int(),
    leaf: z.string().describe('The exact bytes of the entry: canonical JSON.'),
    leaf_hash: z.string().describe('hex'),
    proof: z.string().describe('C2SP tlog-proof, with its checkpoint.'),
    verifier_key: z.string(),
    body: z.enum(['kept', 'erased', 'none']).describe('Whether content beside the entry is still there.'),
    opening: z
      .object({ salt: z.string().describe('hex'), body: z.string().describe('The exact text that was hashed.') })
      .exactOptional(),
  }),
})

/** For a person with a trace id from a log or a peer, who wants to know what this node wrote about it. */
export const ledgerTraceTool = defineRuntimeTool({
  effect: 'reads',
  name: 'ledger_trace',
  title: 'What the ledger says about a trace',
  description:
    'Returns the entries of this ledger under one trace id, the newest 200 if there are more: when a call came in, who asked, how it ended, which approval it used. Callers may choose the id, so calls of several may bear it: read `principal`. A call that crossed nodes has entries in the ledger of each, under the same trace id. Prove any of them with ledger_proof; arguments and results are not in it.',
  input: z.strictObject({ trace_id: createIdArgument() }),
  output: z.object({
    trace_id: z.string(),
    origin: z.string().describe('Whose ledger this is: the name in its checkpoints.'),
    entries: z.array(z.object({ log_index: z.int(), at: z.string(), kind: z.string(), entry: z.unknown() })),
  }),
})

export const ledgerConsistencyTool = defineRuntimeTool({
  effect: 'reads',
  name: 'ledger_consistency',
  title: 'Proof that the ledger only grew',
  description:
    'Returns the RFC 6962 proof that the ledger of `to_size` entries (now, unless told) extends the one of `from_size`. Compare `from_root` with the root of the checkpoint you kept.',
  input: z.strictObject({ from_size: size, to_size: size.exactOptional() }),
  output: z.object({
    from_size: z.int(),
    to_size: z.int(),
    from_root: z.string().describe('base64'),
    to_root: z.string().describe('base64'),
    proof: z.array(z.string()).describe('base64 hashes'),
  }),
})

export const ledgerVerifyTool = defineRuntimeTool({
  effect: 'reads',
  lock: VERIFY_LOCK,
  name: 'ledger_verify',
  title: 'Verify the ledger',
  description:
    'Derives the ledger again from its stored bytes and compares it with everything this node has signed: edited, missing, added and reordered entries are found, and tasks, audit sessions, approvals, grants and tokens that do not say what the ledger says of them. Checks what came since the last clean run, everything with `full`, or with `sample` only some entries, drawn so that nobody chooses them.',
  input: z.strictObject({ full: z.boolean().default(false), sample: z.boolean().exactOptional() }),
  output: z.object({
    valid: z.boolean(),
    from: z.int().describe('First entry that was read.'),
    size: z.int(),
    root: z.string().nullable().describe('base64; null when entries are missing.'),
    findings: z.array(z.string()),
    more_findings: z.int(),
    erased_count: z.int().describe('Entries read that say words were erased on request; their hashes still hold.'),
    compared: z
      .boolean()
      .describe('Whether tasks and sessions were compared, too: when every entry was read, as with `full`.'),
    state: z
      .enum(['sound', 'damaged', 'refusing'])
      .describe('`damaged`: a verification found something; `refusing`: nothing is recorded or signed any more.'),
    state_reason: z.string().exactOptional(),
    draw: z
      .object({
        alpha_hex: z.string(),
        public_key_hex: z.string(),
        proof_hex: z.string(),
        output_hex: z.string(),
        entries: z.array(z.int()),
      })
      .exactOptional()
      .describe('Of a sample; vrf_verify checks it.'),
  }),
  timeoutSeconds: 600,
})
