/**
 * Changes and attention tools: what happened, and what needs a person. Reads the ledger and the families' health.
 */
import { formatIsoTime } from '../toolbox/iso-time.ts'
import { z } from 'zod'
import type { HandlerContext } from '../bus/call-factory.ts'
import type { Capability } from '../bus/capability.ts'
import { defineTool } from '../bus/capability-definition.ts'
import { omitUndefined, type JsonObject } from '../core/json.ts'
import type { Fault } from '../core/fault.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { HOME_TOOL_DEFINITION_DEFAULTS, createSentenceAnswer } from './home-dependencies.ts'
import type { HomeDependencies } from './home-dependencies.ts'
import { findThingByText } from './thing-search.ts'
import { normaliseText } from './normalised-text.ts'
import { readJsonValueAt, readObjectsAt, readTextAt } from './json-path.ts'
import { collectLaterCallStatus } from './later-tools.ts'
import { readHomeSnapshot } from './home-snapshot.ts'
import type { HomeSnapshot } from './home-snapshot.ts'
import { quoteForSentence, quoteLongText, formatCount } from './sentence-text.ts'
import type { Thing } from './thing.ts'

const HOUR_MS = 3_600_000
const SPAN_MS: Readonly<Record<string, number>> = { m: 60_000, h: HOUR_MS, d: 24 * HOUR_MS }
const MAX_CHANGES = 12
const MAX_SEARCHED = 100
const MAX_PAGES = 20
const MAX_ITEMS = 20
const changes = defineTool({
  ...HOME_TOOL_DEFINITION_DEFAULTS,
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
  ...HOME_TOOL_DEFINITION_DEFAULTS,
  name: 'attention',
  title: 'What needs a person',
  description: 'Approvals, faults, devices that are away, low batteries, findings.',
  input: z.strictObject({}),
  effect: 'reads',
})

export function createChangesAndAttentionTools(parts: HomeDependencies): readonly Capability[] {
  return [
    changes.handledBy(async ({ since, by, about }, context) => {
      const spanMs = Number(since.slice(0, -1)) * (SPAN_MS[since.slice(-1)] ?? HOUR_MS)
      const from = formatIsoTime(parts.clock.now() - spanMs)
      const subject = about === undefined ? undefined : await subjectOf(parts, about, context)
      const range = { since: from, ...omitUndefined({ caller: by }) }
      const searched = await searchChanges(context, range, (row) => subject === undefined || isAbout(row, subject))
      if (!searched.ok) return fail(searched.fault)
      const { rows, isComplete } = searched.value
      const what = about === undefined ? '' : ` about ${quoteForSentence(about)}`
      if (rows.length === 0)
        return createSentenceAnswer(
          isComplete
            ? `Nothing${what} was changed through this gateway in the last ${since}. What was done by hand is not recorded here.`
            : `Nothing${what} is among the newest ${MAX_SEARCHED} changes of the last ${since}. Ask about a shorter time.`,
        )
      const count = `${isComplete ? '' : 'The newest '}${formatCount(rows.length, 'change')}`
      return createSentenceAnswer(`${count}${what} in the last ${since}. The newest: ${formatChange(rows[0] ?? {})}`, {
        changes: rows.map((row) => changeJson(row)),
      })
    }),
    attention.handledBy(async (_, context) => {
      const outcome = await context.call('server_health', {})
      if (!outcome.ok) return fail(outcome.fault)
      const picture = await readHomeSnapshot(parts, context)
      const { troubles } = collectLaterCallStatus(parts, context)
      const items: JsonObject[] = [
        ...readObjectsAt(outcome.value.data, 'attention').map((item) => ({
          about: readTextAt(item, 'about') ?? '',
          quoted: quoteLongText(readTextAt(item, 'sentence') ?? ''),
        })),
        ...troubles.map((trouble) => ({ about: 'later', what: trouble })),
        ...lowBatteries(picture).map((one) => ({
          about: 'battery',
          name: quoteForSentence(one.name),
          quoted: quoteForSentence(one.state ?? ''),
        })),
      ].slice(0, MAX_ITEMS)
      if (items.length === 0) return createSentenceAnswer('Nothing needs a person.')
      return createSentenceAnswer(`${formatCount(items.length, 'thing needs', 'things need')} a person.`, { items })
    }),
  ]
}

