/** Whoever can reach the listener for devices and is none. */
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { openHouse } from './house.ts'

it('silent connections leave room for a device, and do not disconnect one', async () => {
  const house = await openHouse({ server: { maxConnections: 8, maxStrangers: 4 } })
  const first = await house.enrol('websocket')
  const silent = Array.from({ length: 300 }, () => connect(house.httpPort, '127.0.0.1').on('error', () => undefined))
  try {
    await expect.poll(() => silent.filter(({ destroyed }) => destroyed).length).toBeGreaterThanOrEqual(296)
    const second = await house.enrol('websocket')
    for (const { identity } of [first, second]) expect(house.fleet.device(identity.deviceId)?.online).toBe(true)
  } finally {
    for (const socket of silent) socket.destroy()
    await house.stop()
  }
})
