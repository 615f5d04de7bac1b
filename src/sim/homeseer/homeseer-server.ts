/**
 * HomeSeer server: the simulated HomeSeer on real sockets: web server, ASCII port, web hooks, data directory.
 *
 *   HTTP ─▶ login ─▶ read-api | write-api | script-page ─▶ house ─▶ DC lines and web hooks
 *   ASCII ─▶ ascii-port ──────────────────────────────────┘
 *
 * It treats all clients alike: a client that works here should work with a real HomeSeer.
 */
import type { AddressInfo, Server as NetServer } from 'node:net'
import type { Server as HttpServer } from 'node:http'
import { startAsciiServer } from './ascii-server.ts'
import { writeSimulatedEventFiles, type SimulatedEventFilePaths } from './event-file-store.ts'
import { createNoHomeseerFaults, type SimulatedHomeseerFaults } from './simulated-faults.ts'
import { createHardCaseDevices } from './hard-case-devices.ts'
import { createManySensors } from './many-sensors.ts'
import { SimulatedHomeseerDevices, type SimulatedDeviceChange } from './simulated-devices.ts'
import { startHomeseerHttpServer } from './http-server.ts'
import type { SimulatedHomeseerDevice } from './simulated-homeseer-device.ts'
import { SimulatedTriggerScheduler } from './trigger-scheduler.ts'
import { createSimulatedHomeseerSystem, type SimulatedEvent, type SimulatedHomeseerSystem } from './simulated-system.ts'
import { WebhookSender } from './webhook-client.ts'
import { createSimulatedWorld } from './simulated-world.ts'

export interface HomeseerSimulatorOptions {
  /** Where to listen; port 0 is any free one. */
  readonly host: string
  readonly httpPort: number
  readonly asciiPort: number
  /** The devices; the house of hard cases when not given. */
  readonly parts?: readonly SimulatedHomeseerDevice[]
  /** The events; a default set if not given. */
  readonly events?: readonly SimulatedEvent[]
  /** Sensors to add, for paging and load. */
  readonly sensors?: number
  /** Where changes are posted to. */
  readonly webhooks?: readonly string[]
  /** Where the event files go; none are written without it. */
  readonly dataDirectory?: string
}

export interface HomeseerSimulator {
  readonly httpPort: number
  readonly asciiPort: number
  /** The devices' hardware and stored values, to read and to move. */
  readonly house: SimulatedHomeseerDevices
  /** Users, events, cameras, and the list of attempted changes. */
  readonly system: SimulatedHomeseerSystem
  readonly faults: SimulatedHomeseerFaults
  readonly eventFiles: SimulatedEventFilePaths | undefined
  /** A person at home moves a device: the hardware changes and HomeSeer learns of it. */
  readonly move: (ref: number, value: number) => void
  /** Ends every open connection of a port, as a restart would; the port stays open. */
  readonly hangUp: (port: 'http' | 'ascii') => void
  readonly stop: () => Promise<void>
}

export async function startHomeseerSimulator(options: HomeseerSimulatorOptions): Promise<HomeseerSimulator> {
  const faults = createNoHomeseerFaults()
  const parts = [...(options.parts ?? createHardCaseDevices()), ...createManySensors(options.sensors ?? 0)]
  const house = new SimulatedHomeseerDevices(parts, faults)
  const system = createSimulatedHomeseerSystem(options.events)
  const world = createSimulatedWorld(house, system, faults)
  const scheduler = new SimulatedTriggerScheduler(world)
  const alarm = newAlarm(house, scheduler)
  const { dataDirectory } = options
  const eventFiles = dataDirectory === undefined ? undefined : writeSimulatedEventFiles(dataDirectory, system)
  let savedEvents = system.events
  const settle = () => {
    alarm.settle()
    // HomeSeer saves its events when they change.
    if (dataDirectory === undefined || system.events === savedEvents) return
    savedEvents = system.events
    writeSimulatedEventFiles(dataDirectory, system)
  }
  const http = await startHomeseerHttpServer(world, { host: options.host, port: options.httpPort, settle })
  const ascii = await startAsciiServer(world, { host: options.host, port: options.asciiPort, settle }).catch(
    async (error: unknown) => {
      // Both ports are opened, or none.
      await http.stop()
      throw error
    },
  )
  const hooks = new WebhookSender(options.webhooks ?? [])
  house.onChange((change) => publish(change))
  // After the push, because HomeSeer reports a change and then runs its events.
  house.onWrite((change, nowMs) => scheduler.written(change, nowMs))

  function publish(change: SimulatedDeviceChange): void {
    for (const refs of world.changedSince.values()) refs.add(change.ref)
    // Before the web hooks, because the port pushes from inside of HomeSeer, and hooks are sent later.
    if (!faults.pushSilent) ascii.push(change)
    const record = house.record(change.ref)
    if (record !== undefined) hooks.send({ ...record, value: change.value }, system.zone)
  }

  return {
    httpPort: portOf(http.server),
    asciiPort: portOf(ascii.server),
    house,
    system,
    faults,
    eventFiles,
    move: (ref, value) => {
      house.move(ref, value, Date.now())
      settle()
    },
    hangUp: (port) => (port === 'http' ? http.server.closeAllConnections() : ascii.hangUp()),
    stop: async () => {
      alarm.stop()
      hooks.stop()
      await Promise.all([http.stop(), ascii.stop()])
    },
  }
}

function portOf(server: NetServer | HttpServer): number {
  return (server.address() as AddressInfo).port
}

/** Runs what is due, and sets one timer for the next thing, for the whole house. */
function newAlarm(
  house: SimulatedHomeseerDevices,
  scheduler: SimulatedTriggerScheduler,
): { readonly settle: () => void; readonly stop: () => void } {
  let timer: NodeJS.Timeout | undefined
  const settle = () => {
    clearTimeout(timer)
    house.advance(Date.now())
    scheduler.advance(Date.now())
    const dueMs = Math.min(house.nextDueMs, scheduler.nextDueMs)
    if (dueMs !== Number.POSITIVE_INFINITY) timer = setTimeout(settle, Math.max(0, dueMs - Date.now()))
  }
  return { settle, stop: () => clearTimeout(timer) }
}
