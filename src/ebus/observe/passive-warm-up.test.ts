import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TimeAndSymbolCount, PassiveWarmUp, WarmUpInput } from './passive-warm-up.ts'
import {
  DEFAULT_WARM_UP_THRESHOLDS,
  findWarmUpBlocker,
  newPassiveWarmUp,
  stepPassiveWarmUp,
} from './passive-warm-up.ts'

const SECOND = 1_000
const MINUTE = 60_000

type Play = readonly [atMs: number, input: WarmUpInput, symbols?: number]

const connected: WarmUpInput = { kind: 'connected' }
const disconnected: WarmUpInput = { kind: 'disconnected' }
const reset: WarmUpInput = { kind: 'reset' }
const good: WarmUpInput = { kind: 'frame', good: true }
const bad: WarmUpInput = { kind: 'frame', good: false }
const tick: WarmUpInput = { kind: 'tick' }

function play(...steps: readonly Play[]): PassiveWarmUp {
  return steps.reduce(
    (warmUp, [nowMs, input, symbols = 0]) => stepPassiveWarmUp(warmUp, input, { nowMs, symbols }),
    newPassiveWarmUp(0),
  )
}

const times = (count: number, atMs: number, input: WarmUpInput): Play[] =>
  Array.from({ length: count }, () => [atMs, input])

/** Three sessions that come to nothing, and the connection after them. */
const flap = (fromMs: number): Play[] => [
  ...[0, 1, 2].flatMap((round): Play[] => [
    [fromMs + round * SECOND, connected],
    [fromMs + round * SECOND + 500, disconnected],
  ]),
  [fromMs + 4 * SECOND, connected],
]

