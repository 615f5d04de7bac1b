/**
 * Bus family: the envelope of capabilities that belong to no family of this node.
 *
 *   { ok: true, data }   or   { ok: false, error: { error, message, retry_after_ms?, … } }   (CONTRACT § 5.4)
 *
 * Pure.
 */
import type { Family } from './capability.ts'
import { errorBody } from './code.ts'

export const busFamily: Family = {
  name: 'bus',
  success: (data) => ({ ok: true, data }),
  failure: (fault) => ({ structured: { ok: false, error: errorBody(fault) }, isError: true }),
  outputSchema: (offer) => ({
    type: 'object',
    properties: { ok: { const: true }, data: offer.responseSchema ?? {} },
    required: ['ok', 'data'],
  }),
}
