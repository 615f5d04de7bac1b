/**
 * Approval status tools: show a caller the state of its own approval request. Waiting is a state with one next step,
 * and a client that receives notifications learns when it ends:
 *
 *   approval {id, wait_seconds}     waits, with progress where the client asked for it
 *   hearthbus://approvals/{id}      the same as a resource; its subscribers are notified of every change
 *
 * Reads the guard's records; withdraws requests of the caller itself.
 */
import { formatIsoTime } from '../toolbox/iso-time.ts'
import { z } from 'zod'
import { toCallerKey } from '../bus/caller.ts'
import type { HandlerContext } from '../bus/call-factory.ts'
import type { CallAssessment, Capability } from '../bus/capability.ts'
import { defineChange, defineTool } from '../bus/capability-definition.ts'
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { APPROVAL_WITHDRAWN_REASON } from '../guard/approval.ts'
import type { Approval } from '../guard/approval.ts'
import { formatApprovalResourceUri } from '../guard/guard-faults.ts'
import { HOME_TOOL_DEFINITION_DEFAULTS, createSentenceAnswer } from './home-dependencies.ts'
import type { HomeDependencies } from './home-dependencies.ts'
import { quoteForSentence } from './sentence-text.ts'

const MAX_WAIT_SECONDS = 100
const PROGRESS_EVERY_MS = 5_000

const approvalInput = z.strictObject({
  id: z.string().min(1).max(64),
  wait_seconds: z.int().min(0).max(MAX_WAIT_SECONDS).default(0),
  withdraw: z.boolean().default(false).describe('Take the request back.'),
})

const approvalResource = defineTool({
  ...HOME_TOOL_DEFINITION_DEFAULTS,
  name: 'approval.state',
  title: 'A request to a person',
  description: 'How a request of yours to a person stands. Subscribers hear when it is answered, used or lapses.',
  face: { kind: 'resource', uri: formatApprovalResourceUri('{id}'), mimeType: 'application/json' },
  input: z.strictObject({ id: z.string().min(1).max(64) }),
  effect: 'reads',
})

export function createApprovalStatusTools(parts: HomeDependencies): readonly Capability[] {
  return [
    defineChange({
      ...HOME_TOOL_DEFINITION_DEFAULTS,
      name: 'approval',
      title: 'How an approval stands',
      description:
        'How a request to a person stands: waits for the answer, or withdraws it. After a yes repeat the call.',
      input: approvalInput,
      effect: 'records',
      idempotent: true,
      timeoutSeconds: MAX_WAIT_SECONDS + 10,
      plan: (): Result<undefined, Fault> => ok(undefined),
      assess: (_, { withdraw }): CallAssessment => ({ effect: withdraw ? 'records' : 'reads', reasons: [] }),
      act: async (_, { id, wait_seconds: seconds, withdraw }, context) => {
        if (withdraw) {
          const withdrawn = await parts.guard.approvals.withdraw(id, context.caller)
          const closed = withdrawn.ok ? undefined : ownApproval(parts, id, context)
          if (closed !== undefined)
            return createSentenceAnswer(`${approvalSentence(closed)} There was nothing to withdraw.`, {
              approval: approvalJson(closed),
            })
          if (!withdrawn.ok) return createSentenceAnswer(`There is no request ${quoteForSentence(id)} of yours.`)
          return createSentenceAnswer('The request is withdrawn. Nothing was done.', {
            approval: { id, state: 'withdrawn' },
          })
        }
        const known = ownApproval(parts, id, context)
        if (known === undefined) return createSentenceAnswer(`There is no request ${quoteForSentence(id)} of yours.`)
        const approval = (await settled(parts, id, seconds * 1_000, context)) ?? known
        return createSentenceAnswer(approvalSentence(approval), { approval: approvalJson(approval) })
      },
    }),
    approvalResource.handledBy(async ({ id }, context) => {
      const known = ownApproval(parts, id, context)
      if (known === undefined)
        return fail({ kind: 'not-found', message: `There is no request ${quoteForSentence(id)} of yours.` })
      return createSentenceAnswer(approvalSentence(known), { approval: approvalJson(known) })
    }),
  ]
}

/** Notifies subscribers of every change. Returns a function that stops this. */
export function startAnnouncingApprovalResources({ bus, guard }: HomeDependencies): () => void {
  return guard.approvals.subscribe(({ approval: { id } }) => bus.announceResource(formatApprovalResourceUri(id)))
}

/** A caller must not learn whether somebody else's request exists. */
function ownApproval({ guard }: HomeDependencies, id: string, { caller }: HandlerContext): Approval | undefined {
  const known = guard.approvals.get(id)
  return known?.binding.principal === toCallerKey(caller) ? known : undefined
}

function approvalJson({ id, state, reason, expiresAtMs }: Approval): JsonObject {
  return {
    id,
    state: isWithdrawn({ state, reason }) ? 'withdrawn' : state,
    expires_at: formatIsoTime(expiresAtMs),
    ...(state === 'requested' ? { next: { tool: 'approval', arguments: { id, wait_seconds: 60 } } } : {}),
  }
}

function approvalSentence({ state, reason }: Approval): string {
  switch (state) {
    case 'requested':
      return 'Nobody has answered yet.'
    case 'approved':
      return 'A person agreed. Make exactly the same call again, and it is done.'
    case 'used':
      return 'A person agreed, and it was done.'
    case 'denied':
      return `A person said no${reason === undefined || reason === '' ? '' : `: ${quoteForSentence(reason)}`}. Leave it at that.`
    default:
      if (isWithdrawn({ state, reason })) return 'You withdrew the request. Asking again makes a new one.'
      return 'Nobody answered in time. Asking again makes a new request.'
  }
}

function isWithdrawn({ state, reason }: Pick<Approval, 'state' | 'reason'>): boolean {
  return state === 'expired' && reason === APPROVAL_WITHDRAWN_REASON
}

/** Resolves to the request once it is answered, or to its present state when the time is up. */
function settled(
  { guard }: HomeDependencies,
  id: string,
  waitMs: number,
  { signal, interaction }: HandlerContext,
): Promise<Approval | undefined> {
  const now = guard.approvals.get(id)
  if (now?.state !== 'requested' || waitMs === 0) return Promise.resolve(now)
  return new Promise((resolve) => {
    const done = (): void => {
      leave()
      clearTimeout(timer)
      clearInterval(progress)
      signal.removeEventListener('abort', done)
      resolve(guard.approvals.get(id))
    }
    const leave = guard.approvals.subscribe((event) => {
      if (event.approval.id === id) done()
    })
    const timer = setTimeout(done, waitMs)
    let waitedMs = 0
    const reportProgress = (): void => interaction?.progress?.(waitedMs / 1_000, waitMs / 1_000, 'A person was asked.')
    const progress = setInterval(() => {
      waitedMs += PROGRESS_EVERY_MS
      reportProgress()
    }, PROGRESS_EVERY_MS)
    reportProgress()
    signal.addEventListener('abort', done, { once: true })
  })
}
