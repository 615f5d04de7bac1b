/**
 * Principal lookup: the present principal behind a name, for a call that was requested earlier. A credential that was
 * revoked, has expired or was replaced since then grants nothing; one whose rights were restricted has its present
 * rights only.
 *
 * Pure, given its sources.
 */
import type { Caller } from '../bus/call.ts'
import type { Config } from '../config/schema.ts'
import type { Clock } from '../core/clock.ts'
import { resolveLocalPrincipal, OWNER_PRINCIPAL } from '../guard/authenticator.ts'
import { isAccessTokenLive } from '../guard/access-token.ts'
import type { AccessTokenRecord } from '../guard/access-token.ts'
import { findConsoleRole } from '../guard/principal-state.ts'
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
}: PrincipalSources): (key: string, requestedAtMs: number) => Caller | undefined {
  return (key, requestedAtMs) => {
    if (key === OWNER_PRINCIPAL.id) return OWNER_PRINCIPAL
    if (key === 'local') return resolveLocalPrincipal(config.listen.anonymous)
    const point = config.accessPoints.map(createAccessPointPrincipal).find(({ id }) => id === key)
    if (point !== undefined) return point
    const role = findConsoleRole(key)
    if (role !== undefined) return { kind: 'principal', id: key, role }
    // A token that was created after the request belongs to somebody else, whatever its name.
    const token = tokens
      .list()
      .find((each) => each.name === key && each.createdAtMs <= requestedAtMs && isAccessTokenLive(each, clock.now()))
    if (token === undefined) return undefined
    const { restrictions } = token
    return { kind: 'principal', id: key, role: token.role, ...(restrictions === undefined ? {} : { restrictions }) }
  }
}
