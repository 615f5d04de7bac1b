/**
 * Passive warm-up: whether overheard data can be relied on yet.
 *
 *   unavailable ──connected──▶ warming_up ──window over, enough telegrams──▶ available  (thresholds_met)
 *        ▲                        │  ▲       outer window over, some life ──▶ available  (fallback_path)
 *        │                        │  └──────── adapter restarted ────────────────┘
 *        ├──── connection lost ◀──┴────────────────────────── connection lost
 *        └──── outer window over, no life: startup_timeout, later reconnect_timeout
 *
 * Three failed sessions within ten minutes dampen the next one: flap_dampened. After three dampened sessions the path
 * counts as unsupported_or_misconfigured for half an hour. One successful session clears all of this, and so does a
 * connection that lasts for a window while telegrams are heard. Without a signal on the bus nothing can be heard, even
 * if the adapter is connected.
 */
export type PassiveAvailability = 'unavailable' | 'warming_up' | 'available'
export type PassiveUnavailableReason =
  | 'startup_timeout'
  | 'reconnect_timeout'
  | 'socket_loss'
  | 'flap_dampened'
  | 'unsupported_or_misconfigured'
  | 'capability_withdrawn'
export type PassiveTapEndpointState =
  | 'unknown'
  | 'connected'
  | 'temporarily_disconnected'
  | 'unsupported_or_misconfigured'
  | 'closed'
export type WarmUpBlocker =
  | 'post_reset_settling'
  | 'completed_transactions'
  | 'healthy_symbol_ingress'
  | 'connected_observation_window'
  | 'startup_outer_window'
export type WarmUpCompletionMode = 'thresholds_met' | 'fallback_path'

export interface WarmUpThresholds {
  readonly windowMs: number
  readonly transactions: number
  readonly settlingMs: number
  readonly settlingTransactions: number
  /** Counted from the start of the process, and from the start of each later session. */
  readonly outerMs: number
  readonly fallbackSymbols: number
}

export const DEFAULT_WARM_UP_THRESHOLDS: WarmUpThresholds = {
  windowMs: 30_000,
  transactions: 20,
  settlingMs: 5_000,
  settlingTransactions: 10,
  outerMs: 300_000,
  fallbackSymbols: 100,
}

interface Session {
  readonly startedMs: number
  readonly required: number
  /** The observation window, or the settling after a restart, is over at this moment. */
  readonly windowEndMs: number
  readonly settling: boolean
  readonly deadlineMs: number
  readonly symbolsBefore: number
  readonly completed: number
  /** A telegram has ended, successfully or not. */
  readonly terminal: boolean
  readonly healthy: boolean
}

export interface PassiveWarmUp {
  readonly thresholds: WarmUpThresholds
  readonly startedMs: number
  readonly state: PassiveAvailability
  readonly reason: PassiveUnavailableReason | undefined
  readonly endpoint: PassiveTapEndpointState
  /** Since when the adapter has been connected without a break; `undefined` while it is not. */
  readonly connectedMs: number | undefined
  /** The current one, or the one that made the path available. */
  readonly session: Session | undefined
  readonly completionMode: WarmUpCompletionMode | undefined
  /** When failed sessions ended, newest last. */
  readonly failures: readonly number[]
  readonly dampenedUntilMs: number | undefined
  readonly dampenedTimes: number
}

export type WarmUpInput =
  | { readonly kind: 'connected' | 'reset' | 'signal-lost' | 'signal-back' }
  | { readonly kind: 'disconnected' | 'closed' | 'withdrawn' | 'unsupported' }
  /** A telegram came to its end. */
  | { readonly kind: 'frame'; readonly good: boolean }
  | { readonly kind: 'tick' }

/** Monotonic time, and the symbols heard so far. */
export interface TimeAndSymbolCount {
  readonly nowMs: number
  readonly symbols: number
}

const FLAP_WINDOW_MS = 600_000
const FLAP_FAILURES = 3
const FLAP_TIMES = 3
const UNSUPPORTED_MS = 1_800_000

export function newPassiveWarmUp(
  nowMs: number,
  thresholds: WarmUpThresholds = DEFAULT_WARM_UP_THRESHOLDS,
): PassiveWarmUp {
  return {
    thresholds,
    startedMs: nowMs,
    state: 'unavailable',
    // The reason before the first connection.
    reason: 'socket_loss',
    endpoint: 'unknown',
    connectedMs: undefined,
    session: undefined,
    completionMode: undefined,
    failures: [],
    dampenedUntilMs: undefined,
    dampenedTimes: 0,
  }
}

