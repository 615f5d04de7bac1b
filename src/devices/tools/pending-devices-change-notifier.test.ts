import { afterEach, describe, expect, it, vi } from 'vitest'
import { PendingDevices } from '../enrol/pending-devices.ts'
import { PendingDevicesChangeNotifier } from './pending-devices-change-notifier.ts'

const NEWCOMER = {
  deviceId: '02:00:00:00:00:01',
  clientId: '00000001-0000-4000-8000-000000000000',
  board: 'b',
  firmware: '1',
  remoteAddress: '10.0.0.1',
  replaces: false,
}

function open() {
  vi.useFakeTimers()
  let code = 100_000
  const settings = { places: 4, placesPerAddress: 4, stayMs: 3_600_000 }
  const announced: number[] = []
  const notice: PendingDevicesChangeNotifier = new PendingDevicesChangeNotifier({
    announce: () => announced.push(pending.list(Date.now()).length),
    pending: () => pending.list(Date.now()),
    clock: { now: Date.now },
  })
  const pending: PendingDevices = new PendingDevices(
    { code: () => String(code++), challenge: () => 'c', token: () => 't' },
    settings,
    notice.changed,
  )
  return { pending, notice, announced }
}

afterEach(() => void vi.useRealTimers())

describe('pending devices notifier', () => {
  it('announces a waiting device once for each new request', () => {
    const { pending, announced } = open()
    pending.enter(NEWCOMER, Date.now())
    pending.enter(NEWCOMER, Date.now())
    vi.advanceTimersByTime(1_000)
    expect(announced).toEqual([1])
  })

  it('announces that a device was approved, and that an approval was undone', () => {
    const { pending, announced } = open()
    const entered = pending.enter(NEWCOMER, Date.now())
    vi.advanceTimersByTime(1_000)
    pending.approve(entered)
    vi.advanceTimersByTime(1_000)
    pending.approve(entered, false)
    vi.advanceTimersByTime(1_000)
    expect(announced).toEqual([1, 0, 1])
  })

  it('does not announce an approved device that connects', () => {
    const { pending, announced } = open()
    pending.approve(pending.enter(NEWCOMER, Date.now()))
    vi.advanceTimersByTime(1_000)
    announced.length = 0
    pending.leave(NEWCOMER)
    vi.advanceTimersByTime(1_000)
    expect(announced).toEqual([])
  })

  it('announces that a code has expired, even if nobody reads the list', () => {
    const { pending, announced } = open()
    pending.enter(NEWCOMER, Date.now())
    vi.advanceTimersByTime(3_599_000)
    expect(announced).toEqual([1])
    vi.advanceTimersByTime(2_000)
    expect(announced).toEqual([1, 0])
  })

  it('checks no more often than usual after the clock was set back by months', () => {
    vi.useFakeTimers()
    const expiresAtMs = Date.now() + 90 * 86_400_000
    let looks = 0
    const pending = () => {
      looks++
      return [{ expiresAtMs }]
    }
    new PendingDevicesChangeNotifier({ announce: () => undefined, pending, clock: { now: Date.now } }).changed()
    vi.advanceTimersByTime(60_000)
    expect(looks).toBe(1)
  })

  it('is silent after it is closed', () => {
    const { pending, notice, announced } = open()
    pending.enter(NEWCOMER, Date.now())
    notice.close()
    pending.leave(NEWCOMER)
    vi.advanceTimersByTime(4_000_000)
    expect(announced).toEqual([1])
  })
})
