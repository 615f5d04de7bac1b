/** Session limits: how many devices may be connecting, and how much each may send. */
import type { TokenRate } from '../../toolbox/token-bucket.ts'

/**
 * The limit for connections that have not authenticated yet: all devices of a large house reconnect at once after a
 * power cut.
 */
export const MAX_UNAUTHENTICATED_CONNECTIONS = 1_024

/** Generous for a device that reports its state, and low for one that is out of control. */
export const TEXT_FRAME_RATE_LIMIT: TokenRate = { tokens: 100, perMs: 1_000, burst: 400 }
/**
 * The limit for everything but texts: audio, pings and other frames of a transport. A device that listens sends 17
 * audio frames a second, py-xiaozhi up to 50, and more at once after its network was interrupted; stock devices send no
 * pings over WebSocket, and one every few minutes over MQTT.
 */
export const NON_TEXT_FRAME_RATE_LIMIT: TokenRate = { tokens: 100, perMs: 1_000, burst: 1_000 }
