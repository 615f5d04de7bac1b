/**
 * Bus status: how much is known about the traffic of a bus, as the contract defines it (`status` of every
 * `ebus.v1.bus.*` answer).
 *
 * Unknown members are left out and never reported as zero.
 */
import type { JsonObject } from '../../core/json.ts'
import { formatIsoTime } from '../../toolbox/iso-time.ts'
import type { EbusStatus } from '../adapter/ebus-connection.ts'
import type { BusObserver } from './bus-observer.ts'
import { findWarmUpBlocker } from './passive-warm-up.ts'

/** Which uses of overheard data the owner allows. */
export interface ObservationFeatureFlags {
  readonly observe_first_enabled: boolean
  readonly passive_state_direct_apply: boolean
  readonly passive_config_direct_apply: boolean
  readonly external_write_policy: 'record_only' | 'invalidate_only' | 'record_and_invalidate'
}

export interface BusStatusSources {
  readonly observatory: BusObserver
  readonly bus: Pick<EbusStatus, 'transport' | 'connected' | 'passive'>
  readonly cadenceSeconds: number
  readonly flags: ObservationFeatureFlags
  readonly startup: JsonObject
  /** Monotonic. */
  readonly nowMs: number
}

export function toBusStatusJson(parts: BusStatusSources): JsonObject {
  const { observatory, bus, nowMs } = parts
  const { warmUp, updatedAtMs } = observatory
  const tappable = bus.passive !== 'none' && warmUp.reason !== 'capability_withdrawn'
  const passive = tappable ? 'estimated' : 'unavailable'
  const reasons = [
    ...(warmUp.reason === undefined ? [] : [warmUp.reason]),
    ...(observatory.dedupDegraded ? ['dedup_degraded'] : []),
  ]
  return {
    ...(updatedAtMs === undefined ? {} : { last_updated_at: formatIsoTime(updatedAtMs) }),
    transport_class: bus.transport,
    publisher_cadence_sec: parts.cadenceSeconds,
    publisher_cadence_source: 'config.ebus.pollSeconds',
    capability: {
      active_supported: true,
      passive_supported: tappable,
      broadcast_supported: tappable,
      passive_available: warmUp.state === 'available',
      passive_state: warmUp.state,
      ...(warmUp.reason === undefined ? {} : { passive_reason: warmUp.reason }),
      endpoint_state: warmUp.endpoint,
      tap_connected: bus.connected && warmUp.endpoint === 'connected',
    },
    warmup: warmUpJson(observatory, nowMs),
    timing_quality: {
      // Through ebusd only the answer has a time, not the telegram.
      active: bus.transport === 'ebusd-tcp' ? 'unavailable' : 'estimated',
      passive,
      // Whole telegrams, without repetitions and SYN, do not add up to the time that the line was used.
      busy: bus.passive === 'symbols' ? passive : 'unavailable',
      periodicity: passive,
    },
    degraded: { active: reasons.length > 0, reasons },
    startup: parts.startup,
    feature_flags: { ...parts.flags },
  }
}

function warmUpJson({ warmUp }: BusObserver, nowMs: number): JsonObject {
  const { session, completionMode, thresholds } = warmUp
  const blocker = findWarmUpBlocker(warmUp, nowMs)
  const running = warmUp.state === 'warming_up' ? session : undefined
  return {
    state: warmUp.state,
    ...(blocker === undefined ? {} : { blocker }),
    ...(running === undefined ? {} : { elapsed_seconds: Math.floor((nowMs - running.startedMs) / 1_000) }),
    completed_transactions: session?.completed ?? 0,
    required_transactions: session?.required ?? thresholds.transactions,
    ...(completionMode === undefined ? {} : { completion_mode: completionMode }),
  }
}
