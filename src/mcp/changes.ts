/**
 * Changes: what came, went or was updated on the bus, in the four kinds that MCP clients can hear of.
 *
 * Which list changed is read from the offers themselves: the registry's events say that something happened, and many
 * of them may have been folded into one.
 *
 * Pure, given its bus, apart from waiting.
 */
import type { Offer } from '../bus/capability.ts'
import type { FaceBus } from './face-bus.ts'

/** Those that have somebody to tell that a resource changed. */
export type ResourceListeners = Set<(uri: string) => void>

export type ListKind = 'tool' | 'prompt' | 'resource'

export interface ChangeListeners {
  readonly onList: (kind: ListKind) => void
  readonly onResource: (uri: string) => void
}

const KINDS: readonly ListKind[] = ['tool', 'prompt', 'resource']
/**
 * Between two looks; the first change after a rest is told at once. Every client answers with a request for the whole
 * list: after a power cut, devices that come back one by one are a few of them, not one for each device.
 */
const REST_MS = 500

/** Returns how to stop. */
export function watchChanges(
  bus: Pick<FaceBus, 'offers' | 'nodesOffering' | 'subscribe' | 'onResource'>,
  hear: ChangeListeners,
): () => void {
  const stopResources = bus.onResource(hear.onResource)
  const events = bus.subscribe()[Symbol.asyncIterator]()
  // A tool that another node offers as well is listed with a way to say which.
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
      // Most of what waited during a rest was seen by the look after it.
      if (now === before) continue
      const who = whoOf(now)
      for (const kind of KINDS)
        if (differs(of(before, kind), of(now, kind)) || (kind === 'tool' && who !== whoBefore)) hear.onList(kind)
      ;[before, whoBefore] = [now, who]
      await rest()
    }
  }
  // The subscription ends when it is told to; it has no other way to fail.
  void listen()
  return () => {
    stopResources()
    void events.return?.()
  }
}

function rest(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, REST_MS).unref())
}

function of(offers: readonly Offer[], kind: ListKind): readonly Offer[] {
  return offers.filter((offer) => offer.face.kind === kind)
}

function differs(before: readonly Offer[], now: readonly Offer[]): boolean {
  return before.length !== now.length || before.some((offer, index) => offer !== now[index])
}
