/**
 * Audit export tool: audit_export, one packet about a task, a session or a span of time, for another agent that takes
 * over and for an auditor who checks it offline.
 */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import type { Fault } from '../../core/fault.ts'
import { fail } from '../../core/result.ts'
import { mayAddToNodesOwnRecords } from '../../guard/administration-and-record-rights.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { collectAuditPacket, formatAuditPacketCollectionFault } from '../../ledger/audit-packet-collection.ts'
import type { AuditPacketFault } from '../../ledger/audit-packet-collection.ts'
import { createRuntimeOutcome } from '../runtime-dependencies.ts'
import { defineRuntimeTool } from '../runtime-tool.ts'
import { createRuntimeFault } from '../faults.ts'
import { createIdArgument, timeArgument } from '../text-arguments.ts'
import { mayReadEntryBody, mayReadEntry, toLedgerToolFault } from './ledger-tools.ts'

const SCOPES = ['task_id', 'session_id', 'since'] as const
const list = z.array(z.record(z.string(), z.unknown()))

const auditExport = defineRuntimeTool({
  effect: 'reads',
  name: 'audit_export',
  title: 'A packet for handover or audit',
  description:
    'Returns everything on record about one task, one audit session or a span of time as one packet: tasks, thoughts, sessions, changes with what was before and after, approvals and who gave them; and every entry behind it with its proof, the content it commits to, and the signed checkpoint. Hand it to the agent that takes over, or to an auditor: `hearthbus ledger verify --bundle FILE` and examples/auditor.py check it offline. With `from_size` it also proves that the ledger extends an earlier checkpoint of that size, which the reader kept. Give exactly one of `task_id`, `session_id` and `since`.',
  input: z.strictObject({
    task_id: createIdArgument().exactOptional().describe('The task, and what its callers said was for it.'),
    session_id: createIdArgument()
      .exactOptional()
      .describe('From audit_session_start, with the tasks that it was about.'),
    since: timeArgument.exactOptional().describe('Everything but reads from then on; ISO 8601.'),
    from_size: z
      .int()
      .min(0)
      .max(Number.MAX_SAFE_INTEGER)
      .exactOptional()
      .describe('The size of a checkpoint that the reader kept.'),
  }),
  output: z.object({
    format: z.string(),
    scope: z.record(z.string(), z.unknown()),
    origin: z.string(),
    verifier_key: z.string(),
    checkpoint: z.string(),
    consistency: z.object({ from_size: z.int(), path: z.array(z.string()) }).exactOptional(),
    left_out: z
      .int()
      .describe('Entries that belong to it and that this caller may not read, or that are not signed yet.'),
    tasks: list,
    thoughts: list,
    sessions: list,
    changes: list,
    approvals: list,
    grants: list,
    entries: list.describe('Each with `leaf`, `path` and `opening`; `withheld` says why there is no opening.'),
  }),
})

export function createAuditExportTool(ledger: Ledger): readonly Capability[] {
  return [
    auditExport.handledBy(async ({ from_size: fromSize, ...scope }, { caller }) => {
      if (SCOPES.filter((name) => scope[name] !== undefined).length !== 1)
        return fail({ kind: 'invalid-arguments', message: 'Give exactly one of task_id, session_id and since.' })
      const packet = await collectAuditPacket(ledger, scope, {
        fromSize,
        mayRead: (entry) => mayReadEntry(ledger, entry, caller),
        mayOpen: (entry) => mayReadEntryBody(ledger, entry.seq, caller),
        under: mayAddToNodesOwnRecords(caller) ? undefined : 'existing',
      })
      return packet.ok ? createRuntimeOutcome(packet.value) : fail(packetFault(packet.fault))
    }),
  ]
}

function packetFault(reason: AuditPacketFault): Fault {
  switch (reason.kind) {
    case 'nothing-found':
      return createRuntimeFault('ERR_NOT_FOUND', formatAuditPacketCollectionFault(reason))
    case 'nothing-signed':
    case 'too-many':
      return createRuntimeFault('ERR_OUT_OF_RANGE', formatAuditPacketCollectionFault(reason))
    default:
      return toLedgerToolFault(reason)
  }
}
