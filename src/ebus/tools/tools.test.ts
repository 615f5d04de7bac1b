/** The parts of the tools that need no bus. */
import { describe, expect, it } from 'vitest'
import { listeningInstallation } from '../../../test/listening-installation.ts'
import type { Offer } from '../../bus/capability.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { computeDataHash, ebusFamilyEnvelope } from './ebus-envelope.ts'
import { createBusReadFault, createBusWriteFault } from './faults.ts'
import { toPlaneFreshnessJson } from './ebus-tool-context.ts'
import type { TimerProgramFacts, TimerSlotInput } from './schedule-request.ts'
import { parseTimerSlots } from './schedule-request.ts'
import { EbusSnapshots } from './ebus-snapshots.ts'
import type { EbusView } from './ebus-view.ts'
import { captureEbusView, createLiveEbusView } from './ebus-view.ts'

const OFFER = {} as Offer
const NOW = Date.UTC(2026, 0, 5)

describe('eBUS envelope', () => {
  it('computes the hashes of the contract’s reference values', () => {
    expect(computeDataHash(null)).toBe('74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b')
    expect(computeDataHash([])).toBe('4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945')
    expect(computeDataHash({ dropped: true })).toBe('f2bc686255f4c31838cf256405258122d01443b083edb9fa2b0e711c66a40f27')
    expect(computeDataHash({ b: 1, a: 2 })).toBe(computeDataHash({ a: 2, b: 1 }))
  })

  it('excludes the metadata from the data hash', () => {
    const answer = { data: [1], consistency: { mode: 'LIVE' }, data_timestamp: 'T' }
    const [plain, aged] = [answer, { ...answer, freshness: { age_seconds: 7 } }].map((each) =>
      ebusFamilyEnvelope.success(each, OFFER),
    )
    expect(plain).toMatchObject({
      meta: { contract: { name: 'helianthus-ebus-mcp', major: 1, minor: 0 } },
      data: [1],
      error: null,
    })
    expect((aged as { meta: JsonObject }).meta['data_hash']).toBe((plain as { meta: JsonObject }).meta['data_hash'])
  })

  it('marks a replayed answer and a replayed failure', () => {
    const answer = { data: { a: 1 }, consistency: { mode: 'LIVE' }, data_timestamp: 'T' }
    const [first, again] = [false, true].map(
      (replayed) => ebusFamilyEnvelope.success(answer, OFFER, replayed) as JsonObject,
    )
    expect(first?.['meta']).not.toHaveProperty('replayed')
    expect(again?.['meta']).toEqual({ ...(first?.['meta'] as JsonObject), replayed: true, note: expect.any(String) })
    const refused: Fault = { kind: 'failed', message: 'm', replayed: true }
    expect(ebusFamilyEnvelope.failure(refused, OFFER).structured).toMatchObject({ meta: { replayed: true } })
  })

  it.each<[Fault, object]>([
    [
      { kind: 'invalid-arguments', message: 'm' },
      { code: 'INVALID_ARGUMENT', retriable: false },
    ],
    [
      { kind: 'not-permitted', message: 'm', reasons: [{ rule: 'r', message: 'm' }] },
      { code: 'PERMISSION_DENIED', reasons: [{ rule: 'r' }] },
    ],
    [
      { kind: 'approval-required', message: 'm', details: { how: 'h' } },
      { code: 'PERMISSION_DENIED', details: { how: 'h' } },
    ],
    [
      { kind: 'conflict', message: 'm' },
      { code: 'CONFLICT', retriable: false },
    ],
    [
      { kind: 'busy', message: 'm', retryAfterMs: 5 },
      { code: 'BUSY', retriable: true, retry_after_ms: 5 },
    ],
    [
      { kind: 'unknown-outcome', code: 'TIMEOUT', message: 'm' },
      { code: 'UNKNOWN_OUTCOME', retriable: false },
    ],
    [
      { kind: 'internal', message: 'm' },
      { code: 'INTERNAL', source_layer: 'gateway' },
    ],
  ])('encodes %j', (fault, error) => {
    expect(ebusFamilyEnvelope.failure(fault, OFFER)).toMatchObject({ isError: true, structured: { data: null, error } })
  })
})

