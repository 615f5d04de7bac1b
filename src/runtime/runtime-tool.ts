/**
 * Runtime tool: a tool of the runtime family, whose description says in which of spec 5's two patterns it fails, and
 * how the tools that keep records take an idempotency key.
 */
import { z } from 'zod'
import type { CallAssessment } from '../bus/capability.ts'
import { defineTool } from '../bus/capability-definition.ts'
import type { ToolWithoutHandler, ToolDefinition } from '../bus/capability-definition.ts'
import type { JsonObject } from '../core/json.ts'
import { RUNTIME_LOCK_KEY } from './runtime-dependencies.ts'
import { selectErrorEnvelopePattern, runtimeFamilyEnvelope } from './runtime-envelope.ts'

const PATTERN_SENTENCES = {
  A: 'Failures: pattern A, `{ok: false, error}` with `isError`.',
  B: 'Failures: pattern B, `{ok: true, data: {ok: false, error}}`; refused arguments: pattern A.',
} as const

/**
 * A client has to know where to look for a failure (spec 5 § 6.2), so every tool's description says which pattern it
 * uses.
 */
export function addFailurePatternToDescription(name: string, description: string): string {
  return `${description} ${PATTERN_SENTENCES[selectErrorEnvelopePattern(name)]}`
}

export function defineRuntimeTool<Input extends z.ZodType<JsonObject, unknown>>(
  definition: Omit<ToolDefinition<Input>, 'family'>,
): ToolWithoutHandler<Input> {
  const { name, description } = definition
  return defineTool({
    lock: RUNTIME_LOCK_KEY,
    ...definition,
    family: runtimeFamilyEnvelope,
    description: addFailurePatternToDescription(name, description),
  })
}

export const idempotencyKeyArgument = z
  .string()
  .min(1)
  .max(128)
  .exactOptional()
  .describe('A word of your own, new for every record: a repeated call with it is answered and recorded once.')

/** The assessment of a call that adds a record. */
export function assessRecordCall({ idempotency_key: key }: { readonly idempotency_key?: string }): CallAssessment {
  return { effect: 'records', reasons: [], ...(key === undefined ? {} : { idempotencyKey: key }) }
}
