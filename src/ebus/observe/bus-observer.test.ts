import { describe, expect, it } from 'vitest'
import { fromHex } from '../../core/bytes.ts'
import type { EbusEvent } from '../adapter/ebus-connection.ts'
import { decodeExchange, encodeExchange } from '../../../test/telegram-exchange.ts'
import type { TelegramExchange } from '../wire/telegram.ts'
import { ObservationDeduplicator } from './observation-deduplicator.ts'
import type { TelegramExchangeEvent } from './observation.ts'
import { BusObserver } from './bus-observer.ts'
import type { BusEventContext } from './bus-observer.ts'
import { toBusMessagesJson, toPeriodicityJson, toBusSummaryJson } from './bus-report.ts'
import { toBusStatusJson } from './bus-status.ts'
import { DEFAULT_WARM_UP_THRESHOLDS } from './passive-warm-up.ts'

const START = Date.UTC(2026, 0, 5, 12)
const OURS = 0x31

/** `10 fe b516 00 …` or `10 15 b524 02 … / 00 03 …`, without lengths and checksums. */
function exchange(text: string): TelegramExchange {
  const [command = '', response] = text.split('/')
  const [source = 0, target = 0, primary = 0, secondary = 0, ...data] = fromHex(command)
  const telegram = { source, target, primary, secondary, data: Uint8Array.from(data) }
  const decoded = decodeExchange(encodeExchange(telegram, response === undefined ? undefined : fromHex(response)))
  if (!decoded.ok) throw new Error(`${text}: ${JSON.stringify(decoded.fault)}`)
  return decoded.value
}

const received = (text: string, atMs: number, own = false): TelegramExchangeEvent => ({
  kind: 'exchange',
  exchange: exchange(text),
  own,
  atMs: START + atMs,
})

const broken = (reason: 'nak' | 'silence' | 'no-ack' | 'response-crc' | 'arbitration', atMs: number, own = false) =>
  ({
    kind: 'broken',
    reason,
    command: fromHex('10 15 b5 24 06 02'),
    response: new Uint8Array(),
    own,
    atMs: START + atMs,
  }) as const

const at = (nowMs: number, parts: Partial<BusEventContext> = {}): BusEventContext => ({
  nowMs,
  symbols: nowMs,
  address: OURS,
  passive: 'symbols',
  ...parts,
})

function observatory(events: readonly EbusEvent[] = [], listens = true): BusObserver {
  const observed = new BusObserver({ nowMs: 0, listens, thresholds: DEFAULT_WARM_UP_THRESHOLDS })
  for (const event of events) observed.handleEvent(event, at(event.atMs - START))
  return observed
}

const nobodyKnows = (): undefined => undefined

const BROADCAST = '10 fe 0700 8003 00 12 12 05 01 01 26'
const READ = '10 15 b524 020003000f00 / 01030f0000009841'

