/**
 * Principal lookup: who a name is now, for a call that was asked for earlier. A credential that was revoked, has expired
 * or was given anew since then opens nothing; one that was narrowed counts as it is now.
 *
 * Pure, given its sources.
 */
import { ROLES } from '../bus/call.ts'
import type { Caller } from '../bus/call.ts'
import type { Config } from '../config/schema.ts'
import type { Clock } from '../core/clock.ts'
import { localCaller, OWNER } from '../guard/authenticate.ts'
import type { TokenRecord } from '../guard/token.ts'
import { accessPointPrincipal } from './access-points.ts'

interface PrincipalSources {
  readonly config: Pick<Config, 'listen' | 'accessPoints'>
  readonly tokens: { readonly list: () => readonly TokenRecord[] }
  readonly clock: Pick<Clock, 'now'>
}

export function createPrincipalLookup({
  config,
  tokens,
  clock,
}: PrincipalSources): (key: string, askedAtMs: number) => Caller | undefined {
  return (key, askedAtMs) => {
    if (key === OWNER.id) return OWNER
    if (key === 'local') return localCaller(config.listen.anonymous)
    const point = config.accessPoints.map(accessPointPrincipal).find(({ id }) => id === key)
    if (point !== undefined) return point
    // Whoever signed in with a link, by the role that the link was made for.
    const role = ROLES.find((each) => key === (each === 'admin' ? 'console' : `console-${each}`))
    if (role !== undefined) return { kind: 'principal', id: key, role }
    const token = tokens.list().find((each) => each.name === key && isGoodSince(each, askedAtMs, clock.now()))
    if (token === undefined) return undefined
    const { restrictions } = token
    return { kind: 'principal', id: key, role: token.role, ...(restrictions === undefined ? {} : { restrictions }) }
  }
}

/** A token that was made after the question is somebody else's, whatever it is called. */
function isGoodSince({ createdAtMs, expiresAtMs, revokedAtMs }: TokenRecord, sinceMs: number, nowMs: number): boolean {
  return createdAtMs <= sinceMs && revokedAtMs === undefined && (expiresAtMs === undefined || nowMs < expiresAtMs)
}
