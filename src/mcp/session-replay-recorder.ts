/**
 * Session replay recorder: what a client of the 2025 revisions has sent to its server so far, to be repeated to the
 * next one. Over stdio a client knows nothing of sessions; when the gateway behind the bridge restarts, the bridge
 * begins a new one in its name.
 *
 * Holds memory; otherwise pure.
 */
import type { JSONRPCMessage } from '@modelcontextprotocol/client'

export interface SessionReplayRecorder {
  /** Records a message that is sent to the server. */
  readonly record: (message: JSONRPCMessage) => void
  /** The recorded messages in order, with ids of our own; empty for a client that never opened a session. */
  readonly again: () => readonly JSONRPCMessage[]
}

/** A prefix that no client's own ids have. */
const OWN_ID = 'hearthbus-bridge-'
/** Further subscriptions are not repeated. */
const MAX_SUBSCRIPTIONS = 1_000

export function isBridgeRequestId(id: unknown): boolean {
  return typeof id === 'string' && id.startsWith(OWN_ID)
}

export function createSessionReplayRecorder(): SessionReplayRecorder {
  let initialize: JSONRPCMessage | undefined
  let initialized: JSONRPCMessage | undefined
  let level: JSONRPCMessage | undefined
  const subscriptions = new Map<string, JSONRPCMessage>()
  let count = 0

  return {
    record: (message) => {
      if (!('method' in message)) return
      const uri = message.params?.['uri']
      switch (message.method) {
        case 'initialize':
          initialize = message
          return
        case 'notifications/initialized':
          initialized = message
          return
        case 'logging/setLevel':
          level = message
          return
        case 'resources/subscribe':
          if (typeof uri === 'string' && subscriptions.size < MAX_SUBSCRIPTIONS) subscriptions.set(uri, message)
          return
        case 'resources/unsubscribe':
          if (typeof uri === 'string') subscriptions.delete(uri)
          return
        default:
      }
    },
    again: () => {
      if (initialize === undefined) return []
      const recorded = [initialize, initialized, level, ...subscriptions.values()].filter(
        (message) => message !== undefined,
      )
      return recorded.map((message) => ('id' in message ? { ...message, id: `${OWN_ID}${count++}` } : message))
    },
  }
}
