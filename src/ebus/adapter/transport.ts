/**
 * Transport: opens a connection to an adapter, which carries bytes both ways without knowing their meaning.
 *
 *   connect ──▶ connection ──bytes──▶ … ──▶ its iteration ends: the far end is gone
 *
 * An implementation never throws: a failed connection is a fault, a lost connection ends the iteration, and bytes
 * written into a lost connection are dropped.
 *
 * Pure: the contract only.
 */
import type { Result } from '../../core/result.ts'

interface TransportFault {
  readonly kind: 'unreachable'
  readonly reason: string
  /** The system's error code, such as ECONNREFUSED, if there is one. */
  readonly code?: string | undefined
}

export interface ByteConnection {
  /** In order, until the connection ends. To be consumed once. */
  readonly received: AsyncIterable<Uint8Array>
  write(bytes: Uint8Array): void
  close(): void
  /** Why the iteration ended; a sentence for a person. */
  readonly endReason: () => string
}

export interface ByteConnector {
  /** For logs: `tcp 192.168.1.4:9999`. */
  readonly name: string
  connect(signal: AbortSignal): Promise<Result<ByteConnection, TransportFault>>
}
