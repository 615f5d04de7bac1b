/** The bounded stores of the observatory, one by one. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BusLoadMeter } from './bus-load.ts'
import { formatDuration } from './duration.ts'
import type { BusObservation } from './observation.ts'
import { PeriodicityTable, computeMedianIntervalAndJitter } from './periodicity.ts'
import { RingBuffer } from '../../toolbox/ring-buffer.ts'
import { BoundedCounters } from './bounded-counters.ts'
import { SPECIMEN_COLLECTION_LIMITS, SpecimenCollection } from './unknown-telegram-specimen.ts'
import { SymbolRateMeter } from './symbol-rate.ts'

const START = Date.UTC(2026, 0, 5)

function seen(atMs: number, secondary = 0x24, source = 0x10): BusObservation {
  return {
    scope: 'passive',
    family: 'B524',
    frameType: 'initiator_target',
    outcome: 'success',
    atMs,
    source,
    target: 0x15,
    primary: 0xb5,
    secondary,
    requestLength: 12,
    responseLength: 10,
    wireMs: 104,
    content: {
      telegram: { source, target: 0x15, primary: 0xb5, secondary, data: Uint8Array.of(2, 0, 3, 0, 0x0f, 0) },
      response: Uint8Array.of(1, 3, 0x0f, 0, 0, 0, 0x98, 0x41),
      commandRepeats: 0,
      responseRepeats: 0,
    },
  }
}

describe('ring buffer', () => {
  it('returns the newest items, oldest first', () => {
    const ring = new RingBuffer<number>(3)
    for (const item of [1, 2, 3, 4, 5]) ring.push(item)
    expect(ring.newest()).toEqual([3, 4, 5])
    expect(ring.newest(2)).toEqual([4, 5])
    expect(ring.size).toBe(3)
  })

  it('equals the tail of everything that was pushed', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), fc.integer({ min: 1, max: 9 }), fc.nat(12), (items, capacity, count) => {
        const ring = new RingBuffer<number>(capacity)
        for (const item of items) ring.push(item)
        const newest = items.slice(-capacity)
        expect(ring.newest()).toEqual(newest)
        expect(ring.newest(count)).toEqual(count === 0 ? [] : newest.slice(-count))
      }),
    )
  })
})

describe('periodicity table', () => {
  it('measures the intervals between sightings', () => {
    const table = new PeriodicityTable()
    for (const atMs of [0, 30_000, 58_000, 90_000]) table.see(seen(START + atMs), 1)
    expect(table.tuples()).toEqual([
      expect.objectContaining({ samples: 3, lastMs: 32_000, minMs: 28_000, maxMs: 32_000, sumMs: 90_000 }),
    ])
  })

  it('computes median and jitter from recent intervals only', () => {
    const table = new PeriodicityTable()
    const [tuple] = [0, 1].map((second) => (table.see(seen(START + second * 1_000), 1), table.tuples()[0]))
    expect(tuple === undefined ? undefined : computeMedianIntervalAndJitter(tuple)).toEqual({
      medianMs: 1_000,
      jitterMs: 0,
    })
    let atMs = START + 1_000
    for (const intervalMs of [600_000, ...Array.from({ length: 14 }, (_, index) => (index % 2 === 0 ? 9_000 : 11_000))])
      table.see(seen((atMs += intervalMs)), 1)
    const [steady] = table.tuples()
    // One of the fifteen is ten minutes long, and does not move the middle; it is gone with the next.
    expect(steady === undefined ? undefined : computeMedianIntervalAndJitter(steady)?.medianMs).toBe(11_000)
    table.see(seen((atMs += 10_000)), 1)
    const [settled] = table.tuples()
    expect(settled === undefined ? undefined : computeMedianIntervalAndJitter(settled)).toEqual({
      medianMs: 10_000,
      jitterMs: expect.closeTo(933.33, 1),
    })
    expect(settled?.maxMs).toBe(600_000)
  })

  it('counts no interval across a connection loss', () => {
    const table = new PeriodicityTable()
    table.see(seen(START), 1)
    table.see(seen(START + 10_000), 1)
    table.see(seen(START + 3_000_000), 2)
    table.see(seen(START + 3_010_000), 2)
    expect(table.tuples()[0]).toMatchObject({ samples: 2, maxMs: 10_000 })
  })

  it('ignores a sighting from before the last one', () => {
    const table = new PeriodicityTable()
    table.see(seen(START + 10_000), 1)
    table.see(seen(START), 1)
    expect(table.tuples()[0]).toMatchObject({ samples: 0, lastMs: undefined, lastSeenMs: START + 10_000 })
  })

  it('starts again after the clock was set back', () => {
    const table = new PeriodicityTable()
    table.see(seen(START + 3_600_000), 1)
    table.see(seen(START), 1)
    table.see(seen(START + 10_000), 1)
    expect(table.tuples()[0]).toMatchObject({ samples: 1, lastMs: 10_000, lastSeenMs: START + 10_000 })
  })

  it('evicts the tuple not seen for longest, and counts evictions', () => {
    const table = new PeriodicityTable(2)
    table.see(seen(START, 1), 1)
    table.see(seen(START + 1, 2), 1)
    table.see(seen(START + 2, 1), 1)
    table.see(seen(START + 3, 3), 1)
    expect(table.tuples().map(({ secondary }) => secondary)).toEqual([1, 3])
    expect(table.evictions).toBe(1)
  })

  it('forgets tuples not seen for an hour', () => {
    const table = new PeriodicityTable()
    table.see(seen(START, 1), 1)
    table.see(seen(START + 1_800_000, 2), 1)
    table.sweep(START + 3_600_001)
    expect(table.tuples().map(({ secondary }) => secondary)).toEqual([2])
    expect(table.evictions).toBe(0)
  })

  it('never holds more than its capacity', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(40), fc.nat(100_000)), { maxLength: 200 }), (sightings) => {
        const table = new PeriodicityTable(8)
        let atMs = START
        for (const [secondary, forMs] of sightings) table.see(seen((atMs += forMs), secondary), 1)
        expect(table.size).toBeLessThanOrEqual(8)
        for (const { samples, minMs, maxMs, sumMs } of table.tuples().filter((tuple) => tuple.samples > 0))
          expect(sumMs / samples >= minMs && sumMs / samples <= maxMs).toBe(true)
      }),
    )
  })
})

describe('bounded counters', () => {
  it('count labels beyond their limit together as overflow', () => {
    const series = new BoundedCounters(2)
    for (const label of [7, 8, 7, 9, 9, 7]) series.add(label)
    expect(series.top(10)).toEqual([
      [7, 3],
      [8, 1],
    ])
    expect(series.overflow).toBe(2)
  })
})

describe('bus load meter', () => {
  it('reports only windows that were observed completely', () => {
    const busy = new BusLoadMeter()
    expect(busy.ratios(START)).toEqual([])
    busy.begin(START)
    expect(busy.ratios(START + 9_999)).toEqual([])
    for (let atMs = 0; atMs < 60_000; atMs += 1_000) busy.add(START + atMs, 250)
    expect(busy.ratios(START + 59_999)).toEqual([{ window: '10s', ratio: 0.25 }])
    expect(busy.ratios(START + 60_000)).toEqual([
      { window: '10s', ratio: 0.25 },
      { window: '1m', ratio: 0.25 },
    ])
    expect(busy.ratios(START + 300_000)).toEqual([
      { window: '10s', ratio: 0 },
      { window: '1m', ratio: 0 },
      { window: '5m', ratio: 0.05 },
    ])
  })

  it('reports no ratio for a time without observation', () => {
    const busy = new BusLoadMeter()
    busy.begin(START)
    busy.add(START, 500)
    busy.end()
    expect(busy.ratios(START + 120_000)).toEqual([])
    expect(busy.totalMs).toBe(500)
  })
})

describe('formatDuration', () => {
  it.each([
    [0, '0ms'],
    [250, '250ms'],
    [1_000, '1s'],
    [29_000, '29s'],
    [30_500, '30.5s'],
    [90_500, '1m30.5s'],
    [59_999.98, '1m0s'],
    [119_999.7, '2m0s'],
    [999.9999, '1s'],
    [7_200_000, '2h0m0s'],
  ])('writes %s ms as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
  })
})

describe('symbol rate meter', () => {
  it('reports no rate before its second measurement', () => {
    const meter = new SymbolRateMeter()
    expect(meter.rate()).toBeUndefined()
    meter.look(0, 500)
    expect(meter.rate()).toBeUndefined()
    meter.look(1_000, 524)
    expect(meter.rate()).toEqual({ perSecond: 24, maxPerSecond: 24, windowMs: 1_000 })
  })

  it('measures the rate over ten seconds, and keeps the maximum', () => {
    const meter = new SymbolRateMeter()
    for (let second = 0; second <= 20; second++) meter.look(second * 1_000, second * 240)
    for (let second = 21; second <= 40; second++) meter.look(second * 1_000, 4_800 + (second - 20) * 24)
    expect(meter.rate()).toEqual({ perSecond: 24, maxPerSecond: 240, windowMs: 10_000 })
  })

  it('reports a rate of zero for a silent bus', () => {
    const meter = new SymbolRateMeter()
    for (let second = 0; second <= 12; second++) meter.look(second * 1_000, 100)
    expect(meter.rate()?.perSecond).toBe(0)
  })

  it('starts again when the counter or the clock goes back', () => {
    const meter = new SymbolRateMeter()
    meter.look(0, 500)
    meter.look(2_000, 600)
    meter.look(3_000, 10)
    expect(meter.rate()).toBeUndefined()
  })

  it('keeps a bounded number of measurements', () => {
    const meter = new SymbolRateMeter()
    for (let look = 0; look < 100_000; look++) meter.look(look, look)
    expect(meter.rate()?.windowMs ?? 0).toBeLessThanOrEqual(10_000)
  })
})

describe('specimen collection', () => {
  it('keeps one specimen per request, with its newest answer and a count', () => {
    const book = new SpecimenCollection()
    for (const atMs of [0, 10_000, 20_000]) book.see(seen(START + atMs, 0x12))
    book.see(seen(START + 5_000, 0x13))
    expect(book.all()).toMatchObject([
      { family: 'B512', firstSeenMs: START, times: 3, newest: { atMs: START + 20_000 } },
      { family: 'B513', times: 1 },
    ])
  })

  it('evicts the specimen not seen for longest, and counts families beyond its limit', () => {
    const book = new SpecimenCollection()
    const sources = Array.from({ length: SPECIMEN_COLLECTION_LIMITS.perFamily + 1 }, (_, index) => index)
    for (const source of sources) book.see(seen(START + source, 0x12, source))
    expect(book.all()).toHaveLength(SPECIMEN_COLLECTION_LIMITS.perFamily)
    expect(book.all().at(-1)?.newest.source).toBe(1)
    for (let family = 0; family < 256; family++) book.see(seen(START, family))
    expect(new Set(book.all().map(({ family }) => family)).size).toBe(SPECIMEN_COLLECTION_LIMITS.families)
    expect(book.overflow).toBe(256 - SPECIMEN_COLLECTION_LIMITS.families)
  })
})
