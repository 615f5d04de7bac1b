import { describe, expect, it } from 'vitest'
import type { DeviceAdmissionRefusal } from '../session/device-admission-refusal.ts'
import { DeviceAdmissionRefusalLog } from './device-admission-refusal-log.ts'

const REFUSAL: DeviceAdmissionRefusal = {
  door: 'websocket',
  why: 'wrong-credentials',
  deviceId: 'a0:b1:c2:d3:e4:f5',
  remoteAddress: '10.0.0.66',
}
const MINUTE = 60_000

describe('device refusal log', () => {
  it('records the first refusal of a known device at once, and those of the next ten minutes together', () => {
    const log = new DeviceAdmissionRefusalLog()
    expect(log.add(REFUSAL, true, 0)).toBe(1)
    for (let each = 0; each < 1_000; each++) expect(log.add(REFUSAL, true, MINUTE)).toBeUndefined()
    expect(log.add(REFUSAL, true, 10 * MINUTE)).toBe(1_001)
    expect(log.list(10 * MINUTE)).toEqual([{ ...REFUSAL, count: 1_002, firstMs: 0, lastMs: 10 * MINUTE }])
  })

  it('lists refusals by reason and remote address', () => {
    const log = new DeviceAdmissionRefusalLog()
    expect(log.add(REFUSAL, true, 0)).toBe(1)
    expect(log.add({ ...REFUSAL, why: 'no-credentials' }, true, 1)).toBe(1)
    expect(log.add({ ...REFUSAL, remoteAddress: '10.0.0.67' }, true, 2)).toBeUndefined()
    expect(log.list(2).map(({ why, remoteAddress }) => [why, remoteAddress])).toEqual([
      ['wrong-credentials', '10.0.0.67'],
      ['no-credentials', '10.0.0.66'],
      ['wrong-credentials', '10.0.0.66'],
    ])
  })

  it('records nothing about an unknown device, and does not keep the identity that it claims', () => {
    const log = new DeviceAdmissionRefusalLog()
    expect(log.add(REFUSAL, false, 0)).toBeUndefined()
    expect(log.add({ ...REFUSAL, deviceId: '00:00:00:00:00:01' }, false, 1)).toBeUndefined()
    expect(log.list(1)).toEqual([{ ...REFUSAL, deviceId: undefined, count: 2, firstMs: 0, lastMs: 1 }])
  })

  it('limits its entries and its records, however many refusals come', () => {
    const log = new DeviceAdmissionRefusalLog()
    let recorded = 0
    for (let each = 0; each < 100_000; each++) {
      const deviceId = `00:00:00:00:${String(each % 100).padStart(2, '0')}:${String(Math.floor(each / 100) % 100)}`
      const remoteAddress = `10.0.${each % 256}.${Math.floor(each / 256) % 256}`
      if (log.add({ ...REFUSAL, deviceId, remoteAddress }, each % 2 === 0, each) !== undefined) recorded++
    }
    expect(recorded).toBeLessThanOrEqual(62)
    expect(log.list(100_000)).toHaveLength(256 + 64)
  })

  it('forgets a refusal after a day', () => {
    const log = new DeviceAdmissionRefusalLog()
    log.add(REFUSAL, true, 0)
    expect(log.list(24 * 60 * MINUTE)).toHaveLength(1)
    expect(log.list(24 * 60 * MINUTE + 1)).toEqual([])
  })
})
