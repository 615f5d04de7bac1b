/**
 * Record tools: what happened, taking it back, what needs a person, and how a request for approval stands.
 *
 * Reads the ledger; writes through the families' own tools.
 */
import { z } from 'zod'
import { callerKey } from '../bus/caller.ts'
import type { HandlerContext } from '../bus/call-options.ts'
import type { Assessment, Capability } from '../bus/capability.ts'
import { defineChange, defineTool } from '../bus/capability-definition.ts'
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { Approval } from '../guard/approval.ts'
import { HOME_TOOL_DEFAULTS, sayAnswer } from './dependencies.ts'
import type { HomeParts } from './dependencies.ts'
import { findThing } from './find.ts'
import { foldText } from './home-words.ts'
import { valueAt, objectsAt, textAt } from './json-path.ts'
import { laterSummary } from './later-tools.ts'
import { listThingNames } from './look-tools.ts'
import { readHomePicture } from './picture.ts'
import type { HomePicture } from './picture.ts'
import { quoteText, quoteLong, sayCount } from './say.ts'
import type { Thing } from './thing.ts'

const HOUR_MS = 3_600_000
const SPAN_MS: Readonly<Record<string, number>> = { m: 60_000, h: HOUR_MS, d: 24 * HOUR_MS }
const MAX_CHANGES = 12
const MAX_SEARCHED = 100
const MAX_ITEMS = 20
const MAX_WAIT_SECONDS = 100
const changes = defineTool({
  ...HOME_TOOL_DEFAULTS,
  name: 'changes',
  title: 'What happened',
  description: 'What was changed or tried in the home, by whom, with what result; newest first.',
  input: z.strictObject({
    since: z
      .string()
      .regex(/^\d{1,3}[mhd]$/, 'such as 30m, 8h or 2d')
      .default('24h'),
    by: z.string().max(120).exactOptional().describe('Who.'),
    about: z.string().max(120).exactOptional().describe('A thing or a word.'),
  }),
  effect: 'reads',
})

const attention = defineTool({
  ...HOME_TOOL_DEFAULTS,
  name: 'attention',
  title: 'What needs a person',
  description: 'Approvals, faults, devices that are away, low batteries, findings.',
  input: z.strictObject({}),
  effect: 'reads',
})

const approvalInput = z.strictObject({
  id: z.string().min(1).max(64),
  wait_seconds: z.int().min(0).max(MAX_WAIT_SECONDS).default(0),
  withdraw: z.boolean().default(false).describe('Take the request back.'),
})