describe('bus observer', () => {
  it('stores each telegram once, with lengths as counted on the wire', () => {
    const events = [received(BROADCAST, 0), received(READ, 50), received('31 08 0704 / b5424149303006039602', 90, true)]
    expect(toBusMessagesJson(observatory(events), nobodyKnows)).toEqual([
      {
        scope: 'passive',
        family: 'other',
        frame_type: 'broadcast',
        outcome: 'success',
        observed_at: '2026-01-05T12:00:00.000Z',
        source_address: 0x10,
        target_address: 0xfe,
        primary: 0x07,
        secondary: 0x00,
        request_len: 15,
        response_len: 0,
        known: false,
        request_hex: '10fe070009800300121205010126',
      },
      expect.objectContaining({ family: 'B524', frame_type: 'initiator_target', request_len: 12, response_len: 10 }),
      expect.objectContaining({ scope: 'active', family: 'other', request_len: 6, response_len: 12 }),
    ])
  })

  it('reports the outcome of telegrams that failed', () => {
    const events: EbusEvent[] = [
      broken('nak', 0),
      broken('response-crc', 1),
      broken('no-ack', 2, true),
      broken('arbitration', 3),
    ]
    const outcomes = toBusMessagesJson(observatory(events), nobodyKnows).map(({ outcome }) => outcome)
    expect(outcomes).toEqual(['nack', 'crc_mismatch', 'timeout', 'arbitration_fragment'])
    expect(observatory(events).errors()).toEqual(
      expect.arrayContaining([
        { scope: 'passive', errorClass: 'nack', count: 1 },
        { scope: 'passive', errorClass: 'crc_mismatch', count: 1 },
        { scope: 'active', errorClass: 'timeout', count: 1 },
      ]),
    )
  })

  it.each([
    [{ kind: 'disconnected', reason: 'gone' }, 'disconnected'],
    [{ kind: 'adapter-reset' }, 'transport_reset'],
    [{ kind: 'decode-fault', detail: 'odd byte' }, 'decode_fault'],
    [{ kind: 'signal', present: false }, 'no_progress'],
  ] as const)('derives the outcome of an interrupted telegram from the next event: %j', (happening, outcome) => {
    const observed = observatory([broken('silence', 0), { ...happening, atMs: START + 1 }])
    expect(toBusMessagesJson(observed, nobodyKnows)).toEqual([
      expect.objectContaining({ frame_type: 'abandoned_partial', outcome }),
    ])
  })

  it('recognises a telegram addressed to it', () => {
    expect(
      toBusMessagesJson(observatory([received('10 36 0704 / b5424149303006039602', 0)]), nobodyKnows)[0],
    ).toMatchObject({
      frame_type: 'local_participant_inbound',
    })
  })

  it('counts only foreign telegrams towards its warm-up', () => {
    const own = Array.from({ length: 30 }, (_, index) => received('31 08 0704 / b5424149303006039602', index + 1, true))
    const alone = observatory([{ kind: 'connected', atMs: START }, ...own])
    expect(alone.warmUp.session?.completed).toBe(0)
    const others = Array.from({ length: 20 }, (_, index) => received(BROADCAST, 1_000 * index))
    const company = observatory([{ kind: 'connected', atMs: START }, ...others])
    company.tick(at(30_000), START + 30_000)
    expect(company.warmUp.state).toBe('available')
  })

  it('keeps retained figures through an outage, and reports them as unavailable', () => {
    const others = Array.from({ length: 20 }, (_, index) => received(BROADCAST, 2_000 * index))
    const observed = observatory([{ kind: 'connected', atMs: START }, ...others])
    expect(toPeriodicityJson(observed)).toEqual([
      {
        source_bucket: '0x10',
        target_bucket: '0xfe',
        primary: 7,
        secondary: 0,
        family: 'other',
        state: 'available',
        last_seen: '2026-01-05T12:00:38.000Z',
        sample_count: 19,
        last_interval: '2s',
        mean_interval: '2s',
        min_interval: '2s',
        max_interval: '2s',
        median_interval: '2s',
        jitter: '0ms',
      },
    ])
    observed.handleEvent({ kind: 'disconnected', reason: 'gone', atMs: START + 40_000 }, at(40_000))
    observed.handleEvent({ kind: 'connected', atMs: START + 100_000 }, at(100_000))
    observed.handleEvent(received(BROADCAST, 101_000), at(101_000))
    expect(toPeriodicityJson(observed)).toEqual([
      expect.objectContaining({ state: 'warming_up', sample_count: 19, max_interval: '2s' }),
    ])
  })

  it('reports senders, errors and incidents in the bus summary', () => {
    const observed = observatory([{ kind: 'connected', atMs: START }, received(READ, 10), broken('nak', 20)])
    observed.noteSendFault({ kind: 'arbitration-lost', winner: 0, attempts: 3 }, 0x15, START + 30)
    const summary = toBusSummaryJson(observed, {}, { atMs: START + 40, symbols: 0 })
    expect(summary).toMatchObject({
      messages: { count: 2, capacity: 1024 },
      periodicity: { count: 1, capacity: 256 },
      counters: { series_budget_overflow_total: 0, periodicity_budget_overflow_total: 0 },
      errors: [
        { scope: 'passive', class: 'nack', phase: 'ack', count: 1 },
        { scope: 'active', class: 'collision', phase: 'request', count: 1 },
      ],
      reconstructor: { recoveries: [{ reason: 'nack', count: 1 }] },
      incidents: {
        counts: { connected: 1, send_failed: 1 },
        recent: [{ kind: 'connected' }, { kind: 'send_failed', detail: 'arbitration-lost asking 0x15' }],
      },
    })
    // Ten milliseconds of listening are no ten seconds: share and rate are left out, not zero.
    expect(summary).not.toHaveProperty('busy')
    expect(summary).not.toHaveProperty('symbols')
  })

  it('measures symbols and busy time per connection, and resets both on disconnection', () => {
    const observed = observatory([{ kind: 'connected', atMs: START }])
    for (let second = 0; second <= 30; second++) {
      observed.handleEvent(received(READ, second * 1_000), at(second * 1_000))
      observed.tick(at(second * 1_000, { symbols: 1_000 + second * 57 }), START + second * 1_000)
    }
    const summary = (atMs: number) => toBusSummaryJson(observed, {}, { atMs: START + atMs, symbols: 2_710 })
    expect(summary(30_000)).toMatchObject({
      symbols: { total: 2_710, per_second: 57, max_per_second: 57, window_seconds: 10 },
      // 25 symbols of 4.17 ms, once a second.
      busy: { windows: [{ window: '10s', ratio: 0.1042 }] },
    })
    observed.handleEvent({ kind: 'disconnected', reason: 'gone', atMs: START + 31_000 }, at(31_000))
    observed.tick(at(31_000, { symbols: 2_710 }), START + 31_000)
    expect(summary(31_000)).not.toHaveProperty('symbols')
    expect(summary(31_000)).not.toHaveProperty('busy')
  })

  it('reports neither symbol rate nor busy time for a bus behind ebusd', () => {
    const observed = observatory()
    const through = { symbols: 0, passive: 'telegrams' } as const
    observed.handleEvent({ kind: 'connected', atMs: START }, at(0, through))
    for (let second = 0; second <= 30; second++) {
      observed.handleEvent(received(READ, second * 1_000), at(second * 1_000, through))
      observed.tick(at(second * 1_000, through), START + second * 1_000)
    }
    const summary = toBusSummaryJson(observed, {}, { atMs: START + 30_000, symbols: 0 })
    expect(summary).not.toHaveProperty('symbols')
    expect(summary).not.toHaveProperty('busy')
  })

  it('is unavailable as soon as the signal is lost', () => {
    const observed = observatory([{ kind: 'connected', atMs: START }])
    for (let second = 0; second <= 31; second++) {
      observed.handleEvent(received(READ, second * 1_000), at(second * 1_000))
      observed.tick(at(second * 1_000), START + second * 1_000)
    }
    expect(observed.warmUp.state).toBe('available')
    observed.handleEvent({ kind: 'signal', present: false, atMs: START + 32_000 }, at(32_000))
    expect(observed.warmUp).toMatchObject({ state: 'unavailable', reason: 'socket_loss' })
  })

  it('counts frame series beyond its budget together', () => {
    const observed = observatory()
    const sources = [0x00, 0x10, 0x30, 0x70, 0xf0]
    for (const source of sources)
      for (let target = 0x40; target < 0xa0; target++)
        observed.handleEvent(
          {
            kind: 'exchange',
            own: false,
            atMs: START,
            exchange: {
              telegram: { source, target, primary: 1, secondary: 1, data: new Uint8Array() },
              response: new Uint8Array(),
              commandRepeats: 0,
              responseRepeats: 0,
            },
          },
          at(1),
        )
    expect(observed.frames(10_000)).toHaveLength(384)
    expect(observed.seriesOverflow).toBe(5 * 0x60 - 384)
    expect(observed.messages.size).toBe(5 * 0x60)
  })
})

