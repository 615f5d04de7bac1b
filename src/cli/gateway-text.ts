/**
 * Gateway text: formats the answers of the running gateway for the commands that request them.
 *
 * Pure: command-client.ts sends the requests.
 */
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { CallResultView, StatusView, ToolView } from '../web/api-requests.ts'
import type { CallTraceView } from '../web/views.ts'
import { EXIT_CODES, formatAge, sanitizeForTerminal, formatTable, toOneLine } from './command-output.ts'
import type { CommandAnswer } from './command-output.ts'

export function formatStatus(status: StatusView, nowMs: number): CommandAnswer {
  const { ledger } = status
  const lines = [
    `${status.node}  ${status.url}  Hearthbus ${status.version}, up for ${formatAge(nowMs - Date.parse(status.startedAt))}`,
    `mode      ${status.mode}${status.stopped ? ', STOPPED: every change is refused (hearthbus resume)' : ''}`,
    `tools     ${status.tools}`,
    `ledger    ${ledger.size} entries, ${ledger.state}, ${ledger.checkpointSize === null ? 'not signed yet' : `last signed at ${ledger.checkpointSize}`}`,
    `approvals ${status.pendingApprovals === 0 ? 'none wait' : `${status.pendingApprovals} wait: hearthbus approvals`}`,
    '',
    formatTable(
      ['service', 'status', ''],
      status.services.map((service) => [service.name, service.status, sanitizeForTerminal(summary(service.details))]),
    ),
  ]
  return { json: status as unknown as Json, text: lines.join('\n') }
}

export function formatTools(tools: readonly ToolView[]): CommandAnswer {
  const rows = tools.map((tool) => [tool.name, tool.effect, sanitizeForTerminal(summaryOf(tool.description))])
  return { json: tools as unknown as Json, text: formatTable(['tool', 'effect', ''], rows) }
}

/** The family's own answer, as a model would see it; the exit code says whether it is a success. */
export function formatCallResult(view: CallResultView): CommandAnswer {
  const exit = view.outcome === 'ok' ? EXIT_CODES.ok : view.outcome === 'denied' ? EXIT_CODES.denied : EXIT_CODES.failed
  return { json: view as unknown as Json, text: sanitizeForTerminal(JSON.stringify(view.structured, null, 2)), exit }
}

export function formatTraces(traces: readonly CallTraceView[]): CommandAnswer {
  const rows = traces.map((trace) => [
    trace.ts,
    trace.capability,
    trace.result,
    `${trace.ms.toFixed(1)} ms`,
    trace.isLocal ? 'here' : (trace.toName ?? trace.toNode ?? 'nowhere'),
    trace.traceId,
  ])
  return {
    json: traces as unknown as Json,
    text: formatTable(
      ['time', 'capability', 'result', 'took', 'where', 'trace'],
      rows.map((row) => row.map(sanitizeForTerminal)),
    ),
  }
}

export function formatApprovals(approvals: readonly JsonObject[], nowMs: number): CommandAnswer {
  if (approvals.length === 0) return { json: [], text: 'Nothing waits for an approval.' }
  const blocks = approvals.map((approval) => {
    const binding = objectOf(approval['binding'])
    const shown = objectOf(approval['shown'])
    const left = Number(approval['expiresAtMs']) - nowMs
    return [
      `${text(approval['id'])}  ${text(approval['state'])}  ${text(binding['tool'])}${shown['label'] === undefined ? '' : `: ${text(shown['label'])}`}`,
      `  asked by  ${formatRequester(approval, text(binding['principal']))}${shown['client'] === undefined ? '' : ` (calls itself ${JSON.stringify(text(shown['client']))})`}`,
      ...(binding['target'] === undefined ? [] : [`  target    ${text(binding['target'])}`]),
      ...votesLine(objectOf(approval['round'])),
      ...changeLine(objectOf(shown['preview'])),
      `  arguments ${JSON.stringify(shown['arguments'])}`,
      ...(shown['preview'] === undefined ? [] : [`  effect    ${JSON.stringify(shown['preview'])}`]),
      // An approval that was used or closed has no remaining time.
      ...(isOver(approval) ? [] : [`  ${left > 0 ? `valid for ${formatAge(left)}` : 'lapsed'}`]),
    ].join('\n')
  })
  return { json: approvals, text: sanitizeForTerminal(blocks.join('\n\n')) }
}

