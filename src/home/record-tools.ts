/**
 * Record tools: what happened, taking it back, what needs a person, and how a request for approval stands.
 *
 * Reads the ledger; writes through the families' own tools.
 */
import { z } from 'zod'
import type { Outcome } from '../bus/call.ts'
import { callerKey } from '../bus/caller.ts'
import type { Capability } from '../bus/capability.ts'
import { CALLS_ON, defineChange, defineTool } from '../bus/capability-definition.ts'
import type { HandlerContext } from '../bus/call-options.ts'
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail } from '../core/result.ts'
import type { Approval } from '../guard/approval.ts'
import { HOME_TOOL, preview, say, why } from './dependencies.ts'
import type { HomeParts } from './dependencies.ts'
import { arrayAt, at, objectsAt, textAt } from './json-path.ts'
import { capitalise, quote, sayCount, sayName } from './say.ts'
import { homeseerClaims } from './set-tools.ts'

const HOUR_MS = 3_600_000
const SPAN_MS: Readonly<Record<string, number>> = { m: 60_000, h: HOUR_MS, d: 24 * HOUR_MS }
const MAX_CHANGES = 12
const MAX_WAIT_SECONDS = 100
/** Tools whose answers say how to take back what they did. */
const UNDOABLE = new Set([
  'home_set',
  'home_set_many',
  'heating_set',
  'heating_holiday',
  'hot_water',
  'heating_program',
])
const LOOKED_AT = 500

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
    defineChange({
      ...HOME_TOOL,
      ...CALLS_ON,
      effect: 'writes',
      idempotent: false,
      name: 'undo',
      title: 'Take a change back',
      description: 'Brings back what was before a change of yours: the `id` of its answer, or the last one.',
      input: z.strictObject({ id: z.string().max(64).default('last'), why, preview }),
      act: (_, input, context) => undo(parts, input, context),
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
  const sentence = `${capitalise(sayName(who))}: ${sayName(textAt(row, 'title') ?? '')}${what === undefined ? '' : `, ${sayName(what)}`}: ${RESULTS[textAt(row, 'result') ?? ''] ?? 'unknown'}.`
  return {
    at: textAt(row, 'at') ?? '',
    say: sentence,
    ...(typeof row['log_index'] === 'number' ? { record: row['log_index'] } : {}),
  }
}

function isUndoable(tool: Json | undefined): boolean {
  return typeof tool === 'string' && UNDOABLE.has(tool)
}

interface Undoing {
  readonly calls: readonly JsonObject[]
  readonly id: string
}

async function undo(
  parts: HomeParts,
  { id, ...wish }: { readonly id: string; readonly why: string; readonly preview: boolean },
  context: HandlerContext,
): Promise<Outcome> {
  const found = id === 'last' ? lastUndoable(parts, context) : undoable(parts, id, context)
  if (typeof found === 'string') return say(found)
  if (found.calls.length === 0)
    return say('What it was before is not known, so it cannot be taken back. Nothing was done.')
  // Not every family can be asked what a call would do, so a preview calls none of them.
  if (wish.preview)
    return say(`${sayCount(found.calls.length, 'change')} would be taken back. Nothing was done.`, {
      calls: [...found.calls],
    })
  const failed: string[] = []
  let done = 0
  for (const call of found.calls) {
    const [tool, body] = [textAt(call, 'tool') ?? '', at(call, 'arguments')]
    if (!isJsonObject(body)) continue
    const outcome = await context.call(tool, tool.startsWith('hs4.') ? { ...body, ...homeseerClaims(wish) } : body)
    if (outcome.ok) done++
    // That nothing was done yet can only be said while it is true.
    else if (outcome.fault.kind === 'approval-required' && done === 0) return fail(outcome.fault)
    else failed.push(outcome.fault.message)
  }
  return say(`${sayCount(done, 'change')} ${done === 1 ? 'was' : 'were'} taken back.`, {
    ...(failed.length === 0 ? {} : { failed: failed.slice(0, 8).map(quote) }),
    id: context.traceId,
  })
}

/** From the ledger: what was recorded is what can be taken back. */
function undoable({ ledger }: HomeParts, traceId: string, { caller }: HandlerContext): Undoing | string {
  const entries = ledger.entriesOfTrace(traceId)
  const enter = entries.find(
    (entry) => entry.kind === 'call.enter' && isUndoable(entry['tool']) && entry['principal'] === callerKey(caller),
  )
  const exit = enter && entries.find((entry) => entry.kind === 'call.exit' && entry['call'] === enter.seq)
  if (enter === undefined || exit === undefined)
    return `There is no change ${quote(traceId)} of yours that could be taken back.`
  return { id: traceId, calls: callsIn(ledger.body(exit.seq)) }
}

function lastUndoable(parts: HomeParts, context: HandlerContext): Undoing | string {
  const { ledger, clock } = parts
  const before = { at: new Date(clock.now() + HOUR_MS).toISOString(), seq: Number.MAX_SAFE_INTEGER }
  for (const { entry, end } of ledger.changes({ since: '', before, limit: LOOKED_AT })) {
    if (entry?.kind !== 'call.enter' || !isUndoable(entry['tool'])) continue
    if (entry['principal'] !== callerKey(context.caller) || end?.['outcome'] !== 'ok') continue
    const calls = callsIn(ledger.body(end.seq))
    if (calls.length > 0) return { id: 'last', calls }
  }
  return 'There is no change of yours that could be taken back.'
}

function callsIn(body: ReturnType<HomeParts['ledger']['body']>): readonly JsonObject[] {
  const result: Json | undefined = body.kind === 'kept' ? at(body.body, 'result') : undefined
  const one = at(result, 'undo')
  return [...(isJsonObject(one) ? [one] : []), ...arrayAt(result, 'undo_many').filter(isJsonObject)]
}
