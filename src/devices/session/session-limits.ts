/**
 * Session limits: how many devices may be connecting, and how much each may send.
 *
 * Pure: numbers.
 */
import type { TokenRate } from '../../toolbox/token-bucket.ts'

/**
 * Connections that have not authenticated yet: a house full of devices that all come back after the power was out.
 */
export const MAX_UNAUTHENTICATED_CONNECTIONS = 1_024

/** Generous for a device that reports its state, and nothing for one that has gone mad. */
export const TEXT_FRAME_RATE_LIMIT: TokenRate = { tokens: 100, perMs: 1_000, burst: 400 }
/**
 * For everything but texts: audio, pings, and whatever else a transport has. A device that listens sends 17 frames of
 * audio a second, py-xiaozhi up to 50, and more at once after its network stood still; stock devices send no pings over
 * WebSocket, and one in minutes over MQTT.
 */
export const OTHER_FRAME_RATE_LIMIT: TokenRate = { tokens: 100, perMs: 1_000, burst: 1_000 }
