/**
 * Simulator server: a simulated heating system to which any client can connect.
 *
 *   enhanced adapter (TCP) ─┐
 *   plain adapter (TCP, UDP)┼─▶ virtual bus ◀─ regulator, boiler, mixer, internet gateway ◀─▶ house
 *   ebusd's own port (TCP) ─┘
 */
import { omitUndefined } from '../../core/json.ts'
import type { SimulatedHouse } from '../house-state.ts'
import { AdapterServer } from './adapter-server.ts'
import { EbusdServer } from './ebusd-server.ts'
import type { SimulatedHeatSource, CustomSimulatedBusDevice } from './heating-system.ts'
import { HeatingSystem } from './heating-system.ts'
import { PlainUdpServer } from './plain-udp-server.ts'
import type { SimulatedRegulatorFamily } from './regulator-registers.ts'
import { HeatingSystemDriver } from './heating-system-driver.ts'

export interface EbusSimulatorOptions {
  readonly listen?: {
    readonly host?: string
    /** 0 lets the system choose a port. The others are only opened if they are given. */
    readonly port?: number
    readonly plainPort?: number
    readonly udpPort?: number
    readonly ebusdPort?: number
  }
  readonly seed?: number
  /** 1 is 2400 Bd. Tests run faster: everything on the bus, including the devices' own intervals, is accelerated. */
  readonly speed?: number
  readonly house?: {
    /** Seconds of the house per second of the bus. */
    readonly speed?: number
    readonly startMs?: number
  }
  readonly regulator?: SimulatedRegulatorFamily
  readonly heatSource?: SimulatedHeatSource
  /** Whether the devices exchange telegrams; true by default. */
  readonly chatter?: boolean
  /** Devices instead of the built-in heating. */
  readonly devices?: readonly CustomSimulatedBusDevice[]
}

interface SimulatorFaults {
  readonly corruptCrc: (times?: number) => void
  readonly dropByte: (times?: number) => void
  /** In real milliseconds. */
  readonly stickBus: (forMs: number) => void
  /** In milliseconds of the bus; from 40 on the AUTO-SYN is faster. */
  readonly slowResponse: (delayMs: number, times?: number) => void
  readonly arbitrationStorm: (telegrams: number) => void
  readonly tcpDrop: (refuseForMs?: number) => void
  readonly adapterReset: () => void
}

export interface EbusSimulator {
  readonly port: number
  readonly plainPort: number | undefined
  readonly udpPort: number | undefined
  readonly ebusdPort: number | undefined
  /** The present state of the house. */
  readonly house: () => SimulatedHouse
  readonly changeHouse: (change: (house: SimulatedHouse) => SimulatedHouse) => void
  readonly symbols: () => number
  readonly faults: SimulatorFaults
  readonly stop: () => Promise<void>
}

/** A client on another machine, or on a busy one, may take this long between two symbols. */
const OUTSIDE_PATIENCE_MS = 200

export async function startEbusSimulator(options: EbusSimulatorOptions = {}): Promise<EbusSimulator> {
  const {
    listen = {},
    seed = 1,
    speed = 1,
    house = {},
    regulator = '720',
    heatSource = 'boiler',
    chatter = true,
  } = options
  const { host = '127.0.0.1', port = 0, plainPort, udpPort, ebusdPort } = listen
  const system = new HeatingSystem({
    seed,
    regulator,
    heatSource,
    chatter,
    startMs: house.startMs ?? localNow(),
    houseSpeed: house.speed ?? 1,
    // In real time this is not needed, because a network is faster than 40 ms of silence.
    outsidePatienceMs: speed === 1 ? 0 : OUTSIDE_PATIENCE_MS * speed,
    ...omitUndefined({ devices: options.devices }),
  })
  const clock = new HeatingSystemDriver(system, speed)
  const shared = { system, clock, host }
  const opened: { readonly close: () => Promise<void> }[] = []
  const stop = async (): Promise<void> => {
    clock.stop()
    for (const server of opened) await server.close()
  }
  /** Opens all ports or none: if one fails, those that are open are closed. */
  const open = async <Server extends { readonly close: () => Promise<void> }>(
    opening: Promise<Server>,
  ): Promise<Server> => {
    try {
      const server = await opening
      opened.push(server)
      return server
    } catch (error) {
      await stop()
      throw error
    }
  }
  const enhanced = await open(AdapterServer.open({ ...shared, port, protocol: 'enhanced' }))
  const plain =
    plainPort === undefined
      ? undefined
      : await open(AdapterServer.open({ ...shared, port: plainPort, protocol: 'plain' }))
  const udp = udpPort === undefined ? undefined : await open(PlainUdpServer.open({ ...shared, port: udpPort }))
  const ebusd = ebusdPort === undefined ? undefined : await open(EbusdServer.open({ ...shared, port: ebusdPort }))
  const { faults } = system
  return {
    port: enhanced.port,
    plainPort: plain?.port,
    udpPort: udp?.port,
    ebusdPort: ebusd?.port,
    house: () => system.house,
    changeHouse: (change) => system.changeHouse(change),
    symbols: () => system.bus.symbols,
    faults: {
      corruptCrc: (times) => faults.corruptCrc(times),
      dropByte: (times) => faults.dropByte(times),
      stickBus: (forMs) => {
        clock.act(() => faults.stickBus(forMs * speed))
        // A line that is held low is one long framing error, which an adapter reports.
        enhanced.reportFraming()
      },
      slowResponse: (delayMs, times) => faults.slowResponse(delayMs, times),
      arbitrationStorm: (telegrams) => faults.arbitrationStorm(telegrams),
      tcpDrop: (refuseForMs = 0) => {
        for (const server of [enhanced, plain]) server?.dropConnections(refuseForMs)
      },
      adapterReset: () => enhanced.reset(),
    },
    stop,
  }
}

/** The house's clock shows local time, written as if it were UTC. */
function localNow(): number {
  const now = new Date()
  return now.getTime() - now.getTimezoneOffset() * 60_000
}
