/**
 * Audit tool: what was called, by whom, and what became of it.
 *
 * Reads through the audit trail.
 */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/tool.ts'
import { AUDIT_RESULTS } from './audit.ts'
import { answer, type Homeseer } from './dependencies.ts'
import { homeseerFamily } from './envelope.ts'

export function auditQuery({ audit }: Homeseer): Capability {
  return defineTool({
    family: homeseerFamily,
    effect: 'reads',
    name: 'hs4.audit.query',
    title: 'Query the audit',
    description:
      'Calls of the HomeSeer tools, newest first, from the signed ledger: who, what, when, and whether it was allowed. Secrets are hidden. `traceId` is what auditRef names.',
    input: z.strictObject({
      tool: z.string().max(128).exactOptional(),
      action: z.string().max(128).exactOptional(),
      result: z.enum(AUDIT_RESULTS).exactOptional(),
      since: z.iso.datetime({ offset: true }).exactOptional().describe('ISO 8601, such as 2026-01-31T12:00:00Z.'),
      traceId: z.string().max(64).exactOptional(),
      // The contract's bounds; what a question looks at is bounded by the store as well.
      limit: z.int().min(1).max(10_000).default(100),
    }),
    output: z.looseObject({ entries: z.array(z.looseObject({ id: z.string(), result: z.enum(AUDIT_RESULTS) })) }),
  }).handledBy(async (filter) => answer({ entries: [...audit.query(filter)] }))
}
