import { describe, expect, it } from 'vitest'
import type { ServiceHealth } from '../bus/capability.ts'
import { manualClock } from '../../test/manual-clock.ts'
import { createFailingServicesProbe } from './service-probe.ts'

const health = (status: ServiceHealth['status']): ServiceHealth => ({ status, details: {} })

describe('service probe', () => {
  it('returns the services whose probe fails or throws, and probes no others', async () => {
    const failing = createFailingServicesProbe(
      [
        { name: 'sound', probe: async () => health('ok') },
        { name: 'worn', probe: async () => health('degraded') },
        { name: 'broken', probe: async () => health('failing') },
        { name: 'confused', probe: () => Promise.reject(new Error('a bug')) },
        { name: 'simple' },
      ],
      manualClock(),
    )
    expect(await failing()).toEqual(['broken', 'confused'])
  })

  it('runs one probe for all requests within five seconds', async () => {
    const clock = manualClock()
    let looks = 0
    let status: ServiceHealth['status'] = 'ok'
    const look = async (): Promise<ServiceHealth> => {
      looks += 1
      return health(status)
    }
    const failing = createFailingServicesProbe([{ name: 'records', probe: look }], clock)
    expect(await Promise.all([failing(), failing()])).toEqual([[], []])
    status = 'failing'
    clock.advance(4_999)
    expect([await failing(), looks]).toEqual([[], 1])
    clock.advance(1)
    expect([await failing(), looks]).toEqual([['records'], 2])
  })
})
