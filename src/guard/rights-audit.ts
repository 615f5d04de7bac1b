/**
 * Rights audit: what the ledger says of grants, of tokens and of the emergency stop, and how their rows have to look.
 *
 *   grant.created ─▶ grant.used, grant.given-back, counted ─▶ grant.ended
 *   token.created ─▶ token.revoked     stop.engaged ─▶ .released
 *
 * Pure.
 */
import { hex } from '../core/bytes.ts'
import { isJsonObject } from '../core/json.ts'
import { BLANK } from '../ledger/copies.ts'
import { wrongOf } from '../ledger/row-audit.ts'
import type { AuditedTable } from '../ledger/row-audit.ts'
import { sha256 } from './binding.ts'
import { agrees, isSame, millis, parsed } from './row-audit.ts'
import type { ToldForAWhile } from './row-audit.ts'

interface ToldGrant extends ToldForAWhile {
  readonly created: number
  readonly uses: number
  readonly ended: boolean
}

const GRANT_KINDS: ReadonlySet<string> = new Set(['grant.created', 'grant.used', 'grant.given-back', 'grant.ended'])

export const auditedGrants: AuditedTable<ToldGrant> = {
  what: 'grant',
  subject: ({ kind, grant: id }) => (GRANT_KINDS.has(kind) && typeof id === 'string' ? id : undefined),
  tell: (before, { seq, kind, use, uses, because }) => {
    if (kind === 'grant.created') return { seq, created: seq, uses: 0, ended: false, keptUntilMs: Infinity }
    if (before === undefined) return undefined
    if (kind === 'grant.used') return { ...before, seq, uses: Number(use) }
    const told = kind === 'grant.given-back' ? { ...before, seq, uses: Number(uses) } : { ...before, seq }
    // What was given back to a grant that was used up has put it in force again.
    const ended = typeof because === 'string'
    return { ...told, ended, keptUntilMs: ended ? -Infinity : Infinity }
  },
  compare: (row, { created, seq, uses, ended }, said) => {
    const [given, last] = [said.entry(created), said.entry(seq)]
    if (given === undefined || last === undefined) return { wrong: [] }
    return {
      wrong: wrongOf({
        principal: row['principal'] === given['principal'],
        tool: row['tool'] === given['tool'],
        target: (row['target'] ?? 'any') === given['target'],
        // Three that older entries do not have.
        definition_hash: agrees(given['definition_hash'], row['definition_hash'] as string),
        policy_version: agrees(given['policy_version'], row['policy_version'] as string),
        frame: agrees(given['frame_hash'], sha256(parsed(row['frame']) ?? null)),
        bounds: isSame(given['bounds'], parsed(row['bounds'])),
        free: isSame(given['free'], parsed(row['free'])),
        approval_id: row['approval_id'] === given['approval'],
        granted_by: row['granted_by'] === given['by'],
        expires_at: row['expires_at'] === millis(given['expires_at']),
        max_uses: row['max_uses'] === given['max_uses'],
        uses: row['uses'] === uses,
        ended_at: (row['ended_at'] !== null) === ended,
        ended_because: row['ended_because'] === (ended ? last['because'] : null),
      }),
    }
  },
}

interface ToldToken extends ToldForAWhile {
  readonly revoked: boolean
}

/** Of those that are good: a name has one of them at a time, and a new one ends the one before. */
export const auditedTokens: AuditedTable<ToldToken> = {
  what: 'token',
  subject: ({ kind, name }) =>
    (kind === 'token.created' || kind === 'token.revoked') && typeof name === 'string' ? name : undefined,
  tell: (before, { seq, kind }) => {
    if (kind === 'token.created') return { seq, revoked: false, keptUntilMs: Infinity }
    return before && { seq, revoked: true, keptUntilMs: -Infinity }
  },
  compare: (row, { seq, revoked }, said) => {
    if (revoked) return { wrong: ['revoked_at'] }
    const made = said.entry(seq)
    if (made === undefined) return { wrong: [] }
    const { hash } = row
    return {
      wrong: wrongOf({
        // Older entries do not say which token it is.
        hash: agrees(made['token_hash'], hash instanceof Uint8Array ? hex(hash) : null),
        role: row['role'] === made['role'],
        restrictions: isSame(made['restrictions'], parsed(row['restrictions'])),
        created_by: row['created_by'] === made['by'],
        expires_at: row['expires_at'] === (millis(made['expires_at']) ?? null),
      }),
    }
  },
}

/** "The emergency stop was removed": there is one at most. */
export const auditedStop: AuditedTable<ToldForAWhile> = {
  what: 'emergency',
  subject: ({ kind }) => (kind === 'stop.engaged' || kind === 'stop.released' ? 'stop' : undefined),
  tell: (_, { seq, kind }) => (kind === 'stop.engaged' ? { seq, keptUntilMs: Infinity } : undefined),
  compare: (row, { seq }, said) => {
    const engaged = said.entry(seq)
    if (engaged === undefined) return { wrong: [] }
    const words = said.words(engaged)
    return {
      wrong: wrongOf({
        engaged_by: row['engaged_by'] === engaged['by'],
        reason: words.kind !== 'kept' || (isJsonObject(words.body) && row['reason'] === words.body['reason']),
      }),
      doubted: words.kind === 'gone' && row['reason'] !== BLANK ? [{ seq, field: 'reason' }] : [],
    }
  },
}
