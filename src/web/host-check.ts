/**
 * Host check: is this request really meant for us, and does it come from a page that may talk to us?
 *
 * A page on the web can point a name of its own at 127.0.0.1 and have the visitor's browser talk to us (DNS
 * rebinding). It needs a name for that, so addresses are safe and names must be known ones.
 *
 * Pure.
 */
import { isIP } from 'node:net'

export interface HostRules {
  readonly allowedHosts: readonly string[]
  readonly allowedOrigins: readonly string[]
}

export function isAllowedHost(header: string | undefined, rules: HostRules): boolean {
  const name = hostName(header)
  if (name === undefined) return false
  return isIP(name) !== 0 || name === 'localhost' || rules.allowedHosts.includes(name)
}

/**
 * No Origin: not a browser, or a page asking its own server. Otherwise the origin is our own, or allowed by the owner.
 */
export function isAllowedOrigin(origin: string | undefined, host: string | undefined, rules: HostRules): boolean {
  if (origin === undefined) return true
  if (rules.allowedOrigins.includes(origin)) return true
  const parsed = URL.parse(origin)
  return parsed !== null && host !== undefined && parsed.host === host.toLowerCase() && isAllowedHost(host, rules)
}

/** Why a listener that others can reach does not open. */
export function noTokenSentence(host: string): string {
  return `listen.host is ${host}, which others can reach, and there is no token yet. Make one first: hearthbus token create NAME --role agent.`
}

/** `[::1]:7420` → `::1`; `Home.local:7420` → `home.local`; anything with a user or a path in it → `undefined`. */
function hostName(header: string | undefined): string | undefined {
  if (header === undefined || header === '' || /[@/?#\\\s]/.test(header)) return undefined
  const parsed = URL.parse(`http://${header}`)
  if (parsed === null) return undefined
  return parsed.hostname.replace(/^\[(.*)\]$/, '$1')
}