interface ChangeSearch {
  readonly rows: readonly JsonObject[]
  /** Whether the list contains all such changes in the requested time. */
  readonly isComplete: boolean
}

/**
 * A page of the ledger tool is limited to a size that a model can read, so pages are read until there are enough
 * changes, or no more.
 */
async function searchChanges(
  context: HandlerContext,
  range: JsonObject,
  isMeant: (row: JsonObject) => boolean,
): Promise<Result<ChangeSearch, Fault>> {
  const rows: JsonObject[] = []
  let cursor: string | undefined
  for (let searched = 0, pages = 0; searched < MAX_SEARCHED && pages < MAX_PAGES; pages++) {
    const limit = MAX_SEARCHED - searched
    const page = await context.call('ledger_changes', { ...range, limit, ...omitUndefined({ cursor }) })
    if (!page.ok) return page
    const changed = readObjectsAt(page.value.data, 'changes')
    searched += changed.length
    rows.push(...changed.filter(isMeant))
    cursor = readTextAt(page.value.data, 'next_cursor')
    if (cursor === undefined || rows.length > MAX_CHANGES) break
  }
  return ok({ rows: rows.slice(0, MAX_CHANGES), isComplete: cursor === undefined && rows.length <= MAX_CHANGES })
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
    at: readTextAt(row, 'at') ?? '',
    say: formatChange(row),
    ...(typeof row['log_index'] === 'number' ? { record: row['log_index'] } : {}),
  }
}

/** `“Claude” (“local”): “Set a device”, “Hall Lamp” to “off”: done.` */
function formatChange(row: JsonObject): string {
  const [client, caller] = [readTextAt(row, 'client'), readTextAt(row, 'caller')]
  const who =
    client === undefined
      ? quoteForSentence(caller ?? 'somebody')
      : `${quoteForSentence(client)} (${quoteForSentence(caller ?? '')})`
  const what = readTextAt(row, 'label') ?? readTextAt(row, 'target')
  const to =
    readJsonValueAt(row, 'arguments', 'value') ??
    readJsonValueAt(row, 'arguments', 'label') ??
    readJsonValueAt(row, 'arguments', 'to')
  const toText = typeof to === 'string' || typeof to === 'number' ? ` to ${quoteForSentence(String(to))}` : ''
  return `${who}: ${quoteForSentence(readTextAt(row, 'title') ?? '')}${what === undefined ? '' : `, ${quoteForSentence(what)}`}${toText}: ${RESULTS[readTextAt(row, 'result') ?? ''] ?? 'unknown'}.`
}

interface ChangeSubject {
  readonly labels: readonly string[]
  readonly targets: readonly string[]
}

/** The things that the text names, or else the text itself. */
async function subjectOf(parts: HomeDependencies, about: string, context: HandlerContext): Promise<ChangeSubject> {
  const found = findThingByText(about, await readHomeSnapshot(parts, context))
  const things = found.kind === 'one' ? [found.thing] : found.kind === 'question' ? found.whole : []
  return {
    labels: [normaliseText(about), ...things.map(({ name }) => normaliseText(name))],
    targets: things.flatMap(({ handle }) => {
      const [family, id, part] = handle.split(':')
      if (family === 'hs') return [`homeseer:ref:${id}`]
      return family === 'device' ? [`device:${id}`, `devices:${id}`, `${id}:${part}`] : []
    }),
  }
}

function isAbout(row: JsonObject, { labels, targets }: ChangeSubject): boolean {
  const target = readTextAt(row, 'target') ?? ''
  if (targets.includes(target)) return true
  const text = normaliseText(
    [readTextAt(row, 'label'), readTextAt(row, 'title'), target, JSON.stringify(row['arguments'] ?? '')].join(' '),
  )
  return labels.some((label) => label !== '' && text.includes(label))
}

const LOW_BATTERY_PERCENT = 15

function lowBatteries({ things }: HomeSnapshot): readonly Thing[] {
  return things
    .filter(
      ({ kind, name, level }) =>
        kind === 'sensor' && /batter|akku/i.test(name) && (level ?? 100) <= LOW_BATTERY_PERCENT,
    )
    .slice(0, 8)
}
