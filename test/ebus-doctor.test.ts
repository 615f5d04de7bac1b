/** The wrong word in front of an adapter's address, against far ends that speak each protocol on a real socket. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ebusConfigSchema } from '../src/config/ebus.ts'
import { examineEbus } from '../src/ebus/doctor-client.ts'
import { startEbusSimulator } from '../src/sim/ebus/simulator-server.ts'
import type { EbusSimulator } from '../src/sim/ebus/simulator-server.ts'

let simulator: EbusSimulator
beforeAll(async () => {
  simulator = await startEbusSimulator({ listen: { port: 0, plainPort: 0, ebusdPort: 0 } })
})
afterAll(() => simulator.stop())

async function advice(word: string, port: number | undefined): Promise<string> {
  const [finding] = await examineEbus(ebusConfigSchema.parse({ buses: [{ adapter: `${word}:127.0.0.1:${port}` }] }), {
    dataRoot: '/none',
  })
  return finding?.sentence ?? ''
}

describe('the doctor of an eBUS', () => {
  it('names the protocol of the adapter when another one is configured', async () => {
    const { port, plainPort, ebusdPort } = simulator
    const said = await Promise.all([
      advice('tcp', port),
      advice('enh', plainPort),
      advice('ebusd', port),
      advice('enh', ebusdPort),
      advice('ebusd', ebusdPort),
    ])
    expect(said).toEqual([
      expect.stringContaining('looks like the enhanced protocol. Write `enh:`'),
      expect.stringContaining('is not the enhanced protocol. If it is a plain adapter, write `tcp:`'),
      expect.stringContaining('does not answer like an ebusd. If it is an adapter, write `enh:`'),
      expect.stringContaining('If it is an ebusd, write `ebusd:`'),
      expect.stringContaining('answers, and the bus carries a signal'),
    ])
  })
})
