/**
 * Startup: how far the first minutes have come.
 *
 *   BOOT_INIT ──what the last run knew──▶ CACHE_LOADED_STALE
 *       │ first live value                    │ first live value
 *       └────────────────▶ LIVE_WARMUP ◀──────┘
 *                              └──zones and hot water live──▶ LIVE_READY
 *   any of the first three ──two minutes after the start──▶ DEGRADED ──zones and hot water live──▶ LIVE_READY
 *
 * What the regulator broadcasts about energy does not count: it says nothing about whether anybody answers us.
 */
import type { JsonObject } from '../../core/json.ts'

export type StartupPhase = 'BOOT_INIT' | 'CACHE_LOADED_STALE' | 'LIVE_WARMUP' | 'LIVE_READY' | 'DEGRADED'

export interface StartupState {
  readonly phase: StartupPhase
  readonly startedMs: number
  readonly cacheEpoch: number
  /** Live values of the streams that count, so far. */
  readonly liveEpoch: number
  readonly live: ReadonlySet<StartupPlaneName>
}

export type StartupPlaneName = 'zones' | 'dhw'

const READY_EPOCH = 2
const PATIENCE_MS = 120_000

export function newStartupState(nowMs: number): StartupState {
  return { phase: 'BOOT_INIT', startedMs: nowMs, cacheEpoch: 0, liveEpoch: 0, live: new Set() }
}

export function markCacheLoaded(startup: StartupState): StartupState {
  if (startup.phase !== 'BOOT_INIT') return startup
  return { ...startup, phase: 'CACHE_LOADED_STALE', cacheEpoch: startup.cacheEpoch + 1 }
}

/** `published` are the streams of which there is anything to show. */
export function markPlaneLive(
  startup: StartupState,
  stream: StartupPlaneName,
  published: readonly StartupPlaneName[],
): StartupState {
  if (startup.phase === 'LIVE_READY') return startup
  const live = startup.live.has(stream) ? startup.live : new Set([...startup.live, stream])
  const liveEpoch = startup.liveEpoch + 1
  const ready = liveEpoch >= READY_EPOCH && published.length > 0 && published.every((each) => live.has(each))
  const phase = ready ? 'LIVE_READY' : startup.phase === 'DEGRADED' ? 'DEGRADED' : 'LIVE_WARMUP'
  return { ...startup, live, liveEpoch, phase }
}

export function degradeOverdueStartup(startup: StartupState, nowMs: number): StartupState {
  const waiting = startup.phase !== 'LIVE_READY' && startup.phase !== 'DEGRADED'
  return waiting && nowMs - startup.startedMs >= PATIENCE_MS ? { ...startup, phase: 'DEGRADED' } : startup
}

export function toStartupJson({ phase, cacheEpoch, liveEpoch }: StartupState): JsonObject {
  return { phase, cache_epoch: cacheEpoch, live_epoch: liveEpoch }
}