describe('bus status', () => {
  const parts = (observed: BusObserver, nowMs: number, transport: 'enh' | 'ebusd-tcp' = 'enh') => ({
    observatory: observed,
    bus: { transport, connected: true, passive: transport === 'enh' ? 'symbols' : 'telegrams' } as const,
    cadenceSeconds: 60,
    flags: {
      observe_first_enabled: true,
      passive_state_direct_apply: true,
      passive_config_direct_apply: true,
      external_write_policy: 'record_and_invalidate',
    } as const,
    startup: { phase: 'BOOT_INIT' },
    nowMs,
  })

  it('omits unknown values instead of showing zero', () => {
    const status = toBusStatusJson(parts(observatory(), 10))
    expect(status).not.toHaveProperty('last_updated_at')
    expect(status['warmup']).toEqual({
      state: 'unavailable',
      blocker: 'startup_outer_window',
      completed_transactions: 0,
      required_transactions: 20,
    })
    expect(status['capability']).toMatchObject({ passive_available: false, passive_reason: 'socket_loss' })
  })

  it('shows the progress of the warm-up', () => {
    const observed = observatory([{ kind: 'connected', atMs: START }, received(BROADCAST, 1_000)])
    expect(toBusStatusJson(parts(observed, 12_500))['warmup']).toEqual({
      state: 'warming_up',
      blocker: 'completed_transactions',
      elapsed_seconds: 12,
      completed_transactions: 1,
      required_transactions: 20,
    })
  })

  it('reports timing as unavailable where the transport has none', () => {
    const qualities = (transport: 'enh' | 'ebusd-tcp') =>
      toBusStatusJson(parts(observatory(), 10, transport))['timing_quality']
    expect(qualities('enh')).toEqual({
      active: 'estimated',
      passive: 'estimated',
      busy: 'estimated',
      periodicity: 'estimated',
    })
    expect(qualities('ebusd-tcp')).toEqual({
      active: 'unavailable',
      passive: 'estimated',
      busy: 'unavailable',
      periodicity: 'estimated',
    })
  })

  it('reports that passive observation is withdrawn', () => {
    const status = toBusStatusJson(parts(observatory([{ kind: 'connected', atMs: START }], false), 10))
    expect(status['capability']).toMatchObject({
      passive_supported: false,
      passive_state: 'unavailable',
      passive_reason: 'capability_withdrawn',
    })
    expect(status['timing_quality']).toMatchObject({ passive: 'unavailable', periodicity: 'unavailable' })
    expect(status['degraded']).toEqual({ active: true, reasons: ['capability_withdrawn', 'dedup_degraded'] })
  })

  it('is degraded after a gap in the stream until five seconds and ten telegrams have passed', () => {
    const observed = observatory([{ kind: 'connected', atMs: START }])
    for (let index = 0; index < 9; index++) observed.handleEvent(received(BROADCAST, 100 * index), at(100 * index))
    observed.handleEvent(received(BROADCAST, 4_900), at(4_900))
    expect(observed.dedupDegraded).toBe(true)
    observed.handleEvent(received(BROADCAST, 5_000), at(5_000))
    expect(observed.dedupDegraded).toBe(false)
    observed.handleEvent({ kind: 'missed', count: 3, atMs: START + 6_000 }, at(6_000))
    expect(observed.dedupDegraded).toBe(true)
  })
})

