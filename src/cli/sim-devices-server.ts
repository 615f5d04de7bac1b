/**
 * Sim devices: virtual ESP32 devices, controlled from the keyboard, for any backend that speaks their protocol.
 *
 *   hearthbus sim devices --count 4 --approve
 */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { SimulatedBoardKind } from '../sim/devices/simulated-board.ts'
import { startSimulatedFleet } from '../sim/devices/simulated-fleet.ts'
import type { FirmwareProfileName } from '../sim/devices/firmware-profile.ts'
import { FIRMWARE_TIMING } from '../sim/devices/simulated-device.ts'
import type { SimulatedDeviceFaults } from '../sim/devices/simulated-device.ts'
import { readGlobalOptions } from './command-client.ts'
import { findRunningGateway, requestGateway } from './gateway-client.ts'
import { EXIT_CODES } from './command-output.ts'
import { waitForSignal } from './process-signal.ts'
import { createWholeNumberParser } from './whole-number.ts'
import { readErrorMessage } from '../core/thrown-error.ts'

interface SimOptions {
  readonly ota: string
  readonly count: number
  readonly first: number
  readonly profile?: FirmwareProfileName
  readonly kind?: SimulatedBoardKind
  readonly approve?: boolean
  readonly transport: string
  readonly asleep?: boolean
  readonly late?: number
  readonly fault: readonly FaultName[]
}

/** The word that is typed, and the simulator's switch for it. */
const FAULTS = {
  'no-pong': 'noPong',
  'drop-on-call': 'dropOnCall',
  garbled: 'garbled',
  silent: 'silent',
  duplicate: 'duplicate',
  'oversized-tool': 'oversizedTool',
  'oversized-reply': 'oversizedReply',
} as const
type FaultName = keyof typeof FAULTS

export function addDevicesSim(sim: Command): void {
  sim
    .command('devices')
    .description('ESP32 devices that boot, enrol and answer like firmware, until Ctrl-C')
    .option('--ota <url>', 'where they ask what to connect to', 'http://127.0.0.1:7421/xiaozhi/ota/')
    .option('--count <n>', 'how many', createWholeNumberParser(1, 10_000), 1)
    .option(
      '--first <n>',
      'number of the first one: its address follows from it',
      createWholeNumberParser(1, 1_000_000_000),
      1,
    )
    .addOption(
      new Option('--profile <name>', 'firmware; mixed if absent').choices(['fw-1.9', 'fw-2.4', 'fw-next', 'py']),
    )
    .addOption(new Option('--kind <name>', 'board; mixed if absent').choices(['speaker', 'lamp', 'camera', 'robot']))
    .option('--approve', 'let them in at the gateway of this machine')
    .addOption(
      new Option('--transport <name>', 'with --approve: how they connect')
        .choices(['websocket', 'mqtt', 'both'])
        .default('both'),
    )
    .option('--asleep', 'WebSocket devices stay silent, as stock ones do until somebody wakes them')
    .option('--late <ms>', 'delay every answer by this much', createWholeNumberParser(0, 600_000))
    .addOption(
      new Option('--fault <name...>', 'what is wrong with them').choices(Object.keys(FAULTS)).default([], 'nothing'),
    )
    .action(async (options: SimOptions, command: Command) => {
      process.exitCode = await simulate(options, command)
    })
}

async function simulate(options: SimOptions, command: Command): Promise<number> {
  // Keeps the process alive: devices that sleep, or that were not enrolled, hold no connection.
  const alive = setInterval(() => undefined, 60_000)
  const stopping = new AbortController()
  const stopWanted = waitForSignal().finally(() => clearInterval(alive))
  const { ota, count, first, profile, kind, asleep } = options
  let shown = 0
  const started = startSimulatedFleet({
    ota,
    count,
    first,
    awake: asleep !== true,
    ...(profile === undefined ? {} : { profile }),
    ...(kind === undefined ? {} : { kind }),
    // The reconnect time is shortened, because a person would otherwise wait a minute for every device that was
    // disconnected.
    timing: { reconnectMs: 2_000, rebootMs: FIRMWARE_TIMING.rebootMs, ...(options.approve ? { activateMs: 500 } : {}) },
    faults: faultsOf(options),
    signal: stopping.signal,
    onDeviceCode: ({ deviceId }, code) => {
      if (options.approve === true) void approve(command, code, transportOf(options, shown++))
      else process.stdout.write(`${deviceId} shows ${code}   hearthbus devices approve ${code}\n`)
    },
  })
  // A fleet that still waits for enrolment can be stopped as well.
  const outcome = await Promise.race([started.catch(reason), stopWanted])
  if (typeof outcome === 'string') {
    process.stderr.write(`${outcome}\n`)
    clearInterval(alive)
    return EXIT_CODES.unreachable
  }
  if (outcome !== undefined) process.stdout.write(`${outcome.devices.length} devices are up. Ctrl-C stops them.\n`)
  await stopWanted
  stopping.abort()
  return EXIT_CODES.ok
}

function faultsOf({ late, fault }: SimOptions): Partial<SimulatedDeviceFaults> {
  const switched = Object.fromEntries(fault.map((name) => [FAULTS[name], true]))
  return { ...switched, ...(late === undefined ? {} : { lateMs: late }) }
}

function transportOf({ transport }: SimOptions, index: number): string {
  if (transport !== 'both') return transport
  return index % 2 === 0 ? 'websocket' : 'mqtt'
}

async function approve(command: Command, code: string, transport: string): Promise<void> {
  const gateway = findRunningGateway(readGlobalOptions(command))
  const body = { tool: 'devices.enrolment.approve', arguments: { code, transport } }
  const answer = gateway.ok
    ? await requestGateway(gateway.value, { method: 'POST', path: '/api/call', body, asOwner: true })
    : gateway
  if (!answer.ok) process.stderr.write(`${code} could not be approved: ${answer.fault.message}\n`)
}

function reason(error: unknown): string {
  const cause = error instanceof AggregateError ? error.errors[0] : error
  return `The devices could not boot: ${readErrorMessage(cause)}`
}
