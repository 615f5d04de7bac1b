/**
 * URL rule: which URLs a device may be given. A URL in an argument makes the device fetch from it, post to it, or flash
 * itself from it, inside of the owner's network; so only URLs that the owner allowed are passed on.
 *
 *   allowed  https://files.example.org/firmware/      a scheme, a host, perhaps a port, the beginning of a path
 *            https://*.example.org/                   any host below; never one on the owner's network
 *
 * Devices have a URL parser of their own, which knows neither user names nor escapes. A URL that two parsers could
 * interpret differently is refused.
 */
import { isIP } from 'node:net'
import type { Json } from '../../core/json.ts'

/** Names of arguments whose values are URLs. */
const NAMED_URL = /(?:^|[._-])(?:url|uri|href|link|endpoint|server|host|address|webhook)s?$|(?:Url|URL|Uri|URI)$/
const LOOKS_LIKE_URL = /^\s*(?:[a-z][a-z0-9+.-]*:\/\/|\/\/|[a-z][a-z0-9+.-]*:\\)/i
/** Printable ASCII without what parsers disagree about: space, quotes, @, backslash, brackets, fragments. */
const PLAIN = /^https?:\/\/[a-z0-9.-]+(?::\d{1,5})?(?:\/[A-Za-z0-9._~!$&()*+,;=:/%?-]*)?$/
const PRIVATE_NAME = /(?:^|\.)(?:localhost|local|lan|home|internal|intranet|corp|arpa)$/
const MAX_URL = 1_024

export interface UrlRule {
  readonly protocol: string
  /** The host without `*.`. */
  readonly host: string
  readonly below: boolean
  readonly port: string
  readonly path: string
}

/** Returns `undefined` for text that is not a rule, so that the configuration is refused. */
export function parseUrlRule(text: string): UrlRule | undefined {
  const below = /^https?:\/\/\*\./.test(text)
  const plain = below ? text.replace('*.', '') : text
  const url = PLAIN.test(plain) ? URL.parse(plain) : null
  if (url === null || url.search !== '') return undefined
  return { protocol: url.protocol, host: url.hostname, below, port: url.port, path: url.pathname }
}

/** A sentence about why the address must not be passed on, or `undefined`. */
export function explainForbiddenUrl(text: string, rules: readonly UrlRule[]): string | undefined {
  if (text.length > MAX_URL) return `an address of more than ${MAX_URL} characters`
  const url = PLAIN.test(text) ? URL.parse(text) : null
  // What our parser normalised (1.1 into 1.0.0.1, `..` removed), another parser may interpret differently.
  const plain = text.replace(/^(http:\/\/[^/]*):80(?=\/|$)|^(https:\/\/[^/]*):443(?=\/|$)/, '$1$2')
  if (url === null || (url.href !== plain && url.href !== `${plain}/`))
    return 'not a plain http or https address that every device understands'
  if (rules.some((rule) => allows(rule, url))) return undefined
  const where = isPrivateHost(url.hostname) ? `${url.hostname}, an address inside the house` : url.host
  return `${where}, which devices.urls does not allow`
}

/** Every URL in the arguments, recognised by the name of the argument or by its form. */
export function findUrlArguments(value: Json, name = ''): readonly { readonly path: string; readonly url: string }[] {
  if (typeof value === 'string')
    return NAMED_URL.test(name) || LOOKS_LIKE_URL.test(value) ? [{ path: name, url: value }] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    // An element of a list has the name of the list.
    findUrlArguments(inner, Array.isArray(value) ? name : name === '' ? key : `${name}.${key}`),
  )
}

function allows(rule: UrlRule, url: URL): boolean {
  if (url.protocol !== rule.protocol || url.port !== rule.port || !isBelow(url.pathname, rule.path)) return false
  // Some servers interpret `%2e%2e%2f` as `../`.
  if (/%2e|%2f|%5c/i.test(url.pathname)) return false
  if (!rule.below) return url.hostname === rule.host
  return url.hostname.endsWith(`.${rule.host}`) && !isPrivateHost(url.hostname)
}

function isBelow(path: string, rule: string): boolean {
  return path === rule || path.startsWith(rule.endsWith('/') ? rule : `${rule}/`)
}

/**
 * IP addresses, and names that resolve only inside of a house. A rule that names one exactly is the owner's decision.
 */
export function isPrivateHost(host: string): boolean {
  if (isIP(host) === 4) return isPrivateIp(host.split('.').map(Number))
  return isIP(host) === 6 || !host.includes('.') || PRIVATE_NAME.test(host.replace(/\.$/, ''))
}

function isPrivateIp([a = 0, b = 0]: readonly number[]): boolean {
  if (a === 0 || a === 10 || a === 127 || a >= 224) return true
  if (a === 100) return b >= 64 && b < 128
  if (a === 169) return b === 254
  if (a === 172) return b >= 16 && b < 32
  if (a === 198) return b === 18 || b === 19
  return a === 192 && (b === 168 || b === 0)
}
