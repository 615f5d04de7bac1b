/**
 * Sim eBUS: the simulated eBUS alone, for our client and those of others.
 *
 *   hearthbus sim ebus --listen 127.0.0.1:9999        then: ebusd -d enh:127.0.0.1:9999, or ebus.buses[].adapter
 *
 * While it runs, typed commands cause faults: `help` lists them.
 */
import type { Command } from 'commander'
import { Option } from 'commander'
import type { SimulatedDefinitionDevice } from './generated-ebus-device.ts'
import { EXIT_CODES } from './command-output.ts'
import { parseListenAddress, parsePositiveNumber, runTypedCommandsUntilSignal } from './sim-input-client.ts'
import type { ListenAddress } from './sim-input-client.ts'
import { createWholeNumberParser } from './whole-number.ts'
import { readErrorMessage } from '../core/thrown-error.ts'

interface SimOptions {
  readonly listen: ListenAddress
  readonly plainPort?: number
  readonly udpPort?: number
  readonly ebusdPort?: number
  readonly seed: number
  readonly speed: number
  readonly houseSpeed: number
  readonly regulator: '720' | '700'
  readonly heatSource: 'boiler' | 'heat-pump'
  readonly quiet?: boolean
  readonly definitions?: string
  readonly device: readonly string[]
}

const PORT = createWholeNumberParser(0, 65_535)

export function addEbusSim(sim: Command): void {
  sim
    .command('ebus')
    .description('run a virtual heating system on an eBUS, behind an adapter that any client can use')
    .addOption(
      new Option('--listen <host:port>', 'enhanced adapter (enh:host:port)')
        .argParser(parseListenAddress)
        .default({ host: '127.0.0.1', port: 9_999 }, '127.0.0.1:9999'),
    )
    .option('--plain-port <n>', 'also as a plain adapter on this TCP port', PORT)
    .option('--udp-port <n>', 'also as a plain adapter on this UDP port', PORT)
    .option('--ebusd-port <n>', 'also as an ebusd on this TCP port', PORT)
    .option('--seed <n>', 'equal seeds give equal houses', Number, 1)
    .option('--speed <x>', 'how much faster than 2400 Bd', parsePositiveNumber, 1)
    .option('--house-speed <x>', 'seconds of the house per second of the bus', parsePositiveNumber, 1)
    .addOption(new Option('--regulator <family>', 'which regulator').choices(['720', '700']).default('720'))
    .addOption(
      new Option('--heat-source <kind>', 'what makes the heat').choices(['boiler', 'heat-pump']).default('boiler'),
    )
    .option('--definitions <folder>', 'definition files in ebusd’s layout, for --device')
    .option(
      '--device <name>',
      'instead of the built-in heating: a device that a file describes, e.g. 08.bai',
      collected,
      [],
    )
    .option('--quiet', 'devices answer, but say nothing by themselves')
    .action(async (options: SimOptions) => {
      process.exitCode = await runEbusSim(options)
    })
}

function collected(value: string, all: readonly string[]): readonly string[] {
  return [...all, value]
}

/** Simulated devices from definition files; a sentence when one cannot be made. */
async function definedDevices({
  definitions,
  device,
}: SimOptions): Promise<readonly SimulatedDefinitionDevice[] | string> {
  if (device.length === 0) return []
  if (definitions === undefined) return '--device needs --definitions'
  const { DefinitionFolderReader } = await import('../ebus/definitions/definition-folder-store.ts')
  const { simulateDeviceFromDefinitions } = await import('./generated-ebus-device.ts')
  const folder = new DefinitionFolderReader(definitions, 'en')
  const devices: SimulatedDefinitionDevice[] = []
  for (const spec of device) {
    const made = simulateDeviceFromDefinitions(folder, spec)
    if (!made.ok) return made.fault
    const { address, file } = made.value
    const taken = devices.find((other) => other.address === address)
    if (taken !== undefined)
      return `${taken.file} and ${file} describe a device at ${address.toString(16).padStart(2, '0')}: only one can be there`
    devices.push(made.value)
  }
  return devices
}

async function runEbusSim(options: SimOptions): Promise<number> {
  const devices = await definedDevices(options)
  if (typeof devices === 'string') {
    process.stderr.write(`${devices}\n`)
    return EXIT_CODES.usage
  }
  const { startEbusSimulator } = await import('../sim/ebus/simulator-server.ts')
  const { runEbusSimulatorCommand } = await import('../sim/ebus/simulator-commands.ts')
  const { plainPort, udpPort, ebusdPort, seed, speed, houseSpeed, regulator, heatSource } = options
  const simulator = await startEbusSimulator({
    listen: {
      ...options.listen,
      ...(plainPort === undefined ? {} : { plainPort }),
      ...(udpPort === undefined ? {} : { udpPort }),
      ...(ebusdPort === undefined ? {} : { ebusdPort }),
    },
    seed,
    speed,
    regulator,
    heatSource,
    house: { speed: houseSpeed },
    chatter: options.quiet !== true,
    ...(devices.length === 0 ? {} : { devices }),
  }).catch(readErrorMessage)
  if (typeof simulator === 'string') {
    process.stderr.write(`The heating system cannot listen there: ${simulator}\n`)
    return EXIT_CODES.usage
  }
  const { host } = options.listen
  const ways = [
    `enh:${host}:${simulator.port}`,
    ...(simulator.plainPort === undefined ? [] : [`tcp:${host}:${simulator.plainPort}`]),
    ...(simulator.udpPort === undefined ? [] : [`udp:${host}:${simulator.udpPort}`]),
    ...(simulator.ebusdPort === undefined ? [] : [`ebusd:${host}:${simulator.ebusdPort}`]),
  ]
  for (const { address, deviceId, file, messages } of devices)
    process.stdout.write(`${deviceId} at ${address.toString(16).padStart(2, '0')}: ${messages} messages of ${file}\n`)
  process.stdout.write(`A heating system answers at ${ways.join(', ')}. Type \`help\`; Ctrl-C stops it.\n`)
  await runTypedCommandsUntilSignal((line) => runEbusSimulatorCommand(simulator, line))
  await simulator.stop()
  return EXIT_CODES.ok
}
