import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { answering, echo } from '../../../test/bus-village.ts'
import { ADMIN } from '../../../test/guard-house.ts'
import { runtimeRig } from '../../../test/runtime-rig.ts'
import type { Rig } from '../../../test/runtime-rig.ts'
import type { ServiceHealthSource } from './attention.ts'

const DAY_MS = 86_400_000

let rig: Rig
let reporters: readonly ServiceHealthSource[]
let waiting: number
beforeEach(async () => {
  reporters = []
  waiting = 0
  rig = await runtimeRig({ reporters: () => reporters, waiting: () => waiting })
})
afterEach(() => rig.close())

async function attention(): Promise<unknown> {
  const { attention } = await rig.data('server_health')
  // How full the disk of the tests is, is nobody's business.
  return (attention as { about: string }[]).filter(({ about }) => about !== 'disk')
}

describe('attention list of server_health', () => {
  it('is empty when everything is well', async () => {
    reporters = [{ name: 'homeseer', health: () => ({ status: 'ok', details: { devices: 7 } }) }]
    await rig.guard.tokens.create(ADMIN, { name: 'tablet', role: 'observer' })
    expect(await attention()).toEqual([])
  })

  it('contains the advice of every reporter, even of one whose status is ok', async () => {
    reporters = [
      { name: 'ebus', health: () => ({ status: 'degraded', details: { advice: 'The adapter is away.' } }) },
      { name: 'devices', health: () => ({ status: 'ok', details: { advice: '1 waiting to be let in.' } }) },
    ]
    expect(await attention()).toEqual([
      { about: 'ebus', sentence: 'The adapter is away.' },
      { about: 'devices', sentence: '1 waiting to be let in.' },
    ])
  })

  it('contains the number of calls that wait for an approval, until they are decided', async () => {
    rig.bus.registerCapability(answering({ name: 'door.open', effect: 'sensitive' }, echo))
    for (const door of [1, 2]) await rig.through('door.open', { door })
    expect(await attention()).toEqual([
      { about: 'approvals', sentence: '2 calls wait for a person: hearthbus approvals.' },
    ])
    for (const { id } of rig.guard.approvals.list()) await rig.guard.approvals.deny(id, ADMIN, 'No.')
    expect(await attention()).toEqual([])
  })

  it('contains the emergency stop', async () => {
    await rig.guard.stop.engage(ADMIN, 'Smoke.')
    expect(await attention()).toEqual([
      { about: 'stop', sentence: 'Everything is stopped; every change is refused until an admin lifts the stop.' },
    ])
  })

  it('contains the number of tokens that expire within a week, without their names', async () => {
    await rig.guard.tokens.create(ADMIN, { name: 'tablet', role: 'observer', ttlMs: 8 * DAY_MS })
    await rig.guard.tokens.create(ADMIN, { name: 'phone', role: 'observer', ttlMs: 2 * DAY_MS })
    const soon = [{ about: 'tokens', sentence: '1 token ends within a week: hearthbus token list.' }]
    expect(await attention()).toEqual(soon)
    await rig.guard.tokens.revoke(ADMIN, 'phone')
    expect(await attention()).toEqual([])
    rig.clock.advance(DAY_MS)
    await rig.ledger.checkpoint()
    expect(await attention()).toEqual(soon)
    rig.clock.advance(8 * DAY_MS)
    expect(await attention()).not.toContainEqual(expect.objectContaining({ about: 'tokens' }))
  })

  it("contains the findings of the node's own checks", async () => {
    waiting = 32
    expect(await attention()).toEqual([
      { about: 'queue', sentence: 'Many calls wait for their turn; some may be turned away.' },
    ])
  })

  it('is left out for another node', async () => {
    const caller = { kind: 'peer', id: 'ed25519:kitchen', level: 'trusted' } as const
    expect(await rig.data('server_health', {}, { caller })).not.toHaveProperty('attention')
  })
})
