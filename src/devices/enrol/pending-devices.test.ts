import { describe, expect, it } from 'vitest'
import type { NewPendingDevice } from './pending-devices.ts'
import { PendingDevices } from './pending-devices.ts'

function createPendingDevices(codes: readonly string[] = []) {
  let next = 0
  const chance = {
    code: () => codes[next++] ?? String(100_000 + next),
    challenge: () => `c${next}`,
    token: () => `t${next}`,
  }
  return new PendingDevices(chance, { places: 4, placesPerAddress: 2, stayMs: 1_000 })
}

const newcomer = (index: number, remoteAddress = `10.0.0.${index}`): NewPendingDevice => ({
  deviceId: `02:00:00:00:00:0${index}`,
  clientId: `0000000${index}-0000-4000-8000-000000000000`,
  board: 'b',
  firmware: '1',
  remoteAddress,
  replaces: false,
})

describe('pending devices', () => {
  it('keep their code until the entry expires', () => {
    const waiting = createPendingDevices()
    const { code } = waiting.enter(newcomer(1), 0)
    expect(waiting.enter(newcomer(1), 999).code).toBe(code)
    expect(waiting.enter(newcomer(1), 1_000).code).not.toBe(code)
  })

  it('never share a code', () => {
    const waiting = createPendingDevices(['111111', '111111', '222222'])
    expect(waiting.enter(newcomer(1), 0).code).toBe('111111')
    expect(waiting.enter(newcomer(2), 0).code).toBe('222222')
  })

  it('with one device id and different client ids get different codes', () => {
    const waiting = createPendingDevices()
    const first = waiting.enter(newcomer(1), 0)
    const second = waiting.enter({ ...newcomer(1), clientId: 'ffffffff-0000-4000-8000-000000000000' }, 0)
    expect(second.code).not.toBe(first.code)
  })

  it('can be approved once by their code, and are no longer listed then', () => {
    const waiting = createPendingDevices()
    const entered = waiting.enter(newcomer(1), 0)
    waiting.approve(entered)
    expect(waiting.byCode(entered.code, 0)).toBeUndefined()
    expect(waiting.find(newcomer(1), 0)?.approved).toBe(true)
    expect(waiting.list(0)).toEqual([])
  })

  it('from one remote address displace only entries of that address', () => {
    const waiting = createPendingDevices()
    waiting.enter(newcomer(1), 0)
    for (const index of [2, 3, 4, 5]) waiting.enter(newcomer(index, '10.0.0.66'), 0)
    expect(waiting.list(0).map(({ deviceId }) => deviceId)).toEqual([
      '02:00:00:00:00:01',
      '02:00:00:00:00:04',
      '02:00:00:00:00:05',
    ])
  })

  it('lose the oldest entry when the list is full', () => {
    const waiting = createPendingDevices()
    for (const index of [1, 2, 3, 4, 5]) waiting.enter(newcomer(index), index)
    expect(waiting.list(5)).toHaveLength(4)
    expect(waiting.find(newcomer(1), 5)).toBeUndefined()
  })
})
