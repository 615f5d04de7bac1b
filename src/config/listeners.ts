/**
 * Listeners: every address that a gateway with this configuration listens at, with the keys that set it.
 */
import type { ListenAddressSettings } from '../core/listen-address.ts'
import type { Config } from './schema.ts'

/** The shared port is for programs on this machine. */
const LOOPBACK = '127.0.0.1'

export function readFaceListener({ host, port }: Config['listen']): ListenAddressSettings {
  return { hostKey: 'listen.host', host, portKey: 'listen.port', port, protocol: 'tcp' }
}

export function readMeshListener({ host, port }: Config['mesh']): ListenAddressSettings {
  return { hostKey: 'mesh.host', host, portKey: 'mesh.port', port, protocol: 'tcp' }
}

export function readWebhookListener({
  webhookHost: host,
  webhookPort: port,
}: Config['homeseer']['push']): ListenAddressSettings {
  const keys = { hostKey: 'homeseer.push.webhookHost', portKey: 'homeseer.push.webhookPort' }
  return { ...keys, host, port, protocol: 'tcp' }
}

/** The OTA and WebSocket port first, then those of the gateway's own MQTT broker. */
export function listDeviceListeners({
  host,
  port,
  mqtt,
}: Config['devices']): readonly [ListenAddressSettings, ...ListenAddressSettings[]] {
  const shared = { hostKey: 'devices.host', host, protocol: 'tcp' } as const
  const http = { ...shared, portKey: 'devices.port', port }
  if (!mqtt.enabled) return [http]
  return [
    http,
    { ...shared, portKey: 'devices.mqtt.port', port: mqtt.port },
    { ...shared, portKey: 'devices.mqtt.udpPort', port: mqtt.udpPort, protocol: 'udp' },
  ]
}

/** `undefined` for a bus whose adapter is not shared. */
export function readSharedAdapterListener(
  { buses }: Pick<Config['ebus'], 'buses'>,
  id: string,
): ListenAddressSettings | undefined {
  const index = buses.findIndex((bus) => bus.id === id)
  const port = buses[index]?.sharedPort
  if (port === undefined) return undefined
  const portKey = `ebus.buses.${index}.sharedPort`
  return { hostKey: portKey, host: LOOPBACK, portKey, port, protocol: 'tcp' }
}

function listConfiguredListeners({ listen, devices, mesh, homeseer, ebus }: Config): readonly ListenAddressSettings[] {
  const hasWebhook = homeseer.url !== undefined && homeseer.push.webhookKey !== undefined
  return [
    readFaceListener(listen),
    ...(devices.enabled ? listDeviceListeners(devices) : []),
    ...(mesh.enabled ? [readMeshListener(mesh)] : []),
    ...(hasWebhook ? [readWebhookListener(homeseer.push)] : []),
    ...ebus.buses.flatMap(({ id }) => readSharedAdapterListener(ebus, id) ?? []),
  ]
}

interface SharedPort {
  readonly portKey: string
  readonly message: string
}

/** Two listeners of one gateway at the same place: the second would find the port taken, by ourselves. */
export function findListenPortConflicts(config: Config): readonly SharedPort[] {
  const listeners = listConfiguredListeners(config).filter(({ port }) => port !== 0)
  return listeners.flatMap((later, index) => {
    const earlier = listeners.slice(0, index).find((each) => isSamePlace(each, later))
    if (earlier === undefined) return []
    const message = `${earlier.portKey} is ${earlier.port} as well. Each listener needs a port of its own.`
    return [{ portKey: later.portKey, message }]
  })
}

const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

function isSamePlace(left: ListenAddressSettings, right: ListenAddressSettings): boolean {
  if (left.port !== right.port || left.protocol !== right.protocol) return false
  return left.host === right.host || [left.host, right.host].some((host) => EVERY_ADDRESS.has(host))
}
