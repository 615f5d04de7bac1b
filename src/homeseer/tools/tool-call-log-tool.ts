/**
 * Audit tool: lists calls with their callers and results.
 *
 * Reads through the audit trail.
 */
import { omitUndefined } from '../../core/json.ts'
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import { ok } from '../../core/result.ts'
import { formatCursorScope, encodeCursor } from '../../toolbox/cursor.ts'
import { HOMESEER_AUDIT_RESULTS } from './homeseer-audit.ts'
import type { AuditAccessPredicate } from './homeseer-audit.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { createHomeseerOutcome, HOMESEER_READ_DEFAULTS } from './homeseer-envelope.ts'
import { decodeNumberCursor } from './paging.ts'
import { createTolerantInputSchema } from './homeseer-change.ts'

export function createAuditQueryTool({ audit, guard }: HomeseerToolContext): Capability {
  const tool = defineTool({
    ...HOMESEER_READ_DEFAULTS,
    name: 'hs4.audit.query',
    title: 'Query the audit',
    description:
      'Calls of the HomeSeer tools, newest first, from the signed ledger: who, what, when, and whether it was allowed. Secrets are hidden. `traceId` is what auditRef names. Where `nextCursor` is not null, older calls were not looked at yet, even if there are no entries.',
    input: createTolerantInputSchema({
      tool: z.string().max(128).exactOptional(),
      action: z.string().max(128).exactOptional(),
      result: z.enum(HOMESEER_AUDIT_RESULTS).exactOptional(),
      since: z.iso.datetime({ offset: true }).exactOptional().describe('ISO 8601, such as 2026-01-31T12:00:00Z.'),
      traceId: z.string().max(64).exactOptional(),
      // The contract's bounds; the store limits how much one call searches.
      limit: z.int().min(1).max(10_000).default(40),
      cursor: z
        .string()
        .min(1)
        .max(200)
        .exactOptional()
        .describe('`nextCursor` of the answer before, with the same filters: goes on where it stopped.'),
    }),
    output: z.looseObject({
      entries: z.array(z.looseObject({ id: z.string(), result: z.enum(HOMESEER_AUDIT_RESULTS) })),
      nextCursor: z.string().nullable(),
    }),
  })
  return tool.handledBy(async ({ cursor, limit, ...filter }, { caller }) => {
    const scope = formatCursorScope('audit', filter)
    const before = cursor === undefined ? ok(undefined) : decodeNumberCursor(cursor, scope)
    if (!before.ok) return before
    const place = omitUndefined({ before: before.value })
    // A caller that has this tool in its profiles may use the whole family.
    const mayRead: AuditAccessPredicate = (record) => guard.mayRead(caller, record, tool.offer)
    const { entries, next } = await audit.query({ ...filter, ...place, limit }, mayRead)
    return createHomeseerOutcome({
      entries: [...entries],
      nextCursor: next === undefined ? null : encodeCursor(scope, [next]),
    })
  })
}
