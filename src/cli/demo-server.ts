/**
 * Demo: the virtual house, at the far end of real sockets on loopback, and the configuration that points at it.
 *
 * The gateway is the real one and does not know: it is given addresses, as it would be in any other house.
 *
 * Does I/O.
 */
import type { Config } from '../config/schema.ts'
import { startEbusSimulator } from '../sim/ebus/simulator-server.ts'
import { startHomeseerSimulator } from '../sim/homeseer/homeseer-server.ts'

export interface DemoHouse {
  /** The owner's configuration with the house in it. */
  readonly config: Config
  readonly stop: () => Promise<void>
}

const HOST = '127.0.0.1'
/** A room takes hours to warm up; nobody who tries something out has hours. */
const HOUSE_SPEED = 30
const SEED = 7

export async function startDemoHouse(config: Config): Promise<DemoHouse> {
  const heating = await startEbusSimulator({
    listen: { host: HOST, port: 0 },
    seed: SEED,
    house: { speed: HOUSE_SPEED },
  })
  const homeseer = await startHomeseerSimulator({ host: HOST, httpPort: 0, asciiPort: 0 })
  return {
    config: {
      ...config,
      ebus: {
        ...config.ebus,
        buses: [
          {
            id: 'main',
            adapter: `enh:${HOST}:${heating.port}`,
            source: 'auto',
            readOnly: false,
            warmUpTransactions: 5,
          },
        ],
      },
      homeseer: {
        ...config.homeseer,
        url: `http://${HOST}:${homeseer.httpPort}`,
        push: { ...config.homeseer.push, asciiPort: homeseer.asciiPort },
      },
    },
    stop: async () => {
      await homeseer.stop()
      await heating.stop()
    },
  }
}
