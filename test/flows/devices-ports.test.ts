/** A gateway whose ports for devices belong to somebody else, or are not open at all. */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { expect, it } from 'vitest'
import { startAutoSubscribingBroker } from '../auto-subscribing-broker.ts'
import { openDeviceHome } from '../device-home.ts'
import { listenLocally } from '../local-port.ts'
import { createHome, startGatewayProcess } from '../gateway-process.ts'

it('a gateway whose MQTT port is in use stops when asked to', async () => {
  const somebody = createServer()
  const port = await listenLocally(somebody)
  const home = createHome(`devices: { enabled: true, host: 127.0.0.1, port: 0, mqtt: { port: ${port}, udpPort: 0 } }\n`)
  const gateway = await startGatewayProcess(home)
  try {
    await expect
      .poll(gateway.log)
      .toContain(`Port ${port} belongs to another program. Stop that, or set devices.mqtt.port.`)
    const patience = new Promise((resolve) => setTimeout(() => resolve('still running'), 120_000).unref())
    expect(await Promise.race([gateway.stop(), patience])).toBe(0)
  } finally {
    await gateway.kill()
    somebody.close()
    home.remove()
  }
})

it('the gateway names a device that cannot connect because its transport is disabled', async () => {
  const first = await openDeviceHome()
  const device = await first.enrol('Attic', { transport: 'mqtt' })
  device.stop()
  await first.leave()
  const before = readFileSync(first.home.config, 'utf8')
  writeFileSync(first.home.config, before.replace('mqtt: { port: 0, udpPort: 0 }', 'mqtt: { enabled: false }'))
  const second = await openDeviceHome({ home: first.home })
  try {
    const { services } = await second.api('/api/status', { token: second.ownerToken })
    const advice =
      'attic was let in over mqtt, which is switched off: set devices.mqtt.enabled, or let it in again after hearthbus devices forget attic.'
    expect(services).toContainEqual(
      expect.objectContaining({ name: 'devices', status: 'degraded', details: expect.objectContaining({ advice }) }),
    )
  } finally {
    await second.stop()
  }
})

it('a device behind an external broker counts as online only once it has answered', async () => {
  const broker = await startAutoSubscribingBroker()
  const address = `url: "mqtt://127.0.0.1:${broker.port}", endpoint: "127.0.0.1:${broker.port}"`
  const house = await openDeviceHome({ devices: `broker: { ${address} }` })
  try {
    const identity = { 'Device-Id': 'a0:b1:c2:d3:e4:f5', 'Client-Id': '7b94d69a-9808-4c59-9c9b-704333b38aff' }
    const boot = async () => (await fetch(house.ota, { method: 'POST', headers: identity, body: '{}' })).json()
    const { activation } = (await boot()) as { activation: { code: string } }
    await house.asOwner('devices.enrolment.approve', { code: activation.code, transport: 'mqtt-broker' })
    // It is asked as soon as it has booted, and this one is never heard of again.
    expect(await boot()).toMatchObject({ mqtt: { endpoint: `127.0.0.1:${broker.port}` } })
    const { services } = await house.api('/api/status', { token: house.ownerToken })
    const details = expect.objectContaining({ enrolled: 1, online: 0 })
    expect(services).toContainEqual(expect.objectContaining({ name: 'devices', details }))
  } finally {
    await house.stop()
    await broker.stop()
  }
})
