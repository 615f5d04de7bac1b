/**
 * Rollback tool: undoes one administration call.
 *
 * Reads and writes through the bus and the rollback store.
 */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { isFaultBeforeAttempt, type Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { createHs4Fault } from '../tools/faults.ts'
import {
  BASE_GUARD_ARGUMENT_SCHEMAS,
  createTolerantInputSchema,
  defineHomeseerChange,
} from '../tools/homeseer-change.ts'
import { createHomeseerOutcome } from '../tools/homeseer-envelope.ts'
import type { HomeseerToolContext } from '../tools/homeseer-tool-context.ts'
import { toTextOrEmpty } from '../tools/json-text.ts'
import {
  ADMIN_ENVELOPE_SCHEMA,
  createPlannedAdminEnvelope,
  createAdminRefusalDetails,
  formatAuditRef,
} from './admin-envelope.ts'
import { ADMIN_DECLARATION_ARGUMENT_SCHEMAS } from './admin-operation.ts'
import { createAdminCallRedactor } from './admin-redaction.ts'
import type { AdminRollback, AdminRollbackStore } from './rollback-store.ts'

/** Undoes one administration call by another call, which passes every gate itself. */
export function createRollbackTool(homeseer: HomeseerToolContext, rollbacks: AdminRollbackStore): Capability {
  const input = createTolerantInputSchema({
    rollbackId: z.string().min(1).max(64),
    ...BASE_GUARD_ARGUMENT_SCHEMAS,
    ...ADMIN_DECLARATION_ARGUMENT_SCHEMAS,
  })
  const { requireChangeTicket: requireTicket, executionMode: route } = homeseer.config.admin
  return defineHomeseerChange(homeseer.rules, {
    name: 'hs4.admin.rollback',
    title: 'Take an act of administration back',
    description:
      'Brings back what was before an act of administration whose answer said `rollback: "available"`, once.',
    input,
    output: ADMIN_ENVELOPE_SCHEMA,
    effect: 'admin',
    lock: ({ rollbackId }) => `homeseer:rollback:${toTextOrEmpty(rollbackId)}`,
    timeoutSeconds: 120,
    plan: async ({ rollbackId }) => findRollback(rollbacks, rollbackId),
    refusal: (claims, call, rollback) =>
      createAdminRefusalDetails({
        domain: rollback?.domain ?? null,
        claims,
        requireTicket,
        auditRef: formatAuditRef(call),
      }),
    rehearse: ({ id, domain, tool, args, undoes }, claims, call) => {
      const common = {
        domain,
        claims,
        redaction: createAdminCallRedactor({}, args),
        requireTicket,
        auditRef: formatAuditRef(call),
      }
      return createPlannedAdminEnvelope({ ...common, data: { rollbackId: id, undoes, by: tool } }, route)
    },
    assess: ({ id, domain, tool, args, undoes }) => ({
      effect: 'admin',
      target: `homeseer:rollback:${id}`,
      label: `Take back ${undoes}`,
      touched: { domain },
      preview: { undoes, by: tool, arguments: args },
    }),
    act: async (rollback, claims, context) => {
      // Taken before it is tried: of two concurrent callers only one may undo.
      if (!(await rollbacks.take(rollback.id))) return fail(usedUp(rollback))
      const { rollbackId: _, ...guard } = claims
      const outcome = await context.call(rollback.tool, { ...rollback.args, ...guard }, { isLocal: true })
      if (outcome.ok)
        return createHomeseerOutcome({
          ...(outcome.value.data as JsonObject),
          rolledBack: rollback.undoes,
          rollbackId: rollback.id,
        })
      // Nothing was sent to HomeSeer, so the rollback is unused and may be tried again.
      if (isFaultBeforeAttempt(outcome.fault)) await rollbacks.giveBack(rollback.id)
      return outcome
    },
  })
}

function findRollback(rollbacks: AdminRollbackStore, id: string): Result<AdminRollback, Fault> {
  const rollback = rollbacks.get(id)
  if (rollback === undefined)
    return fail(
      createHs4Fault('NOT_FOUND', `There is nothing to take back under ${id}.`, {
        fixHint: 'Use the rollbackId of an act of administration that was answered with `rollback: "available"`.',
      }),
    )
  return rollback.state === 'used' ? fail(usedUp(rollback)) : ok(rollback)
}

function usedUp({ id, undoes }: AdminRollback): Fault {
  return { kind: 'conflict', code: 'BAD_REQUEST', message: `${undoes} was taken back already (${id}).` }
}