export function stepPassiveWarmUp(
  warmUp: PassiveWarmUp,
  input: WarmUpInput,
  moment: TimeAndSymbolCount,
): PassiveWarmUp {
  switch (input.kind) {
    case 'connected':
      return onConnected({ ...warmUp, endpoint: 'connected', connectedMs: moment.nowMs }, moment)
    case 'reset':
      return canListen(warmUp) ? beginSession(warmUp, moment, true) : warmUp
    case 'disconnected':
      return onLost(
        { ...warmUp, endpoint: 'temporarily_disconnected', connectedMs: undefined },
        'socket_loss',
        moment.nowMs,
      )
    case 'signal-lost':
      return onSignalLost(warmUp)
    case 'signal-back':
      return warmUp.state === 'unavailable' ? onConnected(warmUp, moment) : warmUp
    case 'closed':
      return onLost({ ...warmUp, endpoint: 'closed' }, 'capability_withdrawn', moment.nowMs)
    case 'withdrawn':
      return { ...warmUp, state: 'unavailable', reason: 'capability_withdrawn', session: undefined }
    case 'unsupported':
      return {
        ...warmUp,
        state: 'unavailable',
        reason: 'unsupported_or_misconfigured',
        endpoint: 'unsupported_or_misconfigured',
        session: undefined,
      }
    case 'frame':
      return onFrame(warmUp, input.good, moment)
    case 'tick':
      return onTick(warmUp, moment)
  }
}

/** What prevents the path from being available now. */
export function findWarmUpBlocker(warmUp: PassiveWarmUp, nowMs: number): WarmUpBlocker | undefined {
  const { state, session, startedMs, thresholds } = warmUp
  if (state === 'available') return undefined
  if (warmUp.endpoint === 'connected' && warmUp.reason === 'socket_loss') return 'healthy_symbol_ingress'
  if (state === 'unavailable' || session === undefined)
    return nowMs < startedMs + thresholds.outerMs && warmUp.reason === 'socket_loss'
      ? 'startup_outer_window'
      : undefined
  if (session.settling && nowMs < session.windowEndMs) return 'post_reset_settling'
  // Without any telegram there is nothing to count.
  if (!session.healthy) return 'healthy_symbol_ingress'
  if (session.completed < session.required) return 'completed_transactions'
  return 'connected_observation_window'
}

function canListen({ endpoint, reason }: PassiveWarmUp): boolean {
  return endpoint === 'connected' && reason !== 'capability_withdrawn'
}

function onConnected(warmUp: PassiveWarmUp, moment: TimeAndSymbolCount): PassiveWarmUp {
  if (!canListen(warmUp)) return warmUp
  const { nowMs } = moment
  if (warmUp.dampenedUntilMs !== undefined && nowMs < warmUp.dampenedUntilMs) return warmUp
  const recent = warmUp.failures.filter((failedMs) => nowMs - failedMs < FLAP_WINDOW_MS)
  if (recent.length < FLAP_FAILURES) return beginSession({ ...warmUp, failures: recent }, moment, false)
  const times = warmUp.dampenedTimes + 1
  const hopeless = times >= FLAP_TIMES
  return {
    ...warmUp,
    state: 'unavailable',
    reason: hopeless ? 'unsupported_or_misconfigured' : 'flap_dampened',
    session: undefined,
    failures: [],
    dampenedUntilMs: hopeless ? nowMs + UNSUPPORTED_MS : (recent[0] ?? nowMs) + FLAP_WINDOW_MS,
    dampenedTimes: hopeless ? 0 : times,
  }
}

function beginSession(warmUp: PassiveWarmUp, { nowMs, symbols }: TimeAndSymbolCount, settling: boolean): PassiveWarmUp {
  const { thresholds, startedMs } = warmUp
  const startupEndMs = startedMs + thresholds.outerMs
  return {
    ...warmUp,
    state: 'warming_up',
    reason: undefined,
    dampenedUntilMs: undefined,
    session: {
      startedMs: nowMs,
      settling,
      required: settling ? thresholds.settlingTransactions : thresholds.transactions,
      windowEndMs: nowMs + (settling ? thresholds.settlingMs : thresholds.windowMs),
      deadlineMs: nowMs < startupEndMs ? startupEndMs : nowMs + thresholds.outerMs,
      symbolsBefore: symbols,
      completed: 0,
      terminal: false,
      healthy: false,
    },
  }
}