describe('passive warm-up', () => {
  it('is unavailable with socket_loss before a connection exists', () => {
    const warmUp = play()
    expect(warmUp).toMatchObject({ state: 'unavailable', reason: 'socket_loss', endpoint: 'unknown' })
    expect(findWarmUpBlocker(warmUp, 0)).toBe('startup_outer_window')
  })

  it('is available after thirty seconds and twenty telegrams', () => {
    const heard = play([0, connected], ...times(20, SECOND, good))
    expect(heard.state).toBe('warming_up')
    expect(findWarmUpBlocker(heard, 29 * SECOND)).toBe('connected_observation_window')
    const later = stepPassiveWarmUp(heard, tick, { nowMs: 30 * SECOND, symbols: 0 })
    expect(later).toMatchObject({ state: 'available', completionMode: 'thresholds_met', reason: undefined })
    expect(later.session).toMatchObject({ completed: 20, required: 20 })
  })

  it('needs 20 telegrams even after its window has passed', () => {
    const warmUp = play([0, connected], ...times(19, SECOND, good), [40 * SECOND, tick])
    expect(warmUp.state).toBe('warming_up')
    expect(findWarmUpBlocker(warmUp, 40 * SECOND)).toBe('completed_transactions')
  })

  it('needs valid symbols first', () => {
    const warmUp = play([0, connected], [SECOND, bad], [2 * SECOND, tick])
    expect(findWarmUpBlocker(warmUp, 2 * SECOND)).toBe('healthy_symbol_ingress')
  })

  it('counts a hundred symbols as valid ingress although a telegram was broken', () => {
    const warmUp = play([0, connected], [SECOND, bad, 40], [2 * SECOND, tick, 100])
    expect(warmUp.session?.healthy).toBe(true)
    expect(findWarmUpBlocker(warmUp, 2 * SECOND)).toBe('completed_transactions')
  })

  it('completes by the fallback on a quiet bus with any telegram within the outer window', () => {
    const warmUp = play([0, connected], [SECOND, good], [5 * MINUTE, tick])
    expect(warmUp).toMatchObject({ state: 'available', completionMode: 'fallback_path' })
  })

  it('times out at startup when nothing was heard', () => {
    const warmUp = play([0, connected], [5 * MINUTE, tick])
    expect(warmUp).toMatchObject({ state: 'unavailable', reason: 'startup_timeout' })
    expect(findWarmUpBlocker(warmUp, 5 * MINUTE)).toBeUndefined()
  })

  it('times out at startup when no connection was made', () => {
    expect(play([5 * MINUTE, tick])).toMatchObject({ state: 'unavailable', reason: 'startup_timeout' })
  })

  it('times out after a reconnection, each with an outer window of its own', () => {
    const warmUp = play([6 * MINUTE, connected], [11 * MINUTE - 1, tick])
    expect(warmUp.state).toBe('warming_up')
    expect(stepPassiveWarmUp(warmUp, tick, { nowMs: 11 * MINUTE, symbols: 0 })).toMatchObject({
      state: 'unavailable',
      reason: 'reconnect_timeout',
    })
  })

  it('begins a new session when a telegram is heard after a timeout', () => {
    const warmUp = play([0, connected], [5 * MINUTE, tick], [6 * MINUTE, good])
    expect(warmUp).toMatchObject({ state: 'warming_up', reason: undefined })
    expect(warmUp.session).toMatchObject({ completed: 1, startedMs: 6 * MINUTE })
  })

  it('is unavailable when the connection is lost, and reports it as temporarily disconnected', () => {
    const warmUp = play([0, connected], ...times(20, SECOND, good), [31 * SECOND, tick], [40 * SECOND, disconnected])
    expect(warmUp).toMatchObject({
      state: 'unavailable',
      reason: 'socket_loss',
      endpoint: 'temporarily_disconnected',
      completionMode: 'thresholds_met',
    })
  })

  it('needs five seconds and ten telegrams after the adapter restarted', () => {
    const before: Play[] = [[0, connected], ...times(20, SECOND, good), [31 * SECOND, tick], [40 * SECOND, reset]]
    const settling = play(...before, ...times(10, 41 * SECOND, good))
    expect(settling.state).toBe('warming_up')
    expect(findWarmUpBlocker(settling, 41 * SECOND)).toBe('post_reset_settling')
    expect(stepPassiveWarmUp(settling, tick, { nowMs: 45 * SECOND, symbols: 0 }).state).toBe('available')
  })

  it('is unavailable at once without a signal, and restarts when the signal is back', () => {
    const heard: Play[] = [[0, connected], ...times(20, SECOND, good), [31 * SECOND, tick]]
    const silent = play(...heard, [40 * SECOND, { kind: 'signal-lost' }])
    expect(silent).toMatchObject({ state: 'unavailable', reason: 'socket_loss', endpoint: 'connected' })
    expect(findWarmUpBlocker(silent, 40 * SECOND)).toBe('healthy_symbol_ingress')
    // Not a failure: three evenings without power are no flapping.
    expect(silent.failures).toEqual([])
    const back = stepPassiveWarmUp(silent, { kind: 'signal-back' }, { nowMs: 50 * SECOND, symbols: 0 })
    expect(back).toMatchObject({ state: 'warming_up', reason: undefined })
  })

  it('leaves dampening early if the connection lasts while telegrams are heard', () => {
    const before: Play[] = [...flap(MINUTE), ...times(20, MINUTE + 20 * SECOND, good)]
    expect(play(...before)).toMatchObject({ state: 'unavailable', reason: 'flap_dampened' })
    const steady: Play[] = [...before, ...times(10, MINUTE + 35 * SECOND, good)]
    expect(play(...steady)).toMatchObject({ state: 'warming_up', reason: undefined })
    expect(play(...steady, [MINUTE + 41 * SECOND, tick])).toMatchObject({ state: 'available' })
  })

  it('is dampened after repeated disconnections', () => {
    const warmUp = play(...flap(MINUTE))
    expect(warmUp).toMatchObject({ state: 'unavailable', reason: 'flap_dampened', endpoint: 'connected' })
    // Telegrams do not open it before it has held for a window.
    expect(stepPassiveWarmUp(warmUp, good, { nowMs: MINUTE + 20 * SECOND, symbols: 0 }).state).toBe('unavailable')
    // Nor does it forget why when the connection is lost once more.
    expect(stepPassiveWarmUp(warmUp, disconnected, { nowMs: 2 * MINUTE, symbols: 0 }).reason).toBe('flap_dampened')
  })

  it('restarts when the failures are ten minutes old', () => {
    const warmUp = play(...flap(MINUTE), [11 * MINUTE + 500, tick])
    expect(warmUp).toMatchObject({ state: 'warming_up', dampenedUntilMs: undefined })
  })

  it('gives up for half an hour after it was dampened three times, and then restarts', () => {
    const hopeless = play(...flap(0), ...flap(20 * MINUTE), ...flap(40 * MINUTE))
    expect(hopeless).toMatchObject({ state: 'unavailable', reason: 'unsupported_or_misconfigured' })
    expect(stepPassiveWarmUp(hopeless, tick, { nowMs: 75 * MINUTE, symbols: 0 }).state).toBe('warming_up')
  })

  it('forgets all failures once it is available', () => {
    const warmUp = play(...flap(0).slice(0, -1), [30 * MINUTE, connected], ...times(20, 30 * MINUTE, good), [
      31 * MINUTE,
      tick,
    ])
    expect(warmUp).toMatchObject({ state: 'available', failures: [], dampenedTimes: 0 })
  })

  it('stays withdrawn, whatever is heard, when the configuration disables it', () => {
    const warmUp = play([0, { kind: 'withdrawn' }], [1, connected], [2, good], [3, disconnected])
    expect(warmUp).toMatchObject({ state: 'unavailable', reason: 'capability_withdrawn' })
  })

  it('is unsupported on a transport that cannot listen', () => {
    const warmUp = play([0, connected], [1, { kind: 'unsupported' }])
    expect(warmUp).toMatchObject({
      reason: 'unsupported_or_misconfigured',
      endpoint: 'unsupported_or_misconfigured',
      state: 'unavailable',
    })
    expect(play([0, connected], [1, { kind: 'closed' }])).toMatchObject({
      reason: 'capability_withdrawn',
      endpoint: 'closed',
    })
  })

  it('has a reason exactly when unavailable, and a session only while it warms up', () => {
    const input = fc.constantFrom<WarmUpInput>(connected, disconnected, reset, good, bad, tick)
    const step = fc.tuple(input, fc.integer({ min: 0, max: 4 * MINUTE }))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let moment: TimeAndSymbolCount = { nowMs: 0, symbols: 0 }
        let warmUp = newPassiveWarmUp(0)
        for (const [each, forMs] of steps) {
          moment = { nowMs: moment.nowMs + forMs, symbols: moment.symbols + 7 }
          warmUp = stepPassiveWarmUp(warmUp, each, moment)
          expect(warmUp.reason === undefined).toBe(warmUp.state !== 'unavailable')
          expect(warmUp.state === 'unavailable' && warmUp.session !== undefined).toBe(false)
          expect(warmUp.failures.length).toBeLessThanOrEqual(DEFAULT_WARM_UP_THRESHOLDS.transactions)
          expect(warmUp.state === 'warming_up' && findWarmUpBlocker(warmUp, moment.nowMs) === undefined).toBe(false)
        }
      }),
      { numRuns: 300 },
    )
  })
})
