/**
 * Listening installation: what a gateway knows of a bus on which it may use everything it hears, without bus or
 * gateway.
 */
import { HeatingInstallation } from '../src/ebus/heating-installation.ts'
import type { BusEventContext } from '../src/ebus/observe/bus-observer.ts'
import type { ObservationFeatureFlags } from '../src/ebus/observe/bus-status.ts'
import { DEFAULT_WARM_UP_THRESHOLDS } from '../src/ebus/observe/passive-warm-up.ts'

export const ALL_ALLOWED: ObservationFeatureFlags = {
  observe_first_enabled: true,
  passive_state_direct_apply: true,
  passive_config_direct_apply: true,
  external_write_policy: 'record_and_invalidate',
}

export function listeningInstallation(flags: Partial<ObservationFeatureFlags> = {}): HeatingInstallation {
  return new HeatingInstallation({
    nowMs: 0,
    pollMs: 60_000,
    listens: true,
    thresholds: DEFAULT_WARM_UP_THRESHOLDS,
    flags: { ...ALL_ALLOWED, ...flags },
    seeds: [],
  })
}

/** A bus whose symbols are heard, with an address of our own on it. */
export function situationAt(nowMs: number, symbols = nowMs): BusEventContext {
  return { nowMs, symbols, address: 0xff, passive: 'symbols' }
}
