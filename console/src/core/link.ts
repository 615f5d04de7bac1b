/** Link: the address of a one-time link, as somebody on another machine can open it. */
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/**
 * `url` is the gateway's: one that listens everywhere names its loopback. Who came by another name knows a better one.
 */
export function linkFrom(url: string, origin: string): string {
  return LOOPBACK.test(new URL(origin).hostname) ? url : `${origin}/${new URL(url).hash}`
}
