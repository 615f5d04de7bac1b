import { describe, expect, it } from 'vitest'
import type { FleetDevice } from '../session/fleet.ts'
import type { SessionPhase } from '../session/session.ts'
import { DEFAULT_TOOL_TIMEOUTS } from '../session/tool-timeout.ts'
import { DeviceToolCaller } from './device-tool-caller.ts'

function callsTo(phase: SessionPhase, online: boolean): DeviceToolCaller {
  const view = { phase, online } as FleetDevice
  const fleet = { device: () => view, call: () => Promise.reject(new Error('nobody is asked')) }
  return new DeviceToolCaller(fleet, {
    toolTimes: DEFAULT_TOOL_TIMEOUTS,
    whenAsleep: 'fail',
    waitMs: 0,
    bootedAtMs: () => undefined,
    now: () => 0,
  })
}

describe('a call that waits for a device', () => {
  it.each([
    ['asleep', false, true],
    ['greeting', false, true],
    ['initialising', true, false],
    ['listing', true, false],
  ] as const)('that is %s expires, and reports whether it is asleep', async (phase, online, asleep) => {
    const waited = await callsTo(phase, online).untilReady('d', 1, {
      caller: { kind: 'service', id: 'test' },
      signal: new AbortController().signal,
    })
    expect(waited).toEqual({ kind: 'expired', afterMs: 1, asleep })
  })

  it('reports cancelled, not expired, when its caller withdraws', async () => {
    const leaving = new AbortController()
    const caller = { kind: 'service', id: 'test' } as const
    const waited = callsTo('asleep', false).untilReady('d', 60_000, { caller, signal: leaving.signal })
    leaving.abort()
    expect(await waited).toEqual({ kind: 'cancelled', sent: false })
  })
})