/** For a voting round: how each voter has voted, and how many yes votes are needed. */
function votesLine({ need, voters, votes }: JsonObject): readonly string[] {
  if (!Array.isArray(voters) || !Array.isArray(votes)) return []
  const decisions = new Map(votes.map((vote) => [text(objectOf(vote)['voter']), objectOf(vote)['decision']]))
  const each = voters.map((voter) => {
    const name = text(objectOf(voter)['voter'])
    const decision = decisions.get(name)
    return `${name} ${decision === undefined ? '–' : decision === 'allow' ? 'yes' : 'no'}`
  })
  return [`  votes     ${each.join(', ')}; ${text(need)} yeses needed (answer with HEARTHBUS_VOTER_TOKEN)`]
}

function isOver({ state }: JsonObject): boolean {
  return state === 'used' || state === 'expired'
}

/** What a person wants to know first. The complete change is in `effect`, as the family foresees it. */
function changeLine({ before, after }: JsonObject): readonly string[] {
  if (before === undefined || after === undefined) return []
  const [was, will] = [isJsonObject(before) ? before : { '': before }, isJsonObject(after) ? after : { '': after }]
  // HomeSeer gives the present state in words (`Locked`), but of the new state only the command (`Unlock`).
  const then = 'status' in was && will['label'] !== undefined ? { status: will['label'], ...will } : will
  const changes = Object.entries(was)
    .filter(([name, value]) => Object.hasOwn(then, name) && JSON.stringify(value) !== JSON.stringify(then[name]))
    .map(([name, value]) => `${text(name)} ${brief(value)} → ${brief(then[name])}`.trim())
  return changes.length === 0 ? [] : [`  change    ${changes.join(', ')}`]
}

const BRIEF = 60

/** Text that could be mistaken for another change is quoted. */
function brief(value: Json | undefined): string {
  const whole = typeof value === 'string' && /[,→]/.test(value) ? JSON.stringify(toOneLine(value)) : text(value)
  return whole.length > BRIEF ? `${whole.slice(0, BRIEF)}…` : whole
}

/** For any other answer, the JSON itself is printed. */
export function createCommandAnswer(value: Json, sentence?: string): CommandAnswer {
  return { json: value, text: sentence ?? sanitizeForTerminal(JSON.stringify(value, null, 2)) }
}

function summary(details: JsonObject): string {
  return (
    Object.entries(details)
      .filter(([, value]) => !isJsonObject(value) && !Array.isArray(value))
      .map(([key, value]) => `${key} ${text(value)}`)
      // As many as fit on a line; the rest is in --json.
      .slice(0, 4)
      .join(', ')
  )
}

/**
 * The first sentence of the description. For a device's tool it is the device's own text; the tool's name says which
 * device.
 */
function summaryOf(description: string): string {
  const [, offline = '', words] = /^On the device .+? \([\w-]+\)\. (Offline now\. )?(.*)$/s.exec(description) ?? []
  return `${offline}${firstSentence(words ?? description)}`
}

/** The text up to a full stop that is followed by a blank: the dots in `hs4.devices.set` do not end a sentence. */
function firstSentence(description: string): string {
  return (/^[\s\S]*?\.(?=\s|$)/.exec(description)?.[0] ?? description).replaceAll(/\s+/g, ' ').slice(0, 120)
}

/**
 * The credential or node that asked, never a name alone: a node may have the name of a caller, and so may the callers
 * that it speaks for.
 */
function formatRequester({ askedBy, askedFor }: JsonObject, principal: string): string {
  if (askedBy === undefined) return principal
  const node = `the node ${text(askedBy)} (${principal})`
  return askedFor === undefined ? node : `${text(askedFor)}, says ${node}`
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? toOneLine(value) : JSON.stringify(value ?? null)
}