describe('bus faults', () => {
  it('of a write are not unknown-outcome only if nothing was sent', () => {
    expect(createBusWriteFault({ kind: 'disconnected', reason: 'gone', phase: 'queued' }, 0x15)).toMatchObject({
      kind: 'offline',
    })
    expect(createBusWriteFault({ kind: 'disconnected', reason: 'gone', phase: 'talking' }, 0x15)).toMatchObject({
      kind: 'unknown-outcome',
    })
    expect(createBusWriteFault({ kind: 'timed-out', afterMs: 9, phase: 'arbitrating' }, 0x15)).toMatchObject({
      kind: 'busy',
      code: 'TIMEOUT',
    })
    expect(createBusWriteFault({ kind: 'timed-out', afterMs: 9, phase: 'talking' }, 0x15)).toMatchObject({
      kind: 'unknown-outcome',
    })
    expect(createBusWriteFault({ kind: 'answer-lost' }, 0x15)).toMatchObject({ kind: 'unknown-outcome' })
    expect(createBusWriteFault({ kind: 'refused' }, 0x15)).toMatchObject({ kind: 'failed', code: 'PROTOCOL_ERROR' })
    expect(createBusWriteFault({ kind: 'no-answer' }, 0x15)).toMatchObject({ kind: 'offline', code: 'TIMEOUT' })
    expect(createBusWriteFault({ kind: 'no-source', state: 'forbidden' }, 0x15)).toMatchObject({
      kind: 'offline',
      code: 'BUS_UNAVAILABLE',
      message: 'ebusd sends nothing for others. Start it with --enablehex.',
    })
  })

  it('say of a read that it can be tried again, unless it was refused', () => {
    expect(createBusReadFault({ kind: 'no-answer' }, 0x15)).toMatchObject({ kind: 'timed-out', code: 'TIMEOUT' })
    expect(createBusReadFault({ kind: 'timed-out', afterMs: 9, phase: 'talking' }, 0x15).message).toBe(
      'No answer of 0x15 within 9 ms.',
    )
    expect(createBusReadFault({ kind: 'timed-out', afterMs: 9, phase: 'arbitrating' }, 0x15)).toMatchObject({
      code: 'TIMEOUT',
      message: 'The bus was not free within 9 ms; 0x15 was not asked.',
    })
    expect(createBusReadFault({ kind: 'arbitration-lost', winner: 0, attempts: 3 }, 0x15)).toMatchObject({
      kind: 'busy',
      code: 'BUS_UNAVAILABLE',
    })
    expect(createBusReadFault({ kind: 'ebusd', message: 'ERR: arbitration lost' }, 0x15)).toMatchObject({
      kind: 'busy',
      code: 'BUS_UNAVAILABLE',
      message: 'ebusd says: ERR: arbitration lost',
    })
    expect(createBusReadFault({ kind: 'ebusd', message: 'ERR: element not found' }, 0x15)).toMatchObject({
      kind: 'failed',
    })
    expect(createBusReadFault({ kind: 'refused' }, 0x15)).toMatchObject({ kind: 'failed' })
    expect(createBusReadFault({ kind: 'listen-only' }, 0x15)).toMatchObject({ kind: 'not-permitted' })
    expect(createBusReadFault({ kind: 'resting', forMs: 12.5, because: 'no-answer' }, 0x15)).toMatchObject({
      retryAfterMs: 13,
    })
  })
})

function view(atMs = NOW): EbusView {
  const installation = listeningInstallation()
  installation.registry.seed([0x15])
  return createLiveEbusView({
    busId: 'main',
    installation,
    bus: {
      transport: 'enh',
      connected: true,
      signal: true,
      source: 'admitted',
      address: 0x7f,
      passive: 'symbols',
      queued: 0,
      symbols: 0,
      reconnects: 0,
      initiators: [],
    },
    info: undefined,
    version: '1.2.3',
    plan: () => [],
    toolReads: new Set(),
    atMs,
    nowMs: 0,
  })
}

describe('eBUS views', () => {
  it('contain the same values captured and live', () => {
    const live = view()
    const captured = captureEbusView(live)
    expect(captured.plane('runtime_status').data).toEqual({
      adapter_status: { status: 'connected', firmware_version: null, updates_available: null },
      daemon_status: {
        status: 'running',
        firmware_version: '1.2.3',
        updates_available: null,
        initiator_address: '0x7F',
      },
    })
    for (const name of ['zones', 'fm5_mode', 'adapter_info'] as const)
      expect(computeDataHash(captured.plane(name).data)).toBe(computeDataHash(live.plane(name).data))
    expect(captured.devices()).toEqual(live.devices())
  })
})

describe('snapshots', () => {
  const LIMITS = { ttlMs: 1_000, perOwner: 2, total: 3, bytes: 1_000_000 }

  it('are visible only to the caller that took them', () => {
    const snapshots = new EbusSnapshots(LIMITS)
    const taken = snapshots.take(captureEbusView(view()), 'ada', NOW)
    const id = taken.ok ? taken.value.id : ''
    expect(id).toMatch(/^[0-9a-f]{32}$/)
    expect(snapshots.find(id, 'ada', NOW)?.owner).toBe('ada')
    expect(snapshots.find(id, 'eve', NOW)).toBeUndefined()
    expect(snapshots.drop(id, 'eve', NOW)).toBe(false)
    expect(snapshots.drop(id, 'ada', NOW)).toBe(true)
    expect(snapshots.drop(id, 'ada', NOW)).toBe(false)
  })

  it('expire, and cannot be dropped then', () => {
    const snapshots = new EbusSnapshots(LIMITS)
    const taken = snapshots.take(captureEbusView(view()), 'ada', NOW)
    const id = taken.ok ? taken.value.id : ''
    expect(snapshots.find(id, 'ada', NOW + 999)).toBeDefined()
    expect(snapshots.find(id, 'ada', NOW + 1_000)).toBeUndefined()
    expect(snapshots.drop(id, 'ada', NOW + 1_000)).toBe(false)
  })

  it('are limited per caller and in total, in number and in size', () => {
    const snapshots = new EbusSnapshots(LIMITS)
    const take = (owner: string, at = NOW): boolean => snapshots.take(captureEbusView(view()), owner, at).ok
    expect([take('ada'), take('ada'), take('ada')]).toEqual([true, true, false])
    expect([take('bob'), take('cy')]).toEqual([true, false])
    expect(take('cy', NOW + 1_000)).toBe(true)
    expect(new EbusSnapshots({ ...LIMITS, bytes: 100 }).take(captureEbusView(view()), 'ada', NOW)).toMatchObject({
      ok: false,
      fault: { kind: 'busy' },
    })
  })
})

