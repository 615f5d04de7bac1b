/**
 * HTTP address: where a listener can be reached, as text that can be pasted.
 */

/** A listener on every address is reached on this machine at its loopback: `0.0.0.0` is no place to connect to. */
const EVERYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

export function httpAddress(host: string, port: number): string {
  const reachable = EVERYWHERE[host] ?? host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}
