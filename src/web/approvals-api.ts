/**
 * Approvals API: requests that wait for a person's decision, and grants for future calls. The guard decides who
 * may decide.
 */
import type { Fault } from '../core/fault.ts'
import { ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { Approval } from '../guard/approval.ts'
import type { Grant } from '../guard/grant.ts'
import { approveRequestSchema, denyRequestSchema } from './api-requests.ts'
import {
  createApiResponse,
  readRequestBodyBySchema,
  parseCountOrDefault,
  createRefusalResponse,
} from './api-context.ts'
import type { HonoApi, ApiOptions } from './api-context.ts'
import { toApprovalView, mayReadApproval } from './approval-view.ts'
import type { ApprovalView } from './views.ts'

export function addApprovalRoutes(api: HonoApi, { guard, bus }: ApiOptions): void {
  const view = (approval: Approval): ApprovalView => toApprovalView(bus, approval)
  const decided = (outcome: Result<Approval, Fault>): Response =>
    createApiResponse(outcome.ok ? ok(view(outcome.value)) : outcome)
  api.get('/approvals', (context) => {
    const state = context.req.query('state')
    const { caller } = context.var
    const wanted = guard.approvals
      .list({ limit: parseCountOrDefault(context.req.query('limit'), 50) })
      .filter((approval) => state === undefined || approval.state === state)
      .filter((approval) => mayReadApproval(caller, approval, { bus, guard }))
    return context.json(wanted.map((approval) => view(guard.approvals.shownTo(approval, caller))))
  })
  api.get('/approvals/:id', (context) => {
    const approval = guard.approvals.get(context.req.param('id'))
    if (approval === undefined || !mayReadApproval(context.var.caller, approval, { bus, guard }))
      return createRefusalResponse(404, 'There is no such request for approval.')
    return context.json(view(guard.approvals.shownTo(approval, context.var.caller)))
  })
  api.post('/approvals/:id/approve', async (context) => {
    const { grant } = await readRequestBodyBySchema(context, approveRequestSchema)
    return decided(
      await guard.approvals.approve(context.req.param('id'), context.var.caller, grant === undefined ? {} : { grant }),
    )
  })
  api.post('/approvals/:id/deny', async (context) => {
    const { reason } = await readRequestBodyBySchema(context, denyRequestSchema)
    return decided(await guard.approvals.deny(context.req.param('id'), context.var.caller, reason))
  })
  api.get('/grants', (context) => {
    const which = context.req.query('all') === undefined ? 'in-force' : 'all'
    const mayRead = ({ principal, tool, target }: Grant): boolean =>
      guard.mayRead(context.var.caller, { principal, target, effect: 'sensitive' }, bus.offer(tool))
    return context.json(guard.grants.list(which).filter(mayRead))
  })
  api.delete('/grants/:id', async (context) =>
    createApiResponse(await guard.grants.end(context.req.param('id'), context.var.caller)),
  )
}
