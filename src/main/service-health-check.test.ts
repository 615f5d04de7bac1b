import { describe, expect, it } from 'vitest'
import type { ServiceHealth } from '../bus/capability.ts'
import { manualClock } from '../../test/manual-clock.ts'
import { createServiceHealthCheck } from './service-health-check.ts'

const health = (status: ServiceHealth['status']): ServiceHealth => ({ status, details: {} })

describe('examination', () => {
  it('names who fails and who cannot even look, and asks nobody else', async () => {
    const examine = createServiceHealthCheck(
      [
        { name: 'sound', examine: async () => health('ok') },
        { name: 'worn', examine: async () => health('degraded') },
        { name: 'broken', examine: async () => health('failing') },
        { name: 'confused', examine: () => Promise.reject(new Error('a bug')) },
        { name: 'simple' },
      ],
      manualClock(),
    )
    expect(await examine()).toEqual(['broken', 'confused'])
  })

  it('looks once for all who ask within a few seconds', async () => {
    const clock = manualClock()
    let looks = 0
    let status: ServiceHealth['status'] = 'ok'
    const look = async (): Promise<ServiceHealth> => {
      looks += 1
      return health(status)
    }
    const examine = createServiceHealthCheck([{ name: 'records', examine: look }], clock)
    expect(await Promise.all([examine(), examine()])).toEqual([[], []])
    status = 'failing'
    clock.advance(4_999)
    expect([await examine(), looks]).toEqual([[], 1])
    clock.advance(1)
    expect([await examine(), looks]).toEqual([['records'], 2])
  })
})
