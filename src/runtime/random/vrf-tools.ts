/** VRF tools: vrf_eval and vrf_verify (spec 5 § 6.3, failure pattern A). */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { fromHex, toHex } from '../../core/bytes.ts'
import { fail } from '../../core/result.ts'
import { createRuntimeOutcome } from '../runtime-dependencies.ts'
import { defineRuntimeTool } from '../runtime-tool.ts'
import { createRuntimeArgumentFault, createRuntimeFault } from '../faults.ts'
import { createIdArgument } from '../text-arguments.ts'
import { isRandomDrawInput } from '../../ledger/random-draw.ts'
import {
  ECVRF_SUITE_NAME,
  isVrfPublicKey,
  VRF_PROOF_BYTES,
  VRF_PUBLIC_KEY_BYTES,
  computeVrfOutput,
  createVrfProof,
  deriveVrfPublicKey,
  verifyVrfProof,
} from '../../ledger/ecvrf.ts'

/** Longer inputs must be hashed by the caller. */
const MAX_ALPHA_BYTES = 1_024
/** The name of the node's only VRF key. */
const NODE_VRF_KEY_NAME = 'node'

const hexBytes = (max: number): z.ZodString =>
  z
    .string()
    .max(2 * max)
    .regex(/^(?:[0-9a-fA-F]{2})*$/, 'bytes in hexadecimal')
const alpha = hexBytes(MAX_ALPHA_BYTES).describe('The input, in hexadecimal; may be empty.')

const vrfEvalTool = defineRuntimeTool({
  effect: 'reads',
  name: 'vrf_eval',
  title: 'Verifiable random output',
  description:
    'Computes the output that this node’s key has for an input, with a proof that anybody can check with vrf_verify (RFC 9381). One key and one input have one output, which nobody could have chosen or foreseen: for drawing who is next, or which entries are checked.',
  input: z.strictObject({
    alpha_hex: alpha,
    key_id: createIdArgument()
      .exactOptional()
      .describe(`\`${NODE_VRF_KEY_NAME}\`, unless told; the only one there is.`),
  }),
  output: z.object({
    suite: z.string(),
    public_key_hex: z.string(),
    output_hex: z.string().describe('64 bytes.'),
    proof_hex: z.string().describe('80 bytes.'),
  }),
})

const vrfVerifyTool = defineRuntimeTool({
  effect: 'reads',
  name: 'vrf_verify',
  title: 'Check a verifiable random output',
  description:
    'Checks a proof of vrf_eval, of this node or another (RFC 9381, ECVRF-EDWARDS25519-SHA512-TAI), and returns the output that it proves.',
  input: z.strictObject({
    public_key_hex: hexBytes(VRF_PUBLIC_KEY_BYTES),
    alpha_hex: alpha,
    proof_hex: hexBytes(VRF_PROOF_BYTES),
  }),
  output: z.object({ valid: z.boolean(), output_hex: z.string().exactOptional() }),
})

export function createVrfTools(secret: Uint8Array): readonly Capability[] {
  const publicKey = deriveVrfPublicKey(secret)
  return [
    vrfEvalTool.handledBy(async ({ alpha_hex: alphaHex, key_id: key = NODE_VRF_KEY_NAME }) => {
      if (key !== NODE_VRF_KEY_NAME)
        return fail(createRuntimeFault('INVALID_KEY', `This node has no key ${JSON.stringify(key)}.`))
      const input = fromHex(alphaHex)
      if (isRandomDrawInput(input))
        return fail(
          createRuntimeArgumentFault(
            'alpha_hex',
            'this input belongs to the node’s own draws; their outputs are published when they are drawn',
          ),
        )
      const proof = createVrfProof(secret, input)
      return createRuntimeOutcome({
        suite: ECVRF_SUITE_NAME,
        public_key_hex: toHex(publicKey),
        output_hex: toHex(computeVrfOutput(proof)),
        proof_hex: toHex(proof),
      })
    }),
    vrfVerifyTool.handledBy(async ({ public_key_hex: keyHex, alpha_hex: alphaHex, proof_hex: proofHex }) => {
      const key = fromHex(keyHex)
      if (!isVrfPublicKey(key))
        return fail(
          createRuntimeFault('INVALID_KEY', 'The public key is not a point of the curve, or is of small order.'),
        )
      const output = verifyVrfProof(key, fromHex(alphaHex), fromHex(proofHex))
      return createRuntimeOutcome(output === undefined ? { valid: false } : { valid: true, output_hex: toHex(output) })
    }),
  ]
}
