/**
 * List change subscription: what was added, removed or updated on the bus, in the four kinds that MCP clients can be
 * notified of.
 *
 * Which list changed is read from the offers themselves: the registry's events say that something happened, and several
 * of them may have been merged into one.
 */
import type { Offer } from '../bus/capability.ts'
import type { FaceBus } from './face-bus.ts'

/** Listeners for changed resources. */
export type ResourceChangeListeners = Set<(uri: string) => void>

export type McpListKind = 'tool' | 'prompt' | 'resource'

export interface McpChangeListeners {
  readonly onList: (kind: McpListKind) => void
  readonly onResource: (uri: string) => void
}

const KINDS: readonly McpListKind[] = ['tool', 'prompt', 'resource']
/**
 * Pause between two comparisons; the first change after a pause is reported at once. Every client answers with a
 * request for the whole list: devices that come back one by one after a power cut cause a few of them, not one for each
 * device.
 */
const REST_MS = 500

/** Returns a function that unsubscribes. */
export function subscribeToMcpListChanges(
  bus: Pick<FaceBus, 'offers' | 'nodesOffering' | 'subscribe' | 'onResource'>,
  listeners: McpChangeListeners,
): () => void {
  const stopResources = bus.onResource(listeners.onResource)
  const events = bus.subscribe()[Symbol.asyncIterator]()
  // A tool that another node offers as well is listed with an argument for the node.
  const whoOf = (offers: readonly Offer[]): string =>
    of(offers, 'tool')
      .map(({ name }) => bus.nodesOffering(name).join('\t'))
      .join('\n')
  let before = bus.offers()
  let whoBefore = whoOf(before)

  async function listen(): Promise<void> {
    for (;;) {
      const { done } = await events.next()
      if (done === true) return
      const now = bus.offers()
      // Most of what waited during a pause was seen by the comparison after it.
      if (now === before) continue
      const who = whoOf(now)
      for (const kind of KINDS)
        if (differs(of(before, kind), of(now, kind)) || (kind === 'tool' && who !== whoBefore)) listeners.onList(kind)
      ;[before, whoBefore] = [now, who]
      await rest()
    }
  }
  // The subscription ends when it is closed; it cannot fail in another way.
  void listen()
  return () => {
    stopResources()
    void events.return?.()
  }
}

function rest(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, REST_MS).unref())
}

function of(offers: readonly Offer[], kind: McpListKind): readonly Offer[] {
  return offers.filter((offer) => offer.face.kind === kind)
}

function differs(before: readonly Offer[], now: readonly Offer[]): boolean {
  return before.length !== now.length || before.some((offer, index) => offer !== now[index])
}
