/**
 * Device resource announcer: tells subscribers of resources that something behind them has changed.
 *
 * The first change of a burst is announced at once, and those within the next tenth of a second together: a scene that
 * switches twenty lamps causes few notifications.
 *
 * Does I/O (a timer; the mirror).
 */
import { Throttle } from '../../toolbox/throttle.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { DEVICE_CATALOG_URIS, DEVICE_STATE_URIS } from './resources.ts'

const REST_MS = 100

/** Starts announcing, and returns a function that stops it. */
export function startAnnouncingDeviceResources(
  { link }: Pick<HomeseerToolContext, 'link'>,
  announce: (uri: string) => void,
): () => void {
  const { mirror } = link
  // A number that the mirror raises when a device comes, goes or is renamed.
  let structure = mirror.structure
  const throttle = new Throttle(() => {
    for (const uri of DEVICE_STATE_URIS) announce(uri)
    if (mirror.structure === structure) return
    structure = mirror.structure
    for (const uri of DEVICE_CATALOG_URIS) announce(uri)
  }, REST_MS)
  const stop = mirror.subscribe(throttle.trigger)
  return () => {
    stop()
    throttle.close()
  }
}
