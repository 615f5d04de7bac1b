/**
 * Sim HomeSeer: the simulated HomeSeer alone, for any client.
 *
 * While it runs, typed commands change devices and cause faults: `help` lists them.
 */
import { Option } from 'commander'
import type { Command } from 'commander'
import { runHomeseerSimulatorCommand } from '../sim/homeseer/simulator-commands.ts'
import { startHomeseerSimulator } from '../sim/homeseer/homeseer-server.ts'
import { EXIT_CODES } from './command-output.ts'
import { parseListenAddress, runTypedCommandsUntilSignal } from './sim-input-client.ts'
import type { ListenAddress } from './sim-input-client.ts'
import { createWholeNumberParser } from './whole-number.ts'
import { readErrorMessage } from '../core/thrown-error.ts'

interface SimOptions {
  readonly http: ListenAddress
  readonly ascii: ListenAddress
  readonly sensors: number
  readonly webhook: readonly string[]
  readonly dataDirectory?: string
  readonly openSubnet?: boolean
  readonly withoutAdapter?: boolean
}

/** The gateway shows 20,000 devices at most, and the house of hard cases needs some of them. */
const MAX_SENSORS = 15_000

export function addHomeseerSim(sim: Command): void {
  sim
    .command('homeseer')
    .description('a simulated HomeSeer HS4: JSON, ASCII push, web hooks, event files')
    .addOption(
      new Option('--http <host:port>', 'web server')
        .argParser(parseListenAddress)
        .default(parseListenAddress('127.0.0.1:8888'), '127.0.0.1:8888'),
    )
    .addOption(
      new Option('--ascii <host:port>', 'ASCII port')
        .argParser(parseListenAddress)
        .default(parseListenAddress('127.0.0.1:11000'), '127.0.0.1:11000'),
    )
    .addOption(
      new Option('--sensors <n>', 'sensors to add, for load')
        .argParser(createWholeNumberParser(0, MAX_SENSORS))
        .default(0),
    )
    .option('--webhook <url...>', 'where changes are posted to', [])
    .option('--data-directory <folder>', 'write events.json and eventgroups.json there')
    .option('--open-subnet', 'ask nobody for a password')
    .option('--without-adapter', 'as if the admin adapter were not installed')
    .action(async (options: SimOptions) => {
      process.exitCode = await run(options)
    })
}

async function run(options: SimOptions): Promise<number> {
  const { http, ascii, sensors, webhook: webhooks, dataDirectory } = options
  if (http.host !== ascii.host) {
    process.stderr.write('The web server and the ASCII port are on one machine: give both the same host.\n')
    return EXIT_CODES.usage
  }
  const simulator = await startHomeseerSimulator({
    host: http.host,
    httpPort: http.port,
    asciiPort: ascii.port,
    sensors,
    webhooks,
    ...(dataDirectory === undefined ? {} : { dataDirectory }),
  }).catch(readErrorMessage)
  if (typeof simulator === 'string') {
    process.stderr.write(`HomeSeer cannot be simulated there: ${simulator}\n`)
    return EXIT_CODES.usage
  }
  simulator.system.passwordRequired = options.openSubnet !== true
  simulator.faults.adapterMissing = options.withoutAdapter === true
  const { events, groups } = simulator.eventFiles ?? {}
  process.stdout.write(
    [
      `A simulated HomeSeer with ${simulator.house.refs.length} devices listens at http://${http.host}:${simulator.httpPort}.`,
      'In the configuration of a gateway that should use it:',
      '  homeseer:',
      `    url: http://${http.host}:${simulator.httpPort}`,
      '    user: default',
      '    password: default',
      ...(events === undefined
        ? ['    eventsFrom: adapter']
        : [`    eventsPath: ${events}`, `    eventGroupsPath: ${String(groups)}`]),
      '    push:',
      `      asciiPort: ${simulator.asciiPort}`,
      'Type `help`; Ctrl-C stops it.',
      '',
    ].join('\n'),
  )
  await runTypedCommandsUntilSignal((line) => runHomeseerSimulatorCommand(simulator, line))
  await simulator.stop()
  return EXIT_CODES.ok
}
