import { afterAll, describe } from 'vitest'
import { meshFlows } from '../mesh-flows.ts'
import { openNetwork } from '../mesh-network.ts'
import { NATS_SERVER, startNats, warnWithoutNats } from '../nats-process.ts'
import type { NatsProcess } from '../nats-process.ts'

warnWithoutNats('communities over NATS')
describe.skipIf(NATS_SERVER === '')('with a nats-server', () => {
  let broker: NatsProcess | undefined

  afterAll(() => broker?.stop())

  // The address that is given away leads nowhere: whatever works here works through the broker.
  meshFlows('NATS alone', async () => {
    const network = openNetwork('communities over NATS')
    broker = await startNats('', network?.broker)
    return { network, mesh: `  advertise: ['127.0.0.1:9']\n  nats: { servers: ['${broker.url}'] }` }
  })
})
