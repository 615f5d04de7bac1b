/** A gateway whose ports for devices belong to somebody else. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { expect, it } from 'vitest'
import { createHome, startGatewayProcess } from '../gateway-process.ts'

it('stops when it is told to, although the MQTT port was never free', async () => {
  const somebody = createServer().listen(0, '127.0.0.1')
  await once(somebody, 'listening')
  const { port } = somebody.address() as AddressInfo
  const home = createHome(`devices: { enabled: true, host: 127.0.0.1, port: 0, mqtt: { port: ${port}, udpPort: 0 } }\n`)
  const gateway = await startGatewayProcess(home)
  try {
    await expect
      .poll(gateway.log)
      .toContain(`Port ${port} belongs to another program. Stop that, or set devices.mqtt.port.`)
    const patience = new Promise((resolve) => setTimeout(() => resolve('still running'), 10_000).unref())
    expect(await Promise.race([gateway.stop(), patience])).toBe(0)
  } finally {
    await gateway.kill()
    somebody.close()
    home.remove()
  }
})
