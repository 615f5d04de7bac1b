import { describe } from 'vitest'
import { openEbusConnection } from '../../src/ebus/adapter/ebus-connection-client.ts'
import type { AdapterEndpoint } from '../../src/ebus/adapter/adapter-endpoint.ts'
import { SharedPort } from '../../src/ebus/adapter/shared-port-server.ts'
import type { EbusSimulator } from '../../src/sim/ebus/simulator-server.ts'
import { startEbusSimulator } from '../../src/sim/ebus/simulator-server.ts'
import type { BusStage } from './ebus-bus.ts'
import { busContract } from './ebus-bus.ts'
import { hasSerialLine, serialLine } from './ebus-serial-line.ts'

const host = '127.0.0.1'
const settings = { source: 0x31, listenMs: 50, backoff: { firstMs: 20, maxMs: 100, factor: 2 } } as const

/** A simulator, and a bus at the endpoint that `where` names; whatever else it opens is closed with them. */
async function stage(
  where: (
    simulator: EbusSimulator,
  ) => AdapterEndpoint | Promise<{ endpoint: AdapterEndpoint; close: () => Promise<void> | void }>,
): Promise<BusStage> {
  const simulator = await startEbusSimulator({
    speed: 20,
    chatter: false,
    listen: { plainPort: 0, udpPort: 0, ebusdPort: 0 },
  })
  const found = await where(simulator)
  const { endpoint, close } = 'endpoint' in found ? found : { endpoint: found, close: () => undefined }
  const bus = openEbusConnection({ id: 'contract', endpoint, ...settings })
  return {
    bus,
    simulator,
    close: async () => {
      await bus.close()
      await close()
      await simulator.stop()
    },
  }
}

busContract('enh on TCP', () => stage(({ port }) => ({ kind: 'enh', host, port })), { reconnects: true })
busContract('ens on TCP', () => stage(({ port }) => ({ kind: 'ens', host, port })), { reconnects: true })
busContract('plain TCP', () => stage(({ plainPort = 0 }) => ({ kind: 'tcp', host, port: plainPort })), {
  reconnects: true,
})
busContract('plain UDP', () => stage(({ udpPort = 0 }) => ({ kind: 'udp', host, port: udpPort })), {
  reconnects: false,
})
busContract('ebusd', () => stage(({ ebusdPort = 0 }) => ({ kind: 'ebusd', host, port: ebusdPort })), {
  reconnects: false,
})

busContract(
  'the shared port of another gateway',
  () =>
    stage(async ({ port }) => {
      const lender = openEbusConnection({
        id: 'lender',
        endpoint: { kind: 'enh', host, port },
        ...settings,
        source: 0x37,
      })
      if (lender.clientAcceptor === undefined) throw new Error('nothing to share')
      const shared = await SharedPort.open(lender.clientAcceptor, { host, port: 0 })
      if (!shared.ok) throw shared.fault.error
      return {
        endpoint: { kind: 'enh', host, port: shared.value.port },
        close: async () => {
          await shared.value.close()
          await lender.close()
        },
      }
    }),
  { reconnects: true },
)

describe.runIf(hasSerialLine())('on a serial line', () => {
  busContract(
    'enh on serial',
    () =>
      stage(async ({ port }) => {
        const { path, close } = await serialLine(port)
        return { endpoint: { kind: 'ens', path }, close }
      }),
    { reconnects: false },
  )
})
