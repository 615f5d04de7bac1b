/**
 * Default family envelope: the envelope of capabilities that belong to no family of this node.
 *
 *   { ok: true, data }   or   { ok: false, error: { error, message, retry_after_ms?, … } }   (CONTRACT § 5.4)
 */
import type { FamilyEnvelope, JsonSchema, Offer } from './capability.ts'
import { toErrorBodyJson } from './error-code.ts'

export const defaultFamilyEnvelope: FamilyEnvelope = {
  name: 'bus',
  success: (data) => ({ ok: true, data }),
  failure: (fault) => ({ structured: { ok: false, error: toErrorBodyJson(fault) }, isError: true }),
  outputSchema,
}

const ERROR: JsonSchema = {
  type: 'object',
  properties: { error: { type: 'string' }, message: { type: 'string' } },
  required: ['error', 'message'],
}

/**
 * Failures are in the schema as well: clients of the 2025 revisions validate structured content even when `isError` is
 * set.
 */
function outputSchema({ responseSchema }: Offer): JsonSchema {
  // References inside a schema count from its root, so definitions move up with it.
  const { $defs, ...data } = responseSchema ?? {}
  return {
    type: 'object',
    properties: { ok: { type: 'boolean' }, data, error: ERROR },
    required: ['ok'],
    anyOf: [
      { properties: { ok: { const: true } }, required: ['data'] },
      { properties: { ok: { const: false } }, required: ['error'] },
    ],
    ...($defs === undefined ? {} : { $defs }),
  }
}
