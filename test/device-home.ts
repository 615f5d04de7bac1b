/**
 * Device home: a gateway in a process of its own, with its devices listener on free ports, and virtual devices in it.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Json, JsonObject } from '../src/core/json.ts'
import { startDeviceSimulator } from '../src/sim/devices/device-client.ts'
import { createNumberedIdentity } from '../src/sim/devices/identity.ts'
import type { SimulatedDevice, DeviceSimulatorOptions } from '../src/sim/devices/simulated-device.ts'
import type { CallResultView } from '../src/web/api-requests.ts'
import { createHome, startGatewayProcess } from './gateway-process.ts'
import type { GatewayProcess, Home } from './gateway-process.ts'
import { notePoll } from './pending-waits.ts'

/** The firmware's waits, shortened where a test would otherwise only sit, and longer where a busy machine needs it. */
const QUICK = { activateMs: 20, activateErrorMs: 50, reconnectMs: 50, rebootMs: 20, helloMs: 60_000 }

export type Transport = 'websocket' | 'mqtt' | 'mqtt-broker'

export interface DeviceHome {
  readonly home: Home
  readonly url: string
  readonly ota: string
  readonly gateway: GatewayProcess
  /** As the owner at this machine, whom nothing but the owner's file makes. */
  readonly asOwner: (tool: string, body?: JsonObject) => Promise<CallResultView>
  readonly ownerToken: string
  readonly api: (path: string, options?: { method?: string; body?: Json; token?: string }) => Promise<JsonObject>
  /** Boots a device, approves its code under this name, and waits until its tools are on the bus. */
  readonly enrol: (name: string, options: EnrolOptions) => Promise<SimulatedDevice>
  readonly until: (device: string, fits: (view: JsonObject) => boolean) => Promise<JsonObject>
  /** Stops everything and leaves the records where they are. */
  readonly leave: () => Promise<void>
  readonly stop: () => Promise<void>
}

export type EnrolOptions = Partial<DeviceSimulatorOptions> & { readonly transport: Transport }

let nextIdentity = 1

export interface DeviceHomeOptions {
  /** Further keys of the sections `devices` and `guard`, as YAML in flow style. */
  readonly devices?: string
  readonly guard?: string
  /** Between two changes of one actuator; none, unless a test is about it. */
  readonly restMs?: number
  /** One that was lived in before. */
  readonly home?: Home
}

export async function openDeviceHome(options: DeviceHomeOptions = {}): Promise<DeviceHome> {
  const home = options.home ?? createHome(sections(options))
  const gateway = await startGatewayProcess(home)
  const owner = readFileSync(join(home.data, 'keys', 'owner.token'), 'utf8').trim()
  const api: DeviceHome['api'] = async (path, { method = 'GET', body, token } = {}) => {
    const response = await fetch(`${gateway.url}${path}`, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return (await response.json()) as JsonObject
  }
  const asOwner: DeviceHome['asOwner'] = async (tool, body = {}) =>
    (await api('/api/call', {
      method: 'POST',
      body: { tool, arguments: body },
      token: owner,
    })) as unknown as CallResultView
  const enrolment = await asOwner('devices.enrolment.list')
  const { ota } = enrolment.structured as { ota: string }
  const running: SimulatedDevice[] = []

  const until: DeviceHome['until'] = async (device, fits) => {
    const deadline = performance.now() + 60_000
    for (;;) {
      const view = await asOwner('devices.get', { device })
      if (view.outcome === 'ok' && fits(view.structured as JsonObject)) return view.structured as JsonObject
      if (performance.now() > deadline)
        throw new Error(`waited in vain for ${device}: ${JSON.stringify(view)}\n${gateway.log()}`)
      notePoll()
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const enrol: DeviceHome['enrol'] = async (name, { transport, ...options }) => {
    const approvals: Promise<CallResultView>[] = []
    const device = await startDeviceSimulator({
      profile: 'fw-2.4',
      kind: 'speaker',
      identity: createNumberedIdentity(nextIdentity++),
      ota,
      awake: true,
      ...options,
      timing: { ...QUICK, ...options.timing },
      onCode: (code) => approvals.push(asOwner('devices.enrolment.approve', { code, name, transport })),
    })
    running.push(device)
    const [approval] = await Promise.all(approvals)
    const slug = (approval?.structured as JsonObject | undefined)?.['device']
    if (typeof slug !== 'string') throw new Error(`${name} was not let in: ${JSON.stringify(approval)}`)
    // A stock WebSocket device connects only while somebody talks to it.
    if (options.awake === false && transport === 'websocket') await device.wake()
    await until(slug, ({ phase, tools }) => phase === 'ready' && tools !== 0)
    return device
  }
  return {
    home,
    gateway,
    url: gateway.url,
    ota,
    api,
    ownerToken: owner,
    asOwner,
    enrol,
    until,
    leave: async () => {
      for (const device of running) device.stop()
      await gateway.stop()
    },
    stop: async () => {
      for (const device of running) device.stop()
      await gateway.stop()
      home.remove()
    },
  }
}

function sections({ devices, guard, restMs = 0 }: DeviceHomeOptions): string {
  const listener = 'enabled: true, host: 127.0.0.1, port: 0, mqtt: { port: 0, udpPort: 0 }'
  const more = (keys: string | undefined): string => (keys === undefined ? '' : `, ${keys}`)
  return `guard: { actuatorIntervalMs: ${restMs}${more(guard)} }\ndevices: { ${listener}${more(devices)} }\n`
}
