import { describe, expect, it } from 'vitest'
import { DeviceWaiters } from './device-waiters.ts'

const never = new AbortController().signal
const wait = { key: 'a', caller: 'agent', waitMs: 60_000, signal: never }

describe('waiters for a device', () => {
  it('are released as soon as their condition is true, and not before', async () => {
    const waiters = new DeviceWaiters()
    let there = false
    const waited = waiters.wait({ ...wait, isThere: () => there })
    waiters.poke('a')
    there = true
    waiters.poke('b')
    waiters.poke('a')
    expect(await waited).toBe('ready')
    expect(await waiters.wait({ ...wait, isThere: () => true })).toBe('ready')
  })

  it('end on timeout, on cancellation, and when the device is removed', async () => {
    const waiters = new DeviceWaiters()
    const isThere = () => false
    const withdrawn = new AbortController()
    const waited = [
      waiters.wait({ ...wait, isThere, waitMs: 1 }),
      waiters.wait({ ...wait, isThere, signal: withdrawn.signal }),
    ]
    withdrawn.abort()
    expect(await Promise.all(waited)).toEqual(['expired', 'expired'])
    expect(await waiters.wait({ ...wait, isThere, signal: withdrawn.signal })).toBe('expired')
    const last = waiters.wait({ ...wait, isThere })
    waiters.close()
    expect(await last).toBe('expired')
  })

  it('end when their device is dismissed, while those for other devices continue', async () => {
    const waiters = new DeviceWaiters()
    const isThere = () => false
    const waited = waiters.wait({ ...wait, isThere })
    const other = waiters.wait({ ...wait, isThere, key: 'b' })
    waiters.dismiss('a')
    expect(await waited).toBe('gone')
    waiters.close()
    expect(await other).toBe('expired')
  })

  it('are refused beyond 32', async () => {
    const waiters = new DeviceWaiters()
    const isThere = () => false
    const waited = Array.from({ length: 32 }, (_, index) =>
      waiters.wait({ ...wait, isThere, caller: `agent-${index}` }),
    )
    expect(await waiters.wait({ ...wait, isThere })).toBe('full')
    waiters.close()
    await Promise.all(waited)
    const again = waiters.wait({ ...wait, isThere })
    waiters.close()
    expect(await again).toBe('expired')
  })

  it('of one caller are limited, so that other callers can still wait', async () => {
    const waiters = new DeviceWaiters()
    const isThere = () => false
    const from = (caller: string, index: number, waitMs = 60_000) =>
      waiters.wait({ key: `device-${index}`, caller, waitMs, signal: never, isThere })
    const passing = from('observer', 0, 1)
    const waited = Array.from({ length: 15 }, (_, index) => from('observer', index))
    expect(await from('observer', 99)).toBe('too-many-of-one')
    expect(await passing).toBe('expired')
    waited.push(from('observer', 99), from('agent', 99))
    waiters.close()
    expect(new Set(await Promise.all(waited))).toEqual(new Set(['expired']))
  })
})