describe('observation deduplicator', () => {
  const OWN = '31 15 b524 020003000f00 / 01030f0000009841'

  it('recognises foreign telegrams by their source address at once', () => {
    expect(new ObservationDeduplicator(0).handleExchange(received(READ, 0), OURS, 0)).toMatchObject([
      { disposition: 'third_party' },
    ])
  })

  it('drops one copy after our own telegram', () => {
    const dedup = new ObservationDeduplicator(0)
    expect(dedup.handleExchange(received(OWN, 0, true), OURS, 0)).toMatchObject([{ disposition: 'own' }])
    expect(dedup.handleExchange(received(OWN, 1), OURS, 900)).toMatchObject([{ disposition: 'duplicate' }])
    // One telegram, one copy: the next one is somebody else's.
    expect(dedup.handleExchange(received(OWN, 1), OURS, 910)).toEqual([])
    expect(dedup.tick(2_160)).toMatchObject([{ disposition: 'third_party' }])
  })

  it('drops a copy that came before our own telegram was reported', () => {
    const dedup = new ObservationDeduplicator(0)
    expect(dedup.handleExchange(received(OWN, 0), OURS, 0)).toEqual([])
    expect(dedup.handleExchange(received(OWN, 1, true), OURS, 500)).toMatchObject([{ disposition: 'own' }])
    expect(dedup.tick(5_000)).toEqual([])
  })

  it('drops pending telegrams at a gap in the stream', () => {
    const dedup = new ObservationDeduplicator(0)
    dedup.handleExchange(received(OWN, 0), OURS, 0)
    dedup.discontinue('epoch_reset', 10)
    expect(dedup.epoch).toBe(1)
    expect(dedup.tick(5_000)).toEqual([])
  })
})
