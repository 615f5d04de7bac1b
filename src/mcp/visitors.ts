/**
 * Visitors: the requests under way, by principal, so that those of a credential that ends can be cut off. A client that
 * is cut off is a client that left: its streams end and its calls are withdrawn.
 *
 * Holds memory; otherwise pure.
 */
import type { ServerResponse } from 'node:http'

export interface Visitors {
  /** Until the response is closed. */
  readonly enter: (principal: string, response: ServerResponse) => void
  readonly expel: (principal: string) => void
}

export function createVisitors(): Visitors {
  const inside = new Map<string, Set<ServerResponse>>()
  return {
    enter: (principal, response) => {
      const others = inside.get(principal)
      const own = others ?? new Set<ServerResponse>()
      if (others === undefined) inside.set(principal, own)
      own.add(response)
      response.once('close', () => {
        own.delete(response)
        if (own.size === 0 && inside.get(principal) === own) inside.delete(principal)
      })
    },
    expel: (principal) => {
      for (const response of inside.get(principal) ?? []) response.destroy()
    },
  }
}