function onLost(warmUp: PassiveWarmUp, reason: PassiveUnavailableReason, nowMs: number): PassiveWarmUp {
  if (warmUp.reason === 'capability_withdrawn') return warmUp
  const failed = warmUp.state === 'warming_up'
  const dampened = warmUp.dampenedUntilMs !== undefined && nowMs < warmUp.dampenedUntilMs
  return {
    ...warmUp,
    state: 'unavailable',
    reason: dampened ? warmUp.reason : reason,
    session: undefined,
    failures: failed ? [...warmUp.failures.slice(-FLAP_FAILURES), nowMs] : warmUp.failures,
  }
}

/** This is no failure of the path: the heating may simply be switched off. */
function onSignalLost(warmUp: PassiveWarmUp): PassiveWarmUp {
  if (warmUp.endpoint !== 'connected' || warmUp.state === 'unavailable') return warmUp
  return { ...warmUp, state: 'unavailable', reason: 'socket_loss', session: undefined }
}

/** The session is dampened, but the connection lasts and telegrams are heard, so the flapping is over. */
function isSteady({ dampenedUntilMs, connectedMs, thresholds }: PassiveWarmUp, nowMs: number): boolean {
  return dampenedUntilMs !== undefined && connectedMs !== undefined && nowMs - connectedMs >= thresholds.windowMs
}

function onFrame(warmUp: PassiveWarmUp, good: boolean, moment: TimeAndSymbolCount): PassiveWarmUp {
  if (warmUp.state === 'available') return warmUp
  if (good && isSteady(warmUp, moment.nowMs) && canListen(warmUp))
    return onFrame(beginSession({ ...warmUp, failures: [] }, moment, true), good, moment)
  const { session } = warmUp
  if (warmUp.state !== 'warming_up' || session === undefined) {
    // The session timed out, but telegrams are heard, so another one begins as after a connection.
    const begun = good ? onConnected(warmUp, moment) : warmUp
    return begun.state === 'warming_up' ? onFrame(begun, good, moment) : begun
  }
  const completed = session.completed + (good ? 1 : 0)
  return promoted({ ...warmUp, session: { ...session, completed, terminal: true } }, moment)
}

function onTick(warmUp: PassiveWarmUp, moment: TimeAndSymbolCount): PassiveWarmUp {
  const { nowMs } = moment
  if (warmUp.state === 'warming_up') return promoted(warmUp, moment)
  if (warmUp.state === 'available') return warmUp
  const { dampenedUntilMs, startedMs, thresholds } = warmUp
  if (dampenedUntilMs !== undefined && nowMs >= dampenedUntilMs) {
    const calm = { ...warmUp, dampenedUntilMs: undefined, reason: 'socket_loss' } as const
    return onConnected(calm, moment)
  }
  const neverWorked = warmUp.completionMode === undefined && warmUp.reason === 'socket_loss'
  if (neverWorked && nowMs >= startedMs + thresholds.outerMs) return { ...warmUp, reason: 'startup_timeout' }
  return warmUp
}

/** Checks whether the session is over, successfully or not. */
function promoted(warmUp: PassiveWarmUp, { nowMs, symbols }: TimeAndSymbolCount): PassiveWarmUp {
  const { session, thresholds } = warmUp
  if (session === undefined) return warmUp
  const lively = session.terminal && symbols - session.symbolsBefore >= thresholds.fallbackSymbols
  const healthy = session.healthy || session.completed > 0 || lively
  const next = healthy === session.healthy ? warmUp : { ...warmUp, session: { ...session, healthy } }
  if (nowMs >= session.windowEndMs && session.completed >= session.required) return available(next, 'thresholds_met')
  if (nowMs < session.deadlineMs) return next
  if (healthy) return available(next, 'fallback_path')
  const first = session.deadlineMs === warmUp.startedMs + thresholds.outerMs
  return onLost(next, first ? 'startup_timeout' : 'reconnect_timeout', nowMs)
}

function available(warmUp: PassiveWarmUp, completionMode: WarmUpCompletionMode): PassiveWarmUp {
  return { ...warmUp, state: 'available', reason: undefined, completionMode, failures: [], dampenedTimes: 0 }
}