describe('plane freshness', () => {
  const field = (atMs: number, source: 'poll' | 'cache' = 'poll', invalidated = false) =>
    ({ source, atMs, staleAfterMs: 1_000, invalidated }) as const

  it('is that of the oldest field, and stale as soon as one field is', () => {
    const fields = new Map([
      ['a', field(NOW - 500)],
      ['b', field(NOW - 2_000)],
    ])
    expect(toPlaneFreshnessJson({ data: null, fields }, NOW, { eachField: true })).toEqual({
      freshness: {
        source: 'poll',
        observed_at: '2026-01-04T23:59:58.000Z',
        age_seconds: 2,
        stale: true,
        fields: {
          a: { source: 'poll', observed_at: '2026-01-04T23:59:59.500Z', age_seconds: 1, stale: false },
          b: { source: 'poll', observed_at: '2026-01-04T23:59:58.000Z', age_seconds: 2, stale: true },
        },
      },
    })
  })

  it('is stale for a value from the cache or one invalidated since it was read', () => {
    const stale = (each: ReturnType<typeof field>): unknown => {
      const { freshness } = toPlaneFreshnessJson({ data: null, fields: new Map([['a', each]]) }, NOW, {
        eachField: false,
      }) as {
        freshness: { stale: boolean }
      }
      return freshness.stale
    }
    expect([stale(field(NOW)), stale(field(NOW, 'cache')), stale(field(NOW, 'poll', true))]).toEqual([
      false,
      true,
      true,
    ])
    expect(toPlaneFreshnessJson({ data: null, fields: new Map() }, NOW, { eachField: true })).toEqual({})
  })
})

describe('timer slots', () => {
  const facts: TimerProgramFacts = {
    id: { zone: 0, channel: 'heating' },
    setpoint: 21,
    config: {
      maxSlots: 2,
      resolutionMinutes: 10,
      minMinutes: 5,
      hasTemperature: true,
      temperatureSlots: 12,
      minCelsius: 5,
      maxCelsius: 30,
    },
  }
  const slot = (start: number, end: number, celsius?: number): TimerSlotInput => ({
    start_hour: Math.floor(start / 60),
    start_minute: start % 60,
    end_hour: Math.floor(end / 60),
    end_minute: end % 60,
    ...(celsius === undefined ? {} : { temperature_c: celsius }),
  })

  it('are sorted by time of day', () => {
    expect(parseTimerSlots([slot(720, 780, 20), slot(360, 485, 21)], facts)).toEqual({
      ok: true,
      value: [
        { startMinute: 360, endMinute: 485, celsius: 21 },
        { startMinute: 720, endMinute: 780, celsius: 20 },
      ],
    })
  })

  it('are refused with all mistakes at once', () => {
    const refused = parseTimerSlots([slot(720, 700, 20), slot(0, 60), slot(30, 1_441, 31)], facts)
    expect(refused.ok).toBe(false)
    const messages = refused.ok ? [] : refused.fault.map(({ path, message }) => `${path.join('.')}: ${message}`)
    expect(messages).toEqual([
      'slots: this program holds 2 slots a day',
      'slots.0: ends before it begins',
      'slots.1.temperature_c: is needed: every slot of a zone has its own',
      'slots.2: a day ends at 24:00',
      'slots.2.temperature_c: this program takes 5 to 30 °C',
      'slots.2: overlaps with slot 1',
      'slots.0: overlaps with slot 2',
    ])
  })

  it('have no temperature in a program that stores none', () => {
    const short: TimerProgramFacts = { ...facts, config: { ...facts.config, hasTemperature: false } }
    expect(parseTimerSlots([slot(360, 480, 21)], short)).toMatchObject({ ok: true, value: [{ celsius: undefined }] })
    expect(parseTimerSlots([slot(360, 480, 22)], short)).toMatchObject({ ok: false })
    expect(parseTimerSlots([slot(365, 480)], short)).toMatchObject({ ok: false })
  })
})
