/**
 * Auto-subscribing broker: somebody else's MQTT broker, set up as EMQX is for devices that never subscribe. Whoever
 * connects as a device is subscribed to its own topic by the broker.
 */
import { createServer } from 'node:net'
import { Aedes } from 'aedes'
import { listenLocally } from './local-port.ts'

export interface OtherBroker {
  readonly port: number
  readonly stop: () => Promise<void>
}

export async function startAutoSubscribingBroker(): Promise<OtherBroker> {
  const broker = await Aedes.createBroker()
  broker.on('clientReady', (client) => {
    const mac = client.id.split('@@@')[1]
    if (mac !== undefined) client.subscribe({ topic: `devices/down/${mac}`, qos: 0 }, () => undefined)
  })
  const server = createServer((socket) => void broker.handle(socket))
  const port = await listenLocally(server)
  return {
    port,
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      await new Promise<void>((resolve) => broker.close(() => resolve()))
      await closed
    },
  }
}
