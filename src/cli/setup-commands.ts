/**
 * Setup commands: for the first configuration and for finding faults.
 *
 * Pure: the files that it calls do the I/O.
 */
import { homedir } from 'node:os'
import { Argument } from 'commander'
import type { Command } from 'commander'
import { resolveConfigPath } from '../config/config-file-store.ts'
import { formatHttpUrl } from '../core/http-address.ts'
import { MCP_CLIENT_NAMES, resolveHearthbusCommand, resolveDataAndConfigOptions } from '../web/client-snippet.ts'
import type { McpClientName } from '../web/client-snippet.ts'
import { diagnoseDoctorFacts } from '../web/doctor.ts'
import {
  readCommandConfig,
  readGlobalOptions,
  fetchFromGatewayOrExplain,
  printAnswer,
  printGatewayFault,
} from './command-client.ts'
import { formatConnectSnippet } from './connect.ts'
import { formatDoctorFindings } from './doctor.ts'
import { gatherDoctorFacts } from './doctor-client.ts'
import { checkGatewayAuthenticity, findRunningGateway } from './gateway-client.ts'
import { writeInitialConfig } from './init-store.ts'

const ALWAYS_SERVED: ReadonlySet<string> = new Set(['all', 'home'])

export function addSetupCommands(program: Command): void {
  program
    .command('init')
    .description('write a first configuration file')
    .action((_, command: Command) => {
      printAnswer(
        command,
        writeInitialConfig(resolveConfigPath(readGlobalOptions(command).config, process.env, homedir()).path),
      )
    })
  program
    .command('doctor')
    .description('what is wrong, and what to do about it')
    .action(async (_, command: Command) => {
      printAnswer(
        command,
        formatDoctorFindings(diagnoseDoctorFacts(await gatherDoctorFacts(readGlobalOptions(command)))),
      )
    })
  program
    .command('connect')
    .description('what to paste into which client')
    .addArgument(new Argument('<client>', 'the program that is to use Hearthbus').choices(MCP_CLIENT_NAMES))
    .option('--profile <name>', 'connect to a profile; `all`: every tool under the name of its contract', 'home')
    .action(async (client: McpClientName, { profile }: { profile: string }, command: Command) => {
      const config = readCommandConfig(command)
      if (config === undefined) return
      const running = findRunningGateway(readGlobalOptions(command))
      // The snippet sends a client's token to that address for good.
      const refusal = running.ok ? await checkGatewayAuthenticity(running.value, undefined) : undefined
      if (refusal !== undefined) return printGatewayFault(command, refusal)
      // An unknown profile is reported here; a client would only show an empty list.
      const tools = { path: `/api/tools?profile=${encodeURIComponent(profile)}` }
      if (running.ok && !ALWAYS_SERVED.has(profile) && (await fetchFromGatewayOrExplain(command, tools)) === undefined)
        return
      const url = running.ok ? running.value.note.url : formatHttpUrl(config.listen.host, config.listen.port)
      const self = resolveHearthbusCommand(process.argv[1] ?? '')
      const settings = resolveDataAndConfigOptions(process.argv.slice(2), process.env, process.cwd())
      printAnswer(
        command,
        formatConnectSnippet(client, { url, command: self, settings, profile, listen: config.listen }),
      )
    })
  program
    .command('docs', { hidden: true })
    .description('renew the generated documents of a clone')
    .action(async (_, command: Command) => {
      const { writeDocuments } = await import('./docs-store.ts')
      const written = await writeDocuments()
      printAnswer(command, { json: written, text: written.join('\n') })
    })
}
