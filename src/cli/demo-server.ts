/**
 * Demo: starts the virtual house, which is reached over real sockets on loopback, and makes the configuration that
 * points at it.
 *
 * The gateway is the real one and cannot tell the difference: it is given addresses, as in any other house.
 */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { startListening } from '../core/listen-server.ts'
import type { Config } from '../config/schema.ts'
import { OWNER_PRINCIPAL } from '../guard/authenticator.ts'
import type { Gateway } from '../main.ts'
import type { SimulatedBoardKind } from '../sim/devices/simulated-board.ts'
import { startDeviceSimulator } from '../sim/devices/device-client.ts'
import { createNumberedIdentity } from '../sim/devices/identity.ts'
import { startEbusSimulator } from '../sim/ebus/simulator-server.ts'
import { startHomeseerSimulator } from '../sim/homeseer/homeseer-server.ts'

export interface DemoHouse {
  /** The owner's configuration with the addresses of the virtual house. */
  readonly config: Config
  /** Switches the ESP32 devices on, once the gateway can answer them. */
  readonly wake: (gateway: Gateway) => void
  readonly stop: () => Promise<void>
}

interface DemoDevice {
  readonly name: string
  readonly kind: SimulatedBoardKind
  readonly transport: 'websocket' | 'mqtt'
}

interface Switch {
  readonly ota: string
  readonly index: number
  readonly kind: SimulatedBoardKind
  readonly onCode?: (code: string) => void
  /** Aborts when the demo stops; a device is then switched off, in whatever state it is. */
  readonly signal: AbortSignal
}

const HOST = '127.0.0.1'
/** The simulation runs faster than real time, because a room takes hours to warm up. */
const HOUSE_SPEED = 30
/** A fixed seed, so that people see the house that the documentation shows. */
const SEED = 7
/** The demo itself enrols these devices; one more waits with its code, so that there is something to approve. */
const DEVICES: readonly DemoDevice[] = [
  { name: 'Kitchen speaker', kind: 'speaker', transport: 'websocket' },
  { name: 'Desk lamp', kind: 'lamp', transport: 'mqtt' },
  { name: 'Door camera', kind: 'camera', transport: 'websocket' },
]

export async function startDemoSimulators(config: Config): Promise<DemoHouse> {
  const heating = await startEbusSimulator({
    listen: { host: HOST, port: 0 },
    seed: SEED,
    house: { speed: HOUSE_SPEED },
  })
  const homeseer = await startHomeseerSimulator({ host: HOST, httpPort: 0, asciiPort: 0 })
  // The ports are chosen here, because the devices need them before the gateway has opened them.
  const [port, mqttPort] = [await freePort(), await freePort()]
  const stopping = new AbortController()
  const { signal } = stopping
  const bus = { id: 'main', adapter: `enh:${HOST}:${heating.port}`, source: 'auto' as const, readOnly: false }
  return {
    config: {
      ...config,
      // By default the demo logs warnings only, so that a newcomer can read the welcome; a level that was set
      // explicitly is kept.
      logLevel: config.logLevel === 'info' ? 'warn' : config.logLevel,
      // Five telegrams end the warm-up, so that a person who tries the demo need not wait for twenty.
      ebus: { ...config.ebus, buses: [{ ...bus, warmUpTransactions: 5 }] },
      homeseer: {
        ...config.homeseer,
        url: `http://${HOST}:${homeseer.httpPort}`,
        user: 'default',
        password: 'default',
        push: { ...config.homeseer.push, asciiPort: homeseer.asciiPort },
        // No disk is searched for events: the simulated HomeSeer has the adapter, which reports what its events do.
        eventsFrom: 'adapter',
      },
      devices: {
        ...config.devices,
        enabled: true,
        host: HOST,
        port,
        mqtt: { enabled: true, port: mqttPort, udpPort: mqttPort },
      },
    },
    wake: (gateway) => {
      const ota = `http://${HOST}:${port}${config.devices.otaPath}`
      for (const [index, device] of DEVICES.entries()) void letIn(gateway, { ota, index, device, signal })
      void switchOn({ ota, index: DEVICES.length, kind: 'robot', signal })
    },
    stop: async () => {
      stopping.abort()
      await homeseer.stop()
      await heating.stop()
    },
  }
}

/** Does what a person would do who reads the code off a device's display and recognises the device. */
async function letIn(
  gateway: Gateway,
  { device, ...rest }: Omit<Switch, 'kind' | 'onCode'> & { readonly device: DemoDevice },
): Promise<void> {
  const { name, kind, transport } = device
  const onCode = (code: string): void =>
    void gateway.bus.call(
      'devices.enrolment.approve',
      undefined,
      { code, name, transport },
      { caller: OWNER_PRINCIPAL, channel: 'api' },
    )
  await switchOn({ ...rest, kind, onCode })
}

async function switchOn({ index, ...rest }: Switch): Promise<void> {
  const booting = startDeviceSimulator({
    ...rest,
    profile: 'fw-2.4',
    identity: createNumberedIdentity(index + 1),
    awake: true,
    timing: { activateMs: 500, reconnectMs: 2_000 },
  })
  // A device that is switched off before it was enrolled has nothing to clean up.
  await booting.catch(() => undefined)
}

/** A port that was free a moment ago, so that two demos can run on one machine. */
async function freePort(): Promise<number> {
  const probe = createServer()
  const port = await startListening(probe, { host: HOST, port: 0 })
  probe.close()
  await once(probe, 'close')
  return port
}
