/**
 * Asker: who asks, through which door, and what can reach them while the call runs.
 *
 * Pure.
 */
import type { Channel, Interaction } from '../bus/call.ts'
import type { JsonObject } from '../core/json.ts'
import type { Catalogue } from './catalogue.ts'
import type { CallOptions, Principal } from './face-bus.ts'
import type { ProtocolFault } from './protocol-error.ts'
import type { TraceParent } from './traceparent.ts'

export interface Asker {
  readonly principal: Principal
  readonly catalogue: Catalogue
  readonly channel: Channel
  readonly signal: AbortSignal
  readonly era: 'modern' | 'legacy'
  readonly trace?: TraceParent | undefined
  /** Names the connection to the router. Never the secret that opens a session. */
  readonly connection?: string | undefined
  /** The node that the caller wants to answer, by id or name. */
  readonly node?: string | undefined
  readonly interaction: Interaction
}

export type Answer = { readonly result: JsonObject } | { readonly error: ProtocolFault }

export function callOptions({ principal, channel, signal, trace, connection, node, interaction }: Asker): CallOptions {
  return { caller: principal, channel, signal, interaction, ...trace, sessionId: connection, node }
}
