/**
 * Principal lookup: the present principal behind a name, for a call that was requested earlier. A credential that was
 * revoked, has expired or was replaced since then grants nothing; one that was restricted counts as it is now.
 *
 * Pure, given its sources.
 */
import { PRINCIPAL_ROLES } from '../bus/call.ts'
import type { Caller } from '../bus/call.ts'
import type { Config } from '../config/schema.ts'
import type { Clock } from '../core/clock.ts'
import { resolveLocalPrincipal, OWNER_PRINCIPAL } from '../guard/authenticator.ts'
import type { AccessTokenRecord } from '../guard/access-token.ts'
import { createAccessPointPrincipal } from './access-points.ts'

interface PrincipalSources {
  readonly config: Pick<Config, 'listen' | 'accessPoints'>
  readonly tokens: { readonly list: () => readonly AccessTokenRecord[] }
  readonly clock: Pick<Clock, 'now'>
}

export function createPrincipalLookup({
  config,
  tokens,
  clock,
}: PrincipalSources): (key: string, askedAtMs: number) => Caller | undefined {
  return (key, askedAtMs) => {
    if (key === OWNER_PRINCIPAL.id) return OWNER_PRINCIPAL
    if (key === 'local') return resolveLocalPrincipal(config.listen.anonymous)
    const point = config.accessPoints.map(createAccessPointPrincipal).find(({ id }) => id === key)
    if (point !== undefined) return point
    // Somebody who signed in with a link, by the role that the link was created for.
    const role = PRINCIPAL_ROLES.find((each) => key === (each === 'admin' ? 'console' : `console-${each}`))
    if (role !== undefined) return { kind: 'principal', id: key, role }
    const token = tokens.list().find((each) => each.name === key && isGoodSince(each, askedAtMs, clock.now()))
    if (token === undefined) return undefined
    const { restrictions } = token
    return { kind: 'principal', id: key, role: token.role, ...(restrictions === undefined ? {} : { restrictions }) }
  }
}

/** A token that was created after the request belongs to somebody else, whatever its name. */
function isGoodSince(
  { createdAtMs, expiresAtMs, revokedAtMs }: AccessTokenRecord,
  sinceMs: number,
  nowMs: number,
): boolean {
  return createdAtMs <= sinceMs && revokedAtMs === undefined && (expiresAtMs === undefined || nowMs < expiresAtMs)
}
