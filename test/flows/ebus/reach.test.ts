/** A bus that is not there at the start, comes, and goes: each is said once to whoever runs the node. */
import { afterEach, expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { silentLogger } from '../../../src/core/logger.ts'
import { openEbusConnection } from '../../../src/ebus/adapter/ebus-connection-client.ts'
import { HeatingBusClient } from '../../../src/ebus/heating-bus-client.ts'
import { DEFAULT_WARM_UP_THRESHOLDS } from '../../../src/ebus/observe/passive-warm-up.ts'
import { startEbusSimulator } from '../../../src/sim/ebus/simulator-server.ts'
import { ALL_ALLOWED } from '../../listening-installation.ts'
import { freePort } from '../../local-port.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

it('an unreachable heating bus is logged once, and once when it is back', async () => {
  const first = await startEbusSimulator({ speed: 20, listen: { port: await freePort() } })
  await first.stop()
  const said: string[] = []
  const say =
    (level: string) =>
    (_: object, message: string): void =>
      void said.push(`${level}: ${message}`)
  const heating = new HeatingBusClient({
    id: 'main',
    adapter: `enh:127.0.0.1:${first.port}`,
    readOnly: true,
    open: () =>
      openEbusConnection({ id: 'main', endpoint: { kind: 'enh', host: '127.0.0.1', port: first.port }, source: 0xff }),
    discovery: 'heard',
    installation: {
      pollMs: 60_000,
      listens: true,
      thresholds: DEFAULT_WARM_UP_THRESHOLDS,
      flags: ALL_ALLOWED,
      seeds: [],
    },
    clock: systemClock,
    logger: { ...silentLogger, warn: say('warn'), info: say('info') },
    values: undefined,
    announce: () => undefined,
  })
  closing.push(() => heating.stop())
  heating.start()
  const away = expect.stringMatching(/^warn: The adapter at enh:.* is not connected/)
  await expect.poll(() => said).toEqual([away])
  const second = await startEbusSimulator({ speed: 20, listen: { port: first.port } })
  await expect.poll(() => said).toEqual([away, 'info: the eBUS can be heard again'])
  await second.stop()
  await expect.poll(() => said).toEqual([away, 'info: the eBUS can be heard again', away])
})
