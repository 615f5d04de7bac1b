/** Later: the command with which the owner sees and cancels the calls that agents have planned. */
import type { Command } from 'commander'
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { CallResultView } from '../web/api-requests.ts'
import { callToolAsOwner, printAnswer } from './command-client.ts'
import { sanitizeForTerminal, formatTable } from './command-output.ts'
import type { CommandAnswer } from './command-output.ts'
import { formatCallResult } from './gateway-text.ts'

export function addLaterCallCommands(program: Command): void {
  const later = program.command('later').description('calls that are planned for later, of every agent')
  later
    .command('list', { isDefault: true })
    .description('what is planned, and what became of the latest')
    .action((_, command: Command) => callAndPrint(command, {}))
  later
    .command('cancel <id>')
    .description('cancel one before it is made')
    .action((id: string, _, command: Command) => callAndPrint(command, { cancel: id }))
}

async function callAndPrint(command: Command, body: JsonObject): Promise<void> {
  const view = await callToolAsOwner(command, 'later', body)
  if (view !== undefined) printAnswer(command, laterAnswer(view))
}

function laterAnswer(view: CallResultView): CommandAnswer {
  const { structured } = view
  if (!isJsonObject(structured)) return formatCallResult(view)
  if (view.outcome !== 'ok') {
    const words = [structured['say'], structured['quoted']].filter((each) => typeof each === 'string')
    return { ...formatCallResult(view), text: sanitizeForTerminal(words.join(' ')) }
  }
  const rows = [...listOf(structured['planned']), ...listOf(structured['ended'])].map((call) =>
    ['due', 'tool', 'quoted', 'by', 'state', 'id'].map((field) => call[field] ?? '–'),
  )
  const { say } = structured
  const lines = [typeof say === 'string' ? say : '', ...(rows.length === 0 ? [] : [formatTable(HEADINGS, rows)])]
  return { json: structured, text: sanitizeForTerminal(lines.join('\n')) }
}

const HEADINGS = ['due', 'tool', 'arguments', 'by', 'state', 'id']

function listOf(value: Json | undefined): readonly Readonly<Record<string, string>>[] {
  return Array.isArray(value) ? (value as readonly Readonly<Record<string, string>>[]) : []
}
