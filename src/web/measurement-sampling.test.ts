import { describe, expect, it } from 'vitest'
import { introduce, node, offered, reply } from '../../test/bus-village.ts'
import { silentLogger } from '../core/logger.ts'
import type { EventFeed } from './event-feed.ts'
import { createMeasurementHistory } from './measurement-history.ts'
import { startMeasurementSampling } from './measurement-sampling.ts'
import { MEASUREMENT_CALLS } from './measurements.ts'

describe('measurement sampling', () => {
  it('calls tools of this node only, even if another node offers them too', async () => {
    const [here, there] = [node('here'), node('there')]
    const asked: string[] = []
    const [shared, foreign] = MEASUREMENT_CALLS.map(({ tool }) => tool)
    if (shared === undefined || foreign === undefined) throw new Error('there are too few probes')
    const answering = (at: string, name: string) => ({
      offer: offered({ name }),
      handle: async () => {
        asked.push(`${name} at ${at}`)
        return reply({})
      },
    })
    here.registerCapability(answering('here', shared))
    for (const name of [shared, foreign]) there.registerCapability(answering('there', name))
    introduce(here, there)
    const feed = { publish: () => undefined } as unknown as EventFeed
    const stop = startMeasurementSampling({
      bus: here,
      history: createMeasurementHistory(),
      feed,
      logger: silentLogger,
      everyMs: 1,
    })
    await expect.poll(() => asked.length).toBeGreaterThan(2)
    stop()
    expect(new Set(asked)).toEqual(new Set([`${shared} at here`]))
  })
})
