/**
 * Inspection and call commands: commands that look at the running gateway, or call a tool through it like any agent
 * would.
 *
 * Pure: command-client.ts sends the requests, gateway-text.ts formats the answers.
 */
import type { Command } from 'commander'
import type { TopologySnapshot } from '../bus/topology.ts'
import { isJsonObject, parseJsonOrUndefined } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import type { CallResultView, StatusView, ToolView } from '../web/api-requests.ts'
import type { MeasurementSeriesView, SettingsPageView, CallTraceView } from '../web/views.ts'
import { fetchAndPrintGatewayAnswer } from './command-client.ts'
import { EXIT_CODES } from './command-output.ts'
import { formatCallResult, createCommandAnswer, formatStatus, formatTools, formatTraces } from './gateway-text.ts'
import { formatMeasurementSummary, formatProfiles, formatToolDetails, formatTopology } from './views-text.ts'
import { createWholeNumberParser } from './whole-number.ts'

interface CallCommandOptions {
  readonly node?: string
  readonly task?: string
  readonly session?: string
  readonly timeout?: number
}

export function addInspectionAndCallCommands(program: Command): void {
  program
    .command('status')
    .description('how the gateway is')
    .action((_, command: Command) =>
      fetchAndPrintGatewayAnswer(command, { path: '/api/status' }, (value) =>
        formatStatus(value as unknown as StatusView, Date.now()),
      ),
    )
  program
    .command('tools [name]')
    .description('what can be called; with a name, what that tool does and which arguments it takes')
    .option('--profile <name>', 'only those of a profile', 'all')
    .action((name: string | undefined, options: { profile: string }, command: Command) =>
      fetchAndPrintGatewayAnswer(
        command,
        { path: `/api/tools?profile=${encodeURIComponent(options.profile)}` },
        (value) => {
          const tools = value as unknown as ToolView[]
          return name === undefined ? formatTools(tools) : formatToolDetails(tools, name)
        },
      ),
    )
  program
    .command('call <tool> [arguments]')
    .description('call a tool; the arguments are a JSON object')
    .option('--node <id>', 'on this node, by id or name')
    .option('--task <id>', 'recorded as done for this task')
    .option('--session <id>', 'recorded as done in this audit session')
    .option('--timeout <ms>', 'give up after this many milliseconds', createWholeNumberParser(1, 600_000))
    .addHelpText('after', `\nExample: hearthbus call hs4.devices.get '{"refs":[101]}'`)
    .action((tool: string, text: string | undefined, options: CallCommandOptions, command: Command) => {
      const body = argumentsOf(text, command)
      const question = {
        tool,
        arguments: body,
        ...(options.node && { node: options.node }),
        ...(options.task && { task_id: options.task }),
        ...(options.session && { session_id: options.session }),
        ...(options.timeout && { timeoutMs: options.timeout }),
      }
      return fetchAndPrintGatewayAnswer(
        command,
        { method: 'POST', path: '/api/call', body: question, mayTakeLong: true },
        (value) => formatCallResult(value as unknown as CallResultView),
      )
    })
  program
    .command('traces')
    .description('the latest calls, newest first')
    .option('--limit <n>', 'how many', createWholeNumberParser(1, 10_000), 20)
    .action((options: { limit: number }, command: Command) =>
      fetchAndPrintGatewayAnswer(command, { path: `/api/traces?limit=${options.limit}`, asWatcher: true }, (value) =>
        formatTraces(value as unknown as CallTraceView[]),
      ),
    )
  program
    .command('trace <id>')
    .description('everything on record about one call')
    .action((id: string, _, command: Command) =>
      fetchAndPrintGatewayAnswer(command, { path: `/api/calls/${encodeURIComponent(id)}`, asWatcher: true }, (value) =>
        createCommandAnswer(value),
      ),
    )
  program
    .command('history [series...]')
    .description('what was measured in the last 24 hours')
    .action((series: string[], _, command: Command) =>
      // All series are requested, so that a person who names an unknown one is told which there are.
      fetchAndPrintGatewayAnswer(command, { path: '/api/history' }, (value) =>
        formatMeasurementSummary(value as unknown as MeasurementSeriesView[], series, Date.now()),
      ),
    )
  program
    .command('profiles')
    .description('named subsets of the tools, served at /mcp/<name>')
    .action((_, command: Command) =>
      fetchAndPrintGatewayAnswer(command, { path: '/api/settings' }, (value) =>
        formatProfiles(value as unknown as SettingsPageView),
      ),
    )
  program
    .command('topology')
    .description('nodes and capabilities on the bus')
    .action((_, command: Command) =>
      fetchAndPrintGatewayAnswer(command, { path: '/api/topology' }, (value) =>
        formatTopology(value as unknown as TopologySnapshot),
      ),
    )
}

function argumentsOf(text: string | undefined, command: Command): JsonObject {
  const value = text === undefined ? {} : parseJsonOrUndefined(text)
  if (isJsonObject(value)) return value
  return command.error(`The arguments are not a JSON object: ${text}`, { exitCode: EXIT_CODES.usage })
}
