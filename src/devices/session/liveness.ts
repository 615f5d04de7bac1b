/**
 * Liveness: whether a WebSocket device is still connected. An unanswered ping alone does not prove that it is gone.
 *
 * Devices answer pings even while a tool blocks their main loop, but some boards never answer them; servers that
 * required answers disconnected those every 40 s. So a connection is closed only after several unanswered pings *and* a
 * long silence.
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
