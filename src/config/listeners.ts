/**
 * Listeners: every address that a gateway with this configuration listens at, with the keys that set it.
 */
import type { Config } from './schema.ts'

export interface ConfiguredListener {
  /** The key of the configuration that sets the host, such as `listen.host`. */
  readonly hostKey: string
  readonly host: string
  readonly portKey: string
  /** 0: the system chooses a free one. */
  readonly port: number
  readonly protocol: 'tcp' | 'udp'
}

export function listConfiguredListeners({ listen, devices, mesh, homeseer }: Config): readonly ConfiguredListener[] {
  const { host, mqtt } = devices
  const { webhookKey, webhookHost, webhookPort } = homeseer.push
  const hasMqtt = devices.enabled && mqtt.enabled
  const hasWebhook = homeseer.url !== undefined && webhookKey !== undefined
  const forDevices = { hostKey: 'devices.host', host, protocol: 'tcp' } as const
  const web: ConfiguredListener = {
    hostKey: 'listen.host',
    host: listen.host,
    portKey: 'listen.port',
    port: listen.port,
    protocol: 'tcp',
  }
  const webhook: ConfiguredListener = {
    hostKey: 'homeseer.push.webhookHost',
    host: webhookHost,
    portKey: 'homeseer.push.webhookPort',
    port: webhookPort,
    protocol: 'tcp',
  }
  return [
    web,
    ...(devices.enabled ? [{ ...forDevices, portKey: 'devices.port', port: devices.port }] : []),
    ...(hasMqtt ? [{ ...forDevices, portKey: 'devices.mqtt.port', port: mqtt.port }] : []),
    ...(hasMqtt
      ? [{ ...forDevices, portKey: 'devices.mqtt.udpPort', port: mqtt.udpPort, protocol: 'udp' as const }]
      : []),
    ...(mesh.enabled ? [{ ...web, hostKey: 'mesh.host', host: mesh.host, portKey: 'mesh.port', port: mesh.port }] : []),
    ...(hasWebhook ? [webhook] : []),
  ]
}

export interface SharedPort {
  readonly portKey: string
  readonly message: string
}

/** Two listeners of one gateway at the same place: the second would find the port taken, by ourselves. */
export function findSharedPorts(config: Config): readonly SharedPort[] {
  const listeners = listConfiguredListeners(config).filter(({ port }) => port !== 0)
  return listeners.flatMap((later, index) => {
    const earlier = listeners.slice(0, index).find((each) => isSamePlace(each, later))
    if (earlier === undefined) return []
    const message = `${earlier.portKey} is ${earlier.port} as well. Each listener needs a port of its own.`
    return [{ portKey: later.portKey, message }]
  })
}

const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

function isSamePlace(left: ConfiguredListener, right: ConfiguredListener): boolean {
  if (left.port !== right.port || left.protocol !== right.protocol) return false
  return left.host === right.host || [left.host, right.host].some((host) => EVERY_ADDRESS.has(host))
}
