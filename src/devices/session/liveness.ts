/**
 * Liveness: whether a WebSocket device is still there. Pings are a hint, never a verdict.
 *
 * Devices answer pings even while a tool blocks their main loop, and yet some boards do not answer at all; servers that
 * insisted hung up on them every 40 s. So a connection is given up only after several pings *and* a long silence.
 */
export interface ConnectionLiveness {
  readonly lastDataMs: number
  readonly unanswered: number
}

export interface LivenessSettings {
  readonly pingMs: number
  readonly missedPings: number
  readonly silenceMs: number
}

export const DEFAULT_LIVENESS_SETTINGS: LivenessSettings = { pingMs: 30_000, missedPings: 3, silenceMs: 120_000 }

export function isConnectionDead(liveness: ConnectionLiveness, settings: LivenessSettings, atMs: number): boolean {
  return liveness.unanswered >= settings.missedPings && atMs - liveness.lastDataMs > settings.silenceMs
}
