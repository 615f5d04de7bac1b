/**
 * Start commands: they run the gateway in this process.
 *
 * Pure: up-server.ts and stdio-server.ts do the work.
 */
import { join } from 'node:path'
import { Option } from 'commander'
import type { Command } from 'commander'
import { resolveDemoDataRoot } from '../config/data-directory.ts'
import { readCommandConfig, readDataRoot, readGlobalOptions } from './command-client.ts'
import { findRunningGateway } from './gateway-client.ts'
import { EXIT_CODES } from './command-output.ts'
import type { ExitCode } from './command-output.ts'
import { resolveShortestHearthbusCommand } from './hearthbus-command.ts'
import { createWholeNumberParser } from './whole-number.ts'
import { PACKAGE_VERSION } from './version-store.ts'

/** How long a gateway that has stopped waits for its last output to be read. */
const LAST_WORDS_MS = 1_000

export function addStartCommands(program: Command): void {
  program
    .command('up')
    .description('run the gateway in the foreground')
    .option('--demo', 'against a virtual house, with records of its own')
    .action(async (options: { demo?: boolean }, command: Command) => {
      const config = readCommandConfig(command)
      if (config === undefined) return
      const root = readDataRoot(command)
      const otherGateway = explainOtherGateway(
        config.listen.port,
        options.demo === true ? resolveDemoDataRoot(root) : root,
        command,
      )
      if (otherGateway !== undefined) return command.error(otherGateway, { exitCode: EXIT_CODES.usage })
      // Loaded only by this command: `hearthbus status` should not have to load a gateway.
      const { runUpCommand } = await import('./up-server.ts')
      const shared = {
        version: PACKAGE_VERSION,
        command: resolveShortestHearthbusCommand(process.argv[1] ?? '', process.cwd()),
      }
      if (options.demo !== true) {
        endWith(await runUpCommand({ ...shared, config, dataRoot: root }))
        return
      }
      const { startDemoSimulators } = await import('./demo-server.ts')
      const simulators = await startDemoSimulators(config)
      const code = await runUpCommand({
        ...shared,
        config: simulators.config,
        dataRoot: resolveDemoDataRoot(root),
        pinned: false,
        afterwards: simulators.wake,
      })
      await simulators.stop()
      endWith(code)
    })
  program
    .command('mcp')
    .description('speak MCP over stdio')
    .option('--profile <name>', 'show only the tools of a profile', 'all')
    .addOption(new Option('--names <style>', 'how tools are named').choices(['dots', 'underscore']).default('dots'))
    .option('--node <id>', 'only what this node offers, by id or name')
    .action(async (options: { profile: string; names: 'dots' | 'underscore'; node?: string }, command: Command) => {
      const config = readCommandConfig(command)
      if (config === undefined) return
      const { profile, names: style, node } = options
      const { runStdioCommand } = await import('./stdio-server.ts')
      const token = process.env['HEARTHBUS_TOKEN']
      const dataRoot = readDataRoot(command)
      const { config: configFile } = readGlobalOptions(command)
      endWith(
        await runStdioCommand({ profile, style, node, token, config, configFile, dataRoot, version: PACKAGE_VERSION }),
      )
    })
  program
    .command('witness')
    .description('cosign the checkpoints of gateways elsewhere')
    .option('--host <address>', 'listen on', '127.0.0.1')
    // The default port is beside 7420 (people and agents), 7421 (devices), 7423 (HomeSeer's web hook) and 7424 (MQTT).
    .option('--port <n>', 'port; 0 takes a free one', createWholeNumberParser(0, 65_535), 7422)
    .option('--name <name>', 'what it signs as', 'hearthbus.local/witness')
    .option('--log <vkey...>', 'public key of a log to watch over', [])
    .option('--restored', 'you put an older copy of its directory back', false)
    .action(async (options: WitnessFlags, command: Command) => {
      const config = readCommandConfig(command)
      if (config === undefined) return
      const { runWitness } = await import('./witness-command-server.ts')
      const { log: logs, ...rest } = options
      process.exitCode = await runWitness({ ...rest, logs, config, folder: join(readDataRoot(command), 'witness') })
    })
}

interface WitnessFlags {
  readonly host: string
  readonly port: number
  readonly name: string
  readonly log: string[]
  readonly restored: boolean
}

/**
 * Exits when all output is written, or soon if nobody reads it: output that waits in a pipe would keep the process
 * alive.
 */
function endWith(code: ExitCode): void {
  process.exitCode = code
  setTimeout(() => process.exit(), LAST_WORDS_MS).unref()
}

/** The demo and the real house use the same port, so the message names the other gateway instead of a taken port. */
function explainOtherGateway(port: number, wanted: string, command: Command): string | undefined {
  const root = readDataRoot(command)
  const running = findRunningGateway(readGlobalOptions(command))
  if (!running.ok || running.value.dataRoot === wanted) return undefined
  const { note, dataRoot } = running.value
  if (Number(new URL(note.url).port) !== port) return undefined
  const who = dataRoot === resolveDemoDataRoot(root) ? 'The demo' : 'The gateway of your own house'
  return `${who} runs at ${note.url} already. Stop it first, or set listen.port in the configuration.`
}
