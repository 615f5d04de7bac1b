/**
 * RPC arguments: the arguments and the answer of every method call.
 */
import { z } from 'zod'
import type { Json } from '../../core/json.ts'
import { addressArgument, busArgument, ebusIdempotencyKeyArgument } from './arguments.ts'
import { createEbusOutputSchema } from './ebus-envelope.ts'

/** The older gateway's default, on which its callers rely. */
const DEFAULT_TIMEOUT_MS = 3_000
const MAX_TIMEOUT_MS = 25_000
export const methodNameArgument = z.string().trim().min(1).max(64)
const params = z
  .record(z.string().max(64), z.custom<Json>())
  .default({})
  .describe('What the method takes; registry.methods.list has it under `params_schema`. `source` can be left out.')

const shared = {
  address: addressArgument,
  plane: methodNameArgument,
  method: methodNameArgument,
  params,
  idempotency_key: ebusIdempotencyKeyArgument.exactOptional(),
  timeout_ms: z.int().min(1).max(MAX_TIMEOUT_MS).default(DEFAULT_TIMEOUT_MS).describe('How long the bus may take.'),
  max_age_ms: z
    .int()
    .min(0)
    .exactOptional()
    .describe(
      'For reads: how old an answer may be; 0 asks the device in any case. Without it a minute, or five for settings.',
    ),
  bus: busArgument,
}

const intent = z
  .string()
  .trim()
  // Case matters: a word that opens a gate is not guessed.
  .pipe(z.enum(['READ_ONLY', 'MUTATE']))
  .meta({ enum: ['READ_ONLY', 'MUTATE'] })

export const invokeInputSchema = z.strictObject({
  ...shared,
  intent: intent.describe(
    'READ_ONLY refuses methods that change something. MUTATE needs allow_dangerous and idempotency_key.',
  ),
  allow_dangerous: z.boolean().describe('True for methods that change something; false for reads.'),
})
/** The legacy name required neither; both have the harmless default then. */
export const legacyInvokeInputSchema = z.strictObject({
  ...shared,
  intent: intent.default('READ_ONLY'),
  allow_dangerous: z.boolean().default(false),
})
export type MethodInvocation = z.output<typeof invokeInputSchema>

export const rpcOutputSchema = createEbusOutputSchema(
  z
    .record(z.string(), z.object({ value: z.unknown(), valid: z.boolean() }))
    .describe('Named values; bytes as hex. A value that the device did not give is null and not valid.'),
)

export const INVOKE_TOOL_NAME = 'ebus.v1.rpc.invoke'
