import { describe, expect, it } from 'vitest'
import { GUARD_CONFIG, openHouse } from '../../test/guard-house.ts'
import type { GuardHouse } from '../../test/guard-house.ts'
import { isChangeToken, decryptChangeArguments, encryptChangeArguments } from './prepared-change.ts'
import type { ChangeToPrepare } from './prepared-changes-store.ts'

const request: ChangeToPrepare = {
  principal: 'claude',
  tool: 'hs4.admin.users.create',
  args: { name: 'anna', password: 'hunter2-hunter2', level: 3 },
  summary: 'Create the user anna',
  ttlMs: 300_000,
}

async function prepared(house: GuardHouse, more: Partial<ChangeToPrepare> = {}): Promise<string> {
  const ticket = await house.guard.services.changes.prepare({ ...request, ...more })
  if (!ticket.ok) throw new Error(ticket.fault.message)
  return ticket.value.token
}

describe('change token', () => {
  it('is taken once, by the caller that prepared it, with the prepared arguments', async () => {
    using house = openHouse()
    const { changes } = house.guard.services
    const ticket = await changes.prepare(request)
    if (!ticket.ok) throw new Error(ticket.fault.message)
    const { token, preparedSeq } = ticket.value
    expect(isChangeToken(token)).toBe(true)
    expect(ticket.value.expiresAtMs).toBe(house.clock.now() + 300_000)
    expect(changes.peek(token, 'claude')).toMatchObject({ ok: true, value: { args: request.args } })
    expect(await changes.take(token, 'claude')).toMatchObject({
      ok: true,
      value: { tool: 'hs4.admin.users.create', args: request.args, summary: 'Create the user anna', preparedSeq },
    })
    expect(await changes.take(token, 'claude')).toMatchObject({
      fault: { kind: 'conflict', details: { state: 'committing' } },
    })
    const { finishedSeq } = await changes.finish(token, 'committed')
    expect(await changes.take(token, 'claude')).toMatchObject({
      fault: { kind: 'conflict', details: { state: 'committed', finished_at: '2026-01-01T00:00:00.000Z' } },
    })
    expect(house.events('change').map(({ seq, kind }) => [seq, kind])).toEqual([
      [preparedSeq, 'change.prepared'],
      [preparedSeq + 1, 'change.taken'],
      [finishedSeq, 'change.committed'],
    ])
  })

  it('is taken by one of a hundred simultaneous callers', async () => {
    using house = openHouse()
    const token = await prepared(house)
    const takes = await Promise.all(
      Array.from({ length: 100 }, () => house.guard.services.changes.take(token, 'claude')),
    )
    expect(takes.filter((take) => take.ok)).toHaveLength(1)
  })

  it('can be taken once again after its commit was released before anything was tried', async () => {
    using house = openHouse()
    const { changes } = house.guard.services
    const token = await prepared(house)
    await changes.take(token, 'claude')
    const { releasedSeq } = await changes.release(token)
    await expect(changes.release(token)).rejects.toThrow('is not being committed')
    await expect(changes.finish(token, 'committed')).rejects.toThrow('is not being committed')
    const takes = await Promise.all(Array.from({ length: 20 }, () => changes.take(token, 'claude')))
    expect(takes.filter((take) => take.ok)).toHaveLength(1)
    await changes.finish(token, 'committed')
    await expect(changes.release(token)).rejects.toThrow('is not being committed')
    expect(house.events('change').map(({ kind }) => kind)).toEqual([
      'change.prepared',
      'change.taken',
      'change.released',
      'change.taken',
      'change.committed',
    ])
    expect(releasedSeq).toBe(house.events('change')[2]?.seq)
  })

  it('expires at its original time even if it was released after a commit', async () => {
    using house = openHouse()
    const { changes } = house.guard.services
    const token = await prepared(house)
    await changes.take(token, 'claude')
    house.clock.advance(300_001)
    await changes.release(token)
    expect(await changes.take(token, 'claude')).toMatchObject({ fault: { kind: 'not-found' } })
  })

  it('of another caller gets the same answer as one that does not exist', async () => {
    using house = openHouse()
    const { changes } = house.guard.services
    const token = await prepared(house)
    const nothing = await changes.take(`chg_${'A'.repeat(43)}`, 'claude')
    for (const [text, principal] of [
      [token, 'other'],
      [token, 'peer:claude'],
      [`${token}x`, 'claude'],
      ['', 'claude'],
    ] as const) {
      expect(await changes.take(text, principal)).toEqual(nothing)
      expect(changes.peek(text, principal)).toEqual(nothing)
    }
    expect(await changes.take(token, 'claude')).toMatchObject({ ok: true })
  })

  it('and its secrets are not stored in clear text, yet it can be committed after a restart', async () => {
    using house = openHouse()
    const token = await prepared(house)
    expect(house.everything()).not.toContain(token)
    expect(house.everything()).not.toContain('hunter2')
    const next = house.afterPowerCut()
    expect(await next.guard.recover()).toMatchObject({ unknownChanges: 0 })
    expect(await next.guard.services.changes.take(token, 'claude')).toMatchObject({ value: { args: request.args } })
  })

  it('cannot be taken after it has expired', async () => {
    using house = openHouse()
    const token = await prepared(house)
    house.clock.advance(300_000)
    expect(await house.guard.services.changes.take(token, 'claude')).toMatchObject({ fault: { kind: 'not-found' } })
    await prepared(house)
    expect(house.state.changes.size).toBe(1)
  })

  it('taken before a power cut is never taken again, and its outcome is unknown', async () => {
    using house = openHouse()
    const token = await prepared(house)
    await house.guard.services.changes.take(token, 'claude')
    const next = house.afterPowerCut()
    expect(await next.guard.recover()).toMatchObject({ unknownChanges: 1 })
    expect(await next.guard.services.changes.take(token, 'claude')).toMatchObject({
      fault: { kind: 'unknown-outcome', details: { state: 'unknown' } },
    })
    expect(next.events('change').map(({ kind }) => kind)).toEqual(['change.prepared', 'change.taken', 'change.unknown'])
    expect(next.events('change.unknown')[0]?.['change']).toBe(next.events('change.prepared')[0]?.['change'])
    expect(await next.guard.recover()).toMatchObject({ unknownChanges: 0 })
  })

  it('reports a failed or unknown outcome when it is taken again', async () => {
    using house = openHouse()
    const { changes } = house.guard.services
    for (const end of ['failed', 'unknown'] as const) {
      const token = await prepared(house)
      await changes.take(token, 'claude')
      await changes.finish(token, end)
      expect(await changes.take(token, 'claude')).toMatchObject({ fault: { details: { state: end } } })
      expect(house.events(`change.${end}`)).toHaveLength(1)
    }
  })

  it('cannot be finished before it was taken', async () => {
    using house = openHouse()
    const token = await prepared(house)
    await expect(house.guard.services.changes.finish(token, 'committed')).rejects.toThrow(/not being committed/)
    expect(house.events('change.committed')).toEqual([])
  })

  it('replaces the oldest of the same caller when that caller has too many', async () => {
    using house = openHouse({ changes: { ...GUARD_CONFIG.changes, maxPrepared: 5, maxPreparedPerPrincipal: 3 } })
    const { changes } = house.guard.services
    const others = await prepared(house, { principal: 'other' })
    const tokens: string[] = []
    for (let index = 0; index < 6; index++) {
      house.clock.advance(1)
      tokens.push(await prepared(house))
    }
    expect(tokens.map((token) => changes.peek(token, 'claude').ok)).toEqual([false, false, false, true, true, true])
    expect(changes.peek(others, 'other').ok).toBe(true)
    await prepared(house, { principal: 'third' })
    expect(await changes.prepare({ ...request, principal: 'fourth' })).toMatchObject({ fault: { kind: 'busy' } })
  })

  it('is refused for arguments that are not valid Unicode', async () => {
    using house = openHouse()
    expect(await house.guard.services.changes.prepare({ ...request, args: { name: '\ud800' } })).toMatchObject({
      fault: { kind: 'invalid-arguments' },
    })
  })
})

describe('encrypted arguments of a prepared change', () => {
  it('can be decrypted only with their own token, and not after any change', () => {
    const token = `chg_${'A'.repeat(43)}`
    const sealed = encryptChangeArguments(token, { code: '1234' })
    expect(decryptChangeArguments(token, sealed)).toEqual({ code: '1234' })
    expect(() => decryptChangeArguments(`chg_${'B'.repeat(43)}`, sealed)).toThrow(/authenticate/)
    for (let index = 0; index < sealed.length; index++) {
      const broken = sealed.with(index, (sealed[index] ?? 0) ^ 1)
      expect(() => decryptChangeArguments(token, broken)).toThrow(/authenticate/)
    }
  })
})
