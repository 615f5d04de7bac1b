/**
 * Virtual heating: the simulated eBUS on its own, for other people's clients as much as for ours.
 *
 *   hearthbus sim ebus --listen 127.0.0.1:9999        then: ebusd -d enh:127.0.0.1:9999, or ebus.buses[].adapter
 *
 * What is typed to it while it runs makes things go wrong: `help` lists how.
 *
 * Does I/O.
 */
import { createInterface } from 'node:readline'
import type { Command } from 'commander'
import { InvalidArgumentError, Option } from 'commander'
import { EXIT } from './print.ts'
import { untilSignal } from './until-signal-client.ts'
import { thrownMessage } from '../core/thrown.ts'

interface SimOptions {
  readonly listen: { readonly host: string; readonly port: number }
  readonly plainPort?: number
  readonly udpPort?: number
  readonly ebusdPort?: number
  readonly seed: number
  readonly speed: number
  readonly houseSpeed: number
  readonly regulator: '720' | '700'
  readonly quiet?: boolean
}

export function addEbusSim(sim: Command): void {
  sim
    .command('ebus')
    .description('run a virtual heating system on an eBUS, behind an adapter that any client can use')
    .addOption(
      new Option('--listen <host:port>', 'enhanced adapter (enh:host:port)')
        .argParser(hostAndPort)
        .default({ host: '127.0.0.1', port: 9_999 }, '127.0.0.1:9999'),
    )
    .option('--plain-port <n>', 'also as a plain adapter on this TCP port', port)
    .option('--udp-port <n>', 'also as a plain adapter on this UDP port', port)
    .option('--ebusd-port <n>', 'also as an ebusd on this TCP port', port)
    .option('--seed <n>', 'equal seeds give equal houses', Number, 1)
    .option('--speed <x>', 'how much faster than 2400 Bd', positive, 1)
    .option('--house-speed <x>', 'seconds of the house per second of the bus', positive, 1)
    .addOption(new Option('--regulator <family>', 'which regulator').choices(['720', '700']).default('720'))
    .option('--quiet', 'devices answer, but say nothing by themselves')
    .action(async (options: SimOptions) => {
      process.exitCode = await runEbusSim(options)
    })
}

async function runEbusSim(options: SimOptions): Promise<number> {
  const { startEbusSimulator } = await import('../sim/ebus/simulator-server.ts')
  const { control } = await import('../sim/ebus/control.ts')
  const { plainPort, udpPort, ebusdPort, seed, speed, houseSpeed, regulator } = options
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
    house: { speed: houseSpeed },
    chatter: options.quiet !== true,
  }).catch(thrownMessage)
  if (typeof simulator === 'string') {
    process.stderr.write(`The heating system cannot listen there: ${simulator}\n`)
    return EXIT.usage
  }
  const { host } = options.listen
  const ways = [
    `enh:${host}:${simulator.port}`,
    ...(simulator.plainPort === undefined ? [] : [`tcp:${host}:${simulator.plainPort}`]),
    ...(simulator.udpPort === undefined ? [] : [`udp:${host}:${simulator.udpPort}`]),
    ...(simulator.ebusdPort === undefined ? [] : [`ebusd:${host}:${simulator.ebusdPort}`]),
  ]
  process.stdout.write(`A heating system answers at ${ways.join(', ')}. Type \`help\`; Ctrl-C stops it.\n`)
  // Lines, so that a script can pipe faults into it.
  const typed = createInterface({ input: process.stdin })
  typed.on('line', (line) => {
    if (line.trim() !== '') process.stdout.write(`${control(simulator, line)}\n`)
  })
  await untilSignal()
  typed.close()
  await simulator.stop()
  return EXIT.ok
}

/** The last colon parts them, so that an IPv6 address in brackets works, too. */
function hostAndPort(text: string): { readonly host: string; readonly port: number } {
  const at = text.lastIndexOf(':')
  const host = text.slice(0, at).replaceAll(/[[\]]/g, '')
  if (at < 1 || host === '') throw new InvalidArgumentError('host:port, such as 127.0.0.1:9999')
  return { host, port: port(text.slice(at + 1)) }
}

function port(text: string): number {
  const value = Number(text)
  if (text === '' || !Number.isInteger(value) || value < 0 || value > 65_535)
    throw new InvalidArgumentError('0 to 65535; 0 takes a free one')
  return value
}

function positive(text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('a number above 0')
  return value
}
