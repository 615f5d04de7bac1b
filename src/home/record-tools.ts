/**
 * Record tools: what happened, taking it back, what needs a person, and how a request for approval stands.
 *
 * Reads the ledger; writes through the families' own tools.
 */
import { z } from 'zod'
import { callerKey } from '../bus/caller-key.ts'
import type { Capability } from '../bus/capability.ts'
import type { HandlerContext } from '../bus/handler-context.ts'
import { defineTool } from '../bus/tool.ts'
import type { JsonObject } from '../core/json.ts'
import { fail } from '../core/result.ts'
import type { Approval } from '../guard/approval.ts'
import { HOME_TOOL, say } from './dependencies.ts'
import type { HomeParts } from './dependencies.ts'
import { objectsAt, textAt } from './json-path.ts'
import { capitalise, quote, sayCount } from './say.ts'

const HOUR_MS = 3_600_000
const SPAN_MS: Readonly<Record<string, number>> = { m: 60_000, h: HOUR_MS, d: 24 * HOUR_MS }
const MAX_CHANGES = 12
const MAX_WAIT_SECONDS = 100
const changes = defineTool({
  ...HOME_TOOL,
  name: 'changes',
  title: 'What happened',
  description: 'What was changed or tried in the home, by whom, with what result; newest first.',
  input: z.strictObject({
    since: z
      .string()
      .regex(/^\d{1,3}[mhd]$/, 'such as 30m, 8h or 2d')
      .default('24h'),
    by: z.string().max(120).exactOptional(),
  }),
  effect: 'reads',
})

const attention = defineTool({
  ...HOME_TOOL,
  name: 'attention',
  title: 'What needs a person',
  description: 'Approvals, faults, devices that are away, low batteries, findings.',
  input: z.strictObject({}),
  effect: 'reads',
})

const approval = defineTool({
  ...HOME_TOOL,
  name: 'approval',
  title: 'How an approval stands',
  description: 'How a request to a person stands; waits for the answer if told. Then repeat the call that asked.',
  input: z.strictObject({
    id: z.string().min(1).max(64),
    wait_seconds: z.int().min(0).max(MAX_WAIT_SECONDS).default(0),
  }),
  effect: 'reads',
  timeoutSeconds: MAX_WAIT_SECONDS + 10,
})

export function recordTools(parts: HomeParts): readonly Capability[] {
  return [
    changes.handledBy(async ({ since, by }, context) => {
      const spanMs = Number(since.slice(0, -1)) * (SPAN_MS[since.slice(-1)] ?? HOUR_MS)
      const from = new Date(parts.clock.now() - spanMs).toISOString()
      const outcome = await context.call('ledger_changes', {
        since: from,
        limit: MAX_CHANGES,
        ...(by === undefined ? {} : { caller: by }),
      })
      if (!outcome.ok) return fail(outcome.fault)
      const rows = objectsAt(outcome.value.data, 'changes')
      if (rows.length === 0) return say(`Nothing was changed in the last ${since}.`)
      return say(`${sayCount(rows.length, 'change')} in the last ${since}.`, { changes: rows.map(sayChange) })
    }),
    attention.handledBy(async (_, context) => {
      const outcome = await context.call('server_health', {})
      if (!outcome.ok) return fail(outcome.fault)
      const items = objectsAt(outcome.value.data, 'attention').map((item) => ({
        about: textAt(item, 'about') ?? '',
        quoted: quote(textAt(item, 'sentence') ?? ''),
      }))
      if (items.length === 0) return say('Nothing needs a person.')
      return say(`${sayCount(items.length, 'thing needs', 'things need')} a person.`, { items })
    }),
    approval.handledBy(async ({ id, wait_seconds: seconds }, context) => {
      const asked = await settled(parts, id, seconds * 1_000, context)
      // Whether somebody else's exists is none of the caller's business.
      if (asked === undefined || !isOwn(asked, context)) return say(`There is no request ${quote(id)} of yours.`)
      return say(approvalSentence(asked), {
        approval: { id, state: asked.state, expires_at: new Date(asked.expiresAtMs).toISOString() },
      })
    }),
  ]
}

function isOwn({ binding }: Approval, { caller }: HandlerContext): boolean {
  return binding.principal === callerKey(caller)
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
      return `A person said no${reason === undefined || reason === '' ? '' : `: ${quote(reason)}`}. Leave it at that.`
    default:
      return 'Nobody answered in time. Asking again makes a new request.'
  }
}

/** The request once it is answered, or as it stands when the time is up. */
function settled(
  { guard }: HomeParts,
  id: string,
  waitMs: number,
  { signal }: HandlerContext,
): Promise<Approval | undefined> {
  const now = guard.approvals.get(id)
  if (now?.state !== 'requested' || waitMs === 0) return Promise.resolve(now)
  return new Promise((resolve) => {
    const done = (): void => {
      leave()
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve(guard.approvals.get(id))
    }
    const leave = guard.approvals.subscribe((event) => {
      if (event.approval.id === id) done()
    })
    const timer = setTimeout(done, waitMs)
    signal.addEventListener('abort', done, { once: true })
  })
}

const RESULTS: Readonly<Record<string, string>> = {
  done: 'done',
  repeated: 'repeated, nothing done',
  planned: 'only planned',
  asked: 'a person was asked',
  refused: 'refused',
  failed: 'failed',
  unknown: 'outcome unknown',
  running: 'still running',
}

function sayChange(row: JsonObject): JsonObject {
  const who = textAt(row, 'client') ?? textAt(row, 'caller') ?? 'somebody'
  const what = textAt(row, 'label') ?? textAt(row, 'target')
  const sentence = `${capitalise(quote(who))}: ${quote(textAt(row, 'title') ?? '')}${what === undefined ? '' : `, ${quote(what)}`}: ${RESULTS[textAt(row, 'result') ?? ''] ?? 'unknown'}.`
  return {
    at: textAt(row, 'at') ?? '',
    say: sentence,
    ...(typeof row['log_index'] === 'number' ? { record: row['log_index'] } : {}),
  }
}
