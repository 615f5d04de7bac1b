/** HTTP address: the URL of a listener, for pasting. */

/**
 * A listener on all addresses is reached from this machine at its loopback address: `0.0.0.0` cannot be connected to.
 */
const EVERYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

export function formatHttpUrl(host: string, port: number): string {
  const reachable = EVERYWHERE[host] ?? host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}
