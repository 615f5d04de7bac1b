/**
 * Changes: the command that lists what was changed in the house, by whom, and with which result.
 *
 * Pure: command-client.ts sends the requests.
 */
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import type { JsonObject } from '../core/json.ts'
import type { CallResultView } from '../web/api-requests.ts'
import { fetchFromGatewayOrExplain, printAnswer } from './command-client.ts'
import { sanitizeForTerminal, formatTable } from './command-output.ts'
import type { CommandAnswer } from './command-output.ts'
import { formatCallResult } from './gateway-text.ts'
import { createWholeNumberParser } from './whole-number.ts'

export function addChangesCommand(program: Command): void {
  program
    .command('changes')
    .description('what was changed in the house or was to be, by whom, and what became of it')
    .option('--since <time>', 'from then on: 90m, 12h, 7d, or a date and time', (text) => parseSince(text, Date.now()))
    .option('--limit <n>', 'how many', createWholeNumberParser(1, 200), 20)
    .action(async (options: Wanted, command: Command) => {
      const requestPage = async (page: JsonObject): Promise<CallResultView | undefined> => {
        const body = { tool: 'ledger_changes', arguments: page }
        const value = await fetchFromGatewayOrExplain(command, {
          method: 'POST',
          path: '/api/call',
          body,
          asOwner: true,
        })
        return value as CallResultView | undefined
      }
      const view = await collectChanges(requestPage, options)
      if (view !== undefined) printAnswer(command, formatChanges(view, options.limit))
    })
}

interface Wanted {
  readonly since?: string
  readonly limit: number
}

/**
 * How many pages are requested. One request searches at most 2,000 calls, and an agent that reads registers all night
 * makes that many calls without changing anything.
 */
const MAX_REQUESTS = 20

/** Requests pages until there are enough changes: a short page does not mean that there are no more. */
export async function collectChanges(
  requestPage: (page: JsonObject) => Promise<CallResultView | undefined>,
  wanted: Wanted,
): Promise<CallResultView | undefined> {
  let view = await requestPage({ ...wanted })
  for (let requests = 1; requests < MAX_REQUESTS && view?.outcome === 'ok'; requests++) {
    const { changes, next_cursor: cursor } = dataOf(view)
    const missing = wanted.limit - changes.length
    if (cursor === undefined || missing <= 0) return view
    const next = await requestPage({ ...wanted, limit: missing, cursor })
    if (next?.outcome !== 'ok') return next
    const data = dataOf(next)
    view = { ...next, structured: { ok: true, data: { ...data, changes: [...changes, ...data.changes] } } }
  }
  return view
}

const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** A time in the form that the tool accepts. */
export function parseSince(text: string, nowMs: number): string {
  const { number, unit } = /^(?<number>\d{1,6})(?<unit>[mhd])$/.exec(text)?.groups ?? {}
  const time = new Date(
    unit === undefined ? dateMs(text) : nowMs - Number(number) * UNITS_MS[unit as keyof typeof UNITS_MS],
  )
  if (!Number.isNaN(time.getTime()) && time.getTime() <= nowMs) return time.toISOString()
  throw new InvalidArgumentError('It is an age such as 90m, 12h or 7d, or a time in the past such as 2026-01-31T22:00.')
}

/**
 * A time without a zone, or a day alone, is local time. Other forms are refused, because JavaScript would guess what
 * they mean.
 */
function dateMs(text: string): number {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return Date.parse(`${text}T00:00`)
  return /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : NaN
}

/** The members that fit on a line of a terminal; the rest is in --json. */
interface ChangeLine extends JsonObject {
  readonly log_index: number
  readonly at: string
  readonly caller: string
  readonly node?: string
  readonly actor?: string
  readonly title: string
  readonly target?: string
  readonly label?: string
  readonly result: string
  readonly code?: string
  readonly later?: { readonly at: string; readonly outcome: string }
  readonly approval?: { readonly state?: string; readonly by?: string }
  readonly grant?: { readonly by?: string }
}

interface ChangesPage extends JsonObject {
  readonly changes: readonly ChangeLine[]
  readonly next_cursor?: string
}

function dataOf({ structured }: CallResultView): ChangesPage {
  return (structured as unknown as { readonly data: ChangesPage }).data
}

export function formatChanges(view: CallResultView, limit: number): CommandAnswer {
  if (view.outcome !== 'ok') return formatCallResult(view)
  const { changes, next_cursor: cursor } = dataOf(view)
  const rows = changes.map((change) => [
    String(change.log_index),
    change.at,
    who(change),
    change.title,
    change.label ?? change.target ?? '–',
    resultText(change),
    word(change),
  ])
  const lines = [
    ...(rows.length > 0 ? [formatTable(['entry', 'when', 'who', 'what', 'on', 'result', 'a person'], rows)] : []),
    ...(cursor === undefined ? [] : [moreText(rows.length, limit)]),
  ]
  return { json: view.structured, text: sanitizeForTerminal(lines.join('\n') || 'Nothing was changed.') }
}

function moreText(found: number, limit: number): string {
  if (found >= limit) return 'There is more: --limit shows up to 200.'
  return `No ${found === 0 ? 'change' : 'other'} was found in the part of the log that was searched; there may be earlier ones.`
}

/**
 * The credential or node, never a name alone: a node may have the name of a caller, and so may the callers that it
 * speaks for.
 */
function who({ caller, node, actor }: ChangeLine): string {
  if (node === undefined) return caller
  return actor === undefined ? `the node ${node}` : `${actor}, says the node ${node}`
}

/** The result that was known at the end of the call, and what became known later. */
function resultText({ result, code, later }: ChangeLine): string {
  const ended = code === undefined ? result : `${result} (${code})`
  return later === undefined ? ended : `${ended}, ${later.outcome} ${later.at}`
}

function word({ approval, grant }: ChangeLine): string {
  if (grant !== undefined) return `granted by ${grant.by ?? 'somebody'}`
  if (approval === undefined) return '–'
  if (approval.state === 'requested') return 'is asked: hearthbus approvals'
  if (approval.by === undefined) return approval.state ?? '–'
  return `${approval.state === 'denied' ? 'denied' : 'approved'} by ${approval.by}`
}