export function createRecordTools(parts: HomeParts): readonly Capability[] {
  return [
    changes.handledBy(async ({ since, by, about }, context) => {
      const spanMs = Number(since.slice(0, -1)) * (SPAN_MS[since.slice(-1)] ?? HOUR_MS)
      const from = new Date(parts.clock.now() - spanMs).toISOString()
      const subject = about === undefined ? undefined : await subjectOf(parts, about, context)
      const outcome = await context.call('ledger_changes', {
        since: from,
        limit: subject === undefined ? MAX_CHANGES : MAX_SEARCHED,
        ...(by === undefined ? {} : { caller: by }),
      })
      if (!outcome.ok) return fail(outcome.fault)
      const rows = objectsAt(outcome.value.data, 'changes')
        .filter((row) => subject === undefined || isAbout(row, subject))
        .slice(0, MAX_CHANGES)
      const what = about === undefined ? '' : ` about ${quoteText(about)}`
      if (rows.length === 0)
        return sayAnswer(
          `Nothing${what} was changed through this gateway in the last ${since}. What was done by hand is not recorded here.`,
        )
      return sayAnswer(
        `${sayCount(rows.length, 'change')}${what} in the last ${since}. The newest: ${sayChange(rows[0] ?? {})}`,
        {
          changes: rows.map((row) => changeJson(row)),
        },
      )
    }),
    attention.handledBy(async (_, context) => {
      const outcome = await context.call('server_health', {})
      if (!outcome.ok) return fail(outcome.fault)
      const picture = await readHomePicture(parts, context)
      const { troubles } = laterSummary(parts, context)
      const items: JsonObject[] = [
        ...objectsAt(outcome.value.data, 'attention').map((item) => ({
          about: textAt(item, 'about') ?? '',
          quoted: quoteLong(textAt(item, 'sentence') ?? ''),
        })),
        ...troubles.map((trouble) => ({ about: 'later', what: trouble })),
        ...lowBatteries(picture).map((one) => ({
          about: 'battery',
          name: quoteText(one.name),
          quoted: quoteText(one.state ?? ''),
        })),
      ].slice(0, MAX_ITEMS)
      if (items.length === 0) return sayAnswer('Nothing needs a person.')
      return sayAnswer(`${sayCount(items.length, 'thing needs', 'things need')} a person.`, { items })
    }),
    defineChange({
      ...HOME_TOOL_DEFAULTS,
      name: 'approval',
      title: 'How an approval stands',
      description:
        'How a request to a person stands: waits for the answer, or withdraws it. After a yes repeat the call.',
      input: approvalInput,
      effect: 'records',
      idempotent: true,
      timeoutSeconds: MAX_WAIT_SECONDS + 10,
      plan: (): Result<undefined, Fault> => ok(undefined),
      assess: (_, { withdraw }): Assessment => ({ effect: withdraw ? 'records' : 'reads', reasons: [] }),
      act: async (_, { id, wait_seconds: seconds, withdraw }, context) => {
        if (withdraw) {
          const withdrawn = await parts.guard.approvals.withdraw(id, context.caller)
          if (!withdrawn.ok) return sayAnswer(withdrawn.fault.message)
          return sayAnswer('The request is withdrawn. Nothing was done.', { approval: { id, state: 'withdrawn' } })
        }
        const known = parts.guard.approvals.get(id)
        // Whether somebody else's exists is none of the caller's business.
        if (known === undefined || !isOwn(known, context))
          return sayAnswer(`There is no request ${quoteText(id)} of yours.`)
        const asked = (await settled(parts, id, seconds * 1_000, context)) ?? known
        return sayAnswer(approvalSentence(asked), {
          approval: {
            id,
            state: asked.state,
            expires_at: new Date(asked.expiresAtMs).toISOString(),
            ...(asked.state === 'requested' ? { next: { tool: 'approval', arguments: { id, wait_seconds: 60 } } } : {}),
          },
        })
      },
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
      return `A person said no${reason === undefined || reason === '' ? '' : `: ${quoteText(reason)}`}. Leave it at that.`
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

function changeJson(row: JsonObject): JsonObject {
  return {
    at: textAt(row, 'at') ?? '',
    say: sayChange(row),
    ...(typeof row['log_index'] === 'number' ? { record: row['log_index'] } : {}),
  }
}

/** `“Claude” (“local”): “Set a device”, “Hall Lamp” to “off”: done.` */
function sayChange(row: JsonObject): string {
  const [client, caller] = [textAt(row, 'client'), textAt(row, 'caller')]
  const who =
    client === undefined ? quoteText(caller ?? 'somebody') : `${quoteText(client)} (${quoteText(caller ?? '')})`
  const what = textAt(row, 'label') ?? textAt(row, 'target')
  const to = valueAt(row, 'arguments', 'value') ?? valueAt(row, 'arguments', 'label') ?? valueAt(row, 'arguments', 'to')
  const told = typeof to === 'string' || typeof to === 'number' ? ` to ${quoteText(String(to))}` : ''
  return `${who}: ${quoteText(textAt(row, 'title') ?? '')}${what === undefined ? '' : `, ${quoteText(what)}`}${told}: ${RESULTS[textAt(row, 'result') ?? ''] ?? 'unknown'}.`
}

interface ChangeSubject {
  readonly labels: readonly string[]
  readonly targets: readonly string[]
}

/** The things that are meant, or else the word itself. */
async function subjectOf(parts: HomeParts, about: string, context: HandlerContext): Promise<ChangeSubject> {
  const found = findThing(about, listThingNames(await readHomePicture(parts, context)))
  const things = found.kind === 'one' ? [found.thing] : found.kind === 'question' ? found.whole : []
  return {
    labels: [foldText(about), ...things.map(({ name }) => foldText(name))],
    targets: things.flatMap(({ handle }) => {
      const [family, id, part] = handle.split(':')
      if (family === 'hs') return [`homeseer:ref:${id}`]
      return family === 'device' ? [`device:${id}`, `devices:${id}`, `${id}:${part}`] : []
    }),
  }
}

function isAbout(row: JsonObject, { labels, targets }: ChangeSubject): boolean {
  const target = textAt(row, 'target') ?? ''
  if (targets.includes(target)) return true
  const text = foldText(
    [textAt(row, 'label'), textAt(row, 'title'), target, JSON.stringify(row['arguments'] ?? '')].join(' '),
  )
  return labels.some((label) => label !== '' && text.includes(label))
}

const LOW_BATTERY_PERCENT = 15

function lowBatteries({ things }: HomePicture): readonly Thing[] {
  return things
    .filter(
      ({ kind, name, level }) =>
        kind === 'sensor' && /batter|akku/i.test(name) && (level ?? 100) <= LOW_BATTERY_PERCENT,
    )
    .slice(0, 8)
}
