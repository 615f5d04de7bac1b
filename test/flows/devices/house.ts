/** House: a gateway for devices on free ports of this machine, and devices that are let into it. */
import { randomBytes } from 'node:crypto'
import { systemClock } from '../../../src/core/clock.ts'
import { Database } from '../../../src/core/database-store.ts'
import type { ProjectionLogWriter } from '../../../src/ledger/projection-log.ts'
import { LOG_TABLE, tableLog } from '../../table-log.ts'
import { rememberedDevicesMigrations } from '../../../src/devices/enrol/enrol-store.ts'
import { deviceToolsMigrations } from '../../../src/devices/tools/tool-pin-store.ts'
import type { DeviceGateway, DeviceGatewayOptions } from '../../../src/devices/enrol/device-gateway-server.ts'
import { openDeviceGateway } from '../../../src/devices/enrol/device-gateway-server.ts'
import type { FleetDevice, FleetEvent } from '../../../src/devices/session/fleet.ts'
import type { DeviceTransport } from '../../../src/devices/session/session.ts'
import { startDeviceSimulator } from '../../../src/sim/devices/device-client.ts'
import { createNumberedIdentity } from '../../../src/sim/devices/identity.ts'
import type { SimulatedDevice, DeviceSimulatorOptions } from '../../../src/sim/devices/simulated-device.ts'

/** The firmware's waits, shortened where a test would otherwise only sit, and longer where a busy machine needs it. */
export const QUICK = { activateMs: 20, activateErrorMs: 50, reconnectMs: 50, rebootMs: 20, helloMs: 60_000 }

export interface House extends DeviceGateway {
  readonly ota: string
  readonly database: Database
  readonly log: ProjectionLogWriter
  /** Boots a device, approves the code it shows, wakes it if it sleeps, and waits until its tools are listed. */
  readonly enrol: (transport: DeviceTransport, options?: Partial<DeviceSimulatorOptions>) => Promise<SimulatedDevice>
  readonly until: (id: string, fits: (device: FleetDevice) => boolean) => Promise<FleetDevice>
  readonly stop: () => Promise<void>
}

let nextIdentity = 1

export async function openHouse(options: Partial<DeviceGatewayOptions> = {}): Promise<House> {
  const migrations = [rememberedDevicesMigrations, deviceToolsMigrations, LOG_TABLE]
  const database = options.database ?? new Database({ path: ':memory:', migrations })
  const log = options.log ?? tableLog(database, systemClock)
  const gateway = await openDeviceGateway({
    signingKey: randomBytes(32),
    host: '127.0.0.1',
    httpPort: 0,
    mqtt: { port: 0, udpPort: 0 },
    ...options,
    database,
    log,
  })
  const ota = `http://127.0.0.1:${gateway.httpPort}/xiaozhi/ota/`
  const devices: SimulatedDevice[] = []
  const until = (id: string, fits: (device: FleetDevice) => boolean) => untilDevice(gateway, id, fits)
  const enrol: House['enrol'] = async (transport, more = {}) => {
    const device = await startDeviceSimulator({
      profile: 'fw-2.4',
      kind: 'speaker',
      identity: createNumberedIdentity(nextIdentity++),
      ota,
      awake: true,
      ...more,
      timing: { ...QUICK, ...more.timing },
      onCode: (code) => {
        more.onCode?.(code)
        void gateway.registrar.approve(code, { by: 'the test', transport })
      },
    })
    devices.push(device)
    if (more.awake === false && transport === 'websocket') await device.wake()
    await until(device.identity.deviceId, ({ phase }) => phase === 'ready')
    return device
  }
  const stop = async () => {
    for (const device of devices) device.stop()
    await gateway.close()
    database.close()
  }
  return { ...gateway, ota, database, log, enrol, until, stop }
}

/** Looks at the device after every event, so that nothing is waited for longer than it takes. */
async function untilDevice(
  { fleet }: DeviceGateway,
  id: string,
  fits: (device: FleetDevice) => boolean,
): Promise<FleetDevice> {
  const events = fleet.subscribe(AbortSignal.timeout(60_000))
  for (;;) {
    const device = fleet.device(id)
    if (device !== undefined && fits(device)) {
      await events.return?.()
      return device
    }
    if ((await events.next()).done === true) throw new Error(`waited in vain for ${id}: ${JSON.stringify(device)}`)
  }
}

/** The first event of a kind from now on. */
export async function nextEvent<Kind extends FleetEvent['kind']>(
  { fleet }: Pick<DeviceGateway, 'fleet'>,
  kind: Kind,
): Promise<Extract<FleetEvent, { kind: Kind }>> {
  for await (const event of fleet.subscribe(AbortSignal.timeout(60_000)))
    if (event.kind === kind) return event as Extract<FleetEvent, { kind: Kind }>
  throw new Error(`no ${kind} came`)
}
