/**
 * Link health: the state of the connection to HomeSeer, from the results of all requests, with advice.
 *
 * Holds the last outcome; otherwise pure.
 */
import { omitUndefined } from '../../core/json.ts'
import type { ServiceHealth } from '../../bus/capability.ts'
import { LINK_HEALTH_REQUEST_NAMES, type RequestAttemptNote } from '../wire/json-client.ts'
import type { AsciiConnectionState } from '../wire/ascii-push-client.ts'

/** The last attempt determines the state: requests are frequent, and an older success proves nothing. */
export interface HomeseerLinkHealthTracker {
  readonly note: (attempt: RequestAttemptNote) => void
  readonly last: () => RequestAttemptNote | undefined
}

/** Called once when HomeSeer is lost and once when it is back, however many requests there are meanwhile. */
export interface HomeseerLinkHealthListener {
  readonly away: (attempt: RequestAttemptNote) => void
  readonly back: () => void
  /** Called for each failed attempt. */
  readonly failed?: (attempt: RequestAttemptNote) => void
}

const AWAY: ReadonlySet<RequestAttemptNote['outcome']> = new Set([
  'unreachable',
  'timed-out',
  'unauthorised',
  'json-disabled',
])

/** The link reports every attempt; `health` and the doctor read the state. */
export function createHomeseerLinkHealthTracker(news: HomeseerLinkHealthListener): HomeseerLinkHealthTracker {
  let last: RequestAttemptNote | undefined
  let answered = false
  let away = false
  return {
    note: (attempt) => {
      const { request, outcome } = attempt
      if (outcome !== 'ok') news.failed?.(attempt)
      // A time-out may be caused by a camera behind HomeSeer, so only requests that HomeSeer answers itself count.
      if (outcome === 'timed-out' && !LINK_HEALTH_REQUEST_NAMES.has(request)) return
      const again = last !== undefined && AWAY.has(last.outcome)
      last = attempt
      if (!AWAY.has(outcome)) {
        if (away) news.back()
        away = false
        answered = true
        // A single failure after successes does not count as a loss yet.
      } else if (!away && (again || !answered)) {
        away = true
        news.away(attempt)
      }
    },
    last: () => last,
  }
}

export interface HomeseerLinkFacts {
  readonly url: string
  readonly last: RequestAttemptNote | undefined
  readonly push: AsciiConnectionState | undefined
  /** Why the web hook cannot receive although it should. */
  readonly webhookFault?: string | undefined
  readonly devices: number
}

/** An absent HomeSeer degrades this family and nothing else. */
export function toHomeseerServiceHealth({ url, last, push, webhookFault, devices }: HomeseerLinkFacts): ServiceHealth {
  const onLink = adviseOnHomeseerLink(url, last)
  const advice = onLink ?? adviseOnHomeseerPush(push) ?? webhookFault
  return {
    status: advice === undefined ? 'ok' : 'degraded',
    details: {
      url,
      devices,
      lastRequest: last === undefined ? null : { request: last.request, outcome: last.outcome },
      push: push === undefined ? 'off' : push.up ? 'up' : push.reason,
      ...omitUndefined({ advice }),
      ...(onLink !== undefined && isAway(last) ? { away: true } : {}),
    },
  }
}

/** Before the first attempt HomeSeer does not count as lost; and a missing page says nothing about others. */
function isAway(last: RequestAttemptNote | undefined): boolean {
  return last !== undefined && (AWAY.has(last.outcome) || LINK_HEALTH_REQUEST_NAMES.has(last.request))
}

/** A refusal is an answer, so the link works. */
export function adviseOnHomeseerLink(
  url: string,
  last: Pick<RequestAttemptNote, 'outcome' | 'code'> | undefined,
): string | undefined {
  switch (last?.outcome) {
    case undefined:
      return `HomeSeer at ${url} has not been asked yet.`
    case 'http-status':
    case 'malformed':
    case 'too-large':
      return `What answers at ${url} is not a HomeSeer, or it is failing. Check homeseer.url.`
    case 'unreachable':
      return adviseOnUnreachableHost(url, last.code)
    case 'timed-out':
      return `HomeSeer at ${url} does not answer. Check that it runs and that homeseer.url is right.`
    case 'unauthorised':
      return 'HomeSeer refuses the login. Check homeseer.user and homeseer.password.'
    case 'json-disabled':
      return 'Switch on “Enable Control with JSON” under Setup > Network in HomeSeer.'
    default:
      return undefined
  }
}

function adviseOnUnreachableHost(url: string, code: string | undefined): string {
  switch (code) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The name in ${url} is not known in this network. Check homeseer.url, or use HomeSeer’s IP address.`
    case 'ECONNREFUSED':
      return `Nothing listens at ${url}. Check that HomeSeer runs, and the port in homeseer.url.`
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `This machine has no route to ${url}. Check the network and homeseer.url.`
    case 'EPROTO':
      return `What answers at ${url} does not speak TLS. Write http:// in homeseer.url where HomeSeer has no certificate.`
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return `This machine does not trust the certificate at ${url}. Name its file in NODE_EXTRA_CA_CERTS, or write http:// in homeseer.url.`
    case 'CERT_HAS_EXPIRED':
      return `The certificate at ${url} has expired. Renew it on HomeSeer.`
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `The certificate at ${url} is for another name. Write that name in homeseer.url.`
    default:
      return `HomeSeer at ${url} does not answer. Check that it runs and that homeseer.url is right.`
  }
}

/** Without push everything still works, only slower, so this advice comes after that about the link. */
export function adviseOnHomeseerPush(push: AsciiConnectionState | undefined): string | undefined {
  if (push === undefined || push.up) return undefined
  if (push.reason === 'refused') return 'HomeSeer’s ASCII port refuses the login: guests may not use it.'
  return 'HomeSeer’s ASCII port does not answer; everything is polled. Check homeseer.push.asciiPort.'
}
