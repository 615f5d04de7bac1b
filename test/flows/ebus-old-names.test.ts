/** The old names of two tools, asked by a real MCP client in a house whose owner has a rule about the new ones. */
import { describe, expect, it } from 'vitest'
import { runCommand } from '../gateway-process.ts'
import type { Envelope, HeatingHouseOptions } from '../heating-house.ts'
import { allRead, call, heatingHouse, MONDAY } from '../heating-house.ts'

const WARMER = {
  address: 0x15,
  plane: 'system',
  method: 'set_ext_register',
  params: { group: 3, instance: 0, addr: 0x22, data: '0000b441' },
  intent: 'MUTATE',
  allow_dangerous: true,
}

const ruled = (tool: string, says: string): HeatingHouseOptions => ({
  house: { speed: 0, startMs: MONDAY },
  top: `guard:\n  rules: [{ tool: "${tool}", says: ${says} }]\n`,
})

describe('an old eBUS tool name', () => {
  it('is refused when the owner forbids the new name', async () => {
    const house = await heatingHouse(ruled('ebus.v1.rpc.invoke', 'forbid'))
    const client = await house.client()
    await allRead(client)
    for (const name of ['ebus.v1.rpc.invoke', 'ebus.invoke'])
      expect(await call(client, name, { ...WARMER, idempotency_key: name })).toMatchObject({
        error: { code: 'PERMISSION_DENIED', reasons: [{ rule: 'owner' }] },
      })
    expect(house.simulator.house().zones[0]?.dayCelsius).toBe(21)
    await house.stop()
  })

  it('shares approval and idempotency key with the new name', async () => {
    const house = await heatingHouse(ruled('ebus.v1.rpc.invoke', 'ask'))
    const client = await house.client()
    await allRead(client)
    const warmer = (name: string): Promise<Envelope> => call(client, name, { ...WARMER, idempotency_key: 'warmer-1' })
    const asked = await warmer('ebus.v1.rpc.invoke')
    expect(asked).toMatchObject({ error: { details: { tool: 'ebus.v1.rpc.invoke' } } })
    expect((await warmer('ebus.invoke')).error).toMatchObject({ details: asked.error?.['details'] })
    const { approval_id: id } = (asked.error?.['details'] ?? { approval_id: 'none' }) as { approval_id: string }
    expect((await runCommand(house.home, ['approvals', 'approve', id])).code).toBe(0)
    expect(await warmer('ebus.invoke')).toMatchObject({ error: null, data: { confirmed: { value: true } } })
    expect(await warmer('ebus.v1.rpc.invoke')).toMatchObject({ error: null, meta: { replayed: true } })
    expect(house.simulator.house().zones[0]?.dayCelsius).toBe(22.5)
    await house.stop()
  })

  it('does not list what the owner forbids under the new name', async () => {
    const house = await heatingHouse(ruled('ebus.v1.registry.devices.list', 'forbid'))
    const client = await house.client()
    expect(await call(client, 'ebus.devices')).toMatchObject({ error: { reasons: [{ rule: 'owner' }] } })
    await house.stop()
  })
})
