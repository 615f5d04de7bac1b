/**
 * Mesh store: what a node remembers of its community, in a small database of its own, so that the gateway and a command
 * beside it can both write without undoing each other's work.
 *
 *   community     the newest revision of the member list that was proven
 *   invitation    what was given out here, with its secret, and who used it
 *   peer          where others were last reached, and what they were called
 *   offer_…       what others were seen to offer (offer-store.ts)
 *   fact          how far the sequence of manifests is reserved; where this node listens
 *
 * Does I/O.
 */
import type { DatabaseSync } from 'node:sqlite'
import { Database } from '../../core/database-store.ts'
import type { Migrations } from '../../core/database-store.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { outnumber, readCommunity, reapply, standingOf, supersede, withMember } from './community.ts'
import type { Authority, Community, CommunityFault, Level } from './community.ts'
import { isProven } from './invitation.ts'
import type { Invitation, JoinRequest } from './invitation.ts'
import { OFFER_TABLES, OfferStore } from './offer-store.ts'

const migrations: Migrations = {
  room: 'mesh',
  steps: [
    `CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
     CREATE TABLE invitation (
       id TEXT PRIMARY KEY, secret BLOB NOT NULL, level TEXT NOT NULL, expires_at_ms INTEGER NOT NULL, used_by TEXT
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE peer (
       node_id TEXT PRIMARY KEY, addresses TEXT NOT NULL, seen_at_ms INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID`,
    'ALTER TABLE peer ADD COLUMN name TEXT',
    OFFER_TABLES,
  ],
}

export interface RememberedPeer {
  readonly nodeId: string
  /** `host:port`. */
  readonly addresses: readonly string[]
  /** What it called itself; `undefined` when it was not heard yet. */
  readonly name?: string | undefined
}

export type JoinFault =
  | { readonly kind: 'unknown-invitation' }
  | { readonly kind: 'used-invitation' }
  | { readonly kind: 'expired-invitation' }
  | { readonly kind: 'wrong-proof' }
  | { readonly kind: 'revoked' }
  | { readonly kind: 'name-taken'; readonly name: string }
  | { readonly kind: 'no-community' }
  | CommunityFault

/**
 * Numbers are reserved in blocks, so that a restart costs one write and never hands a number out twice. A manifest
 * every second would use a block up in thirty years, and a start every second all of them in three months.
 */
const SEQUENCE_BLOCK = 1_000_000_000
const MAX_REMEMBERED = 256
const MAX_INVITATIONS = 256
/** So long after its end an invitation still says why it opens nothing. */
const INVITATION_KEPT_MS = 86_400_000
/** A newer list, of this community, that whoever holds it would go on holding. */
const REFUSED_FOR_GOOD: ReadonlySet<CommunityFault['kind']> = new Set([
  'no-authority',
  'too-far-ahead',
  'forgets-revocation',
])

export class MeshStore {
  readonly offers: OfferStore
  readonly #database: Database
  #community: Community | undefined
  #seenVersion = -1

  constructor(path: string) {
    this.#database = new Database({ path, migrations: [migrations] })
    this.offers = new OfferStore(this.#database)
    this.#community = heldIn(this.#database.sql)
    this.#seenVersion = this.#version()
  }

  /** The newest revision that this process has seen: every message asks for it, so no file is touched. */
  community(): Community | undefined {
    return this.#community
  }

  /** Looks whether another process has written; the gateway does so twice a second. */
  refresh(): void {
    const version = this.#version()
    if (version === this.#seenVersion) return
    this.#seenVersion = version
    this.#community = heldIn(this.#database.sql)
    this.offers.reload()
  }

  /** Joins a community, or replaces the revision that is held if the rules between revisions allow it. */
  async accept(next: Community): Promise<Result<Community, CommunityFault>> {
    const accepted = await this.#database.commit((sql) => acceptIn(sql, next))
    if (accepted.ok) this.#community = accepted.value
    return accepted
  }

  /**
   * As `accept`, for what came from elsewhere: what an anchor decided here and is missing there is decided once more,
   * and a list that the root cannot take is answered with a newer one of its own.
   */
  async merge(
    next: Community,
    context: { readonly authority: Authority; readonly nowMs: number },
  ): Promise<Result<Community, CommunityFault>> {
    const merged = await this.#database.commit((sql) => {
      const held = heldIn(sql)
      const accepted = acceptIn(sql, next)
      if (held === undefined) return accepted
      const isRefused = !accepted.ok && REFUSED_FOR_GOOD.has(accepted.fault.kind)
      const answer = isRefused ? outnumber(held, next, context.authority) : undefined
      const again = accepted.ok ? reapply(held, accepted.value, context) : answer
      return again === undefined ? accepted : acceptIn(sql, again)
    })
    if (merged.ok) this.#community = merged.value
    return merged
  }

  /** One decision about who belongs here, on top of whatever revision is the newest at that moment. */
  async decide(
    change: (community: Community) => Result<Community, CommunityFault>,
  ): Promise<Result<Community, CommunityFault | { readonly kind: 'no-community' }>> {
    const decided = await this.#database.commit((sql) => {
      const held = heldIn(sql)
      if (held === undefined) return fail({ kind: 'no-community' as const })
      const changed = change(held)
      return changed.ok ? acceptIn(sql, changed.value) : changed
    })
    if (decided.ok) this.#community = decided.value
    return decided
  }

  /**
   * Forgets the community and whom it was made of. Which numbers manifests have had stays known: none is used twice.
   */
  async leave(): Promise<void> {
    await this.#database.commit((sql) => {
      sql.exec(`
        DELETE FROM fact WHERE name IN ('community_id', 'community');
        DELETE FROM invitation; DELETE FROM peer; DELETE FROM offer_pin; DELETE FROM offer_withheld`)
    })
    this.offers.reload()
    this.#community = undefined
  }

  async addInvitation({ id, secret, level, expiresAtMs }: Invitation, nowMs: number): Promise<void> {
    await this.#database.commit((sql) => {
      sql.prepare('DELETE FROM invitation WHERE expires_at_ms < ?').run(nowMs - INVITATION_KEPT_MS)
      const count = Number(sql.prepare('SELECT count(*) AS n FROM invitation').get()?.['n'])
      if (count >= MAX_INVITATIONS) throw new RangeError(`${count} invitations are open; let some expire first`)
      sql.prepare('INSERT INTO invitation VALUES (?, ?, ?, ?, NULL)').run(id, secret, level, expiresAtMs)
    })
  }

  /** Checks, uses up and admits in one step: of two who come with one invitation, one comes in. */
  async admitJoiner(
    request: JoinRequest,
    { authority, nowMs }: { readonly authority: Authority; readonly nowMs: number },
  ): Promise<Result<Community, JoinFault>> {
    const admitted = await this.#database.commit((sql): Result<Community, JoinFault> => {
      const row = sql.prepare('SELECT * FROM invitation WHERE id = ?').get(request.invitationId)
      const held = heldIn(sql)
      if (held === undefined) return fail({ kind: 'no-community' })
      if (row === undefined) return fail({ kind: 'unknown-invitation' })
      if (!isProven(request, row['secret'] as Uint8Array)) return fail({ kind: 'wrong-proof' })
      const standing = standingOf(held, request.nodeId)
      if (standing.kind === 'revoked') return fail({ kind: 'revoked' })
      // The answer to the first try was lost: it is in, and hears so again.
      if (row['used_by'] === request.nodeId && standing.kind === 'member') return ok(held)
      if (row['used_by'] !== null) return fail({ kind: 'used-invitation' })
      if (Number(row['expires_at_ms']) < nowMs) return fail({ kind: 'expired-invitation' })
      for (const member of held.members.values())
        if (member.name === request.name && member.nodeId !== request.nodeId)
          return fail({ kind: 'name-taken', name: request.name })
      const member = { nodeId: request.nodeId, name: request.name, level: row['level'] as Level }
      const changed = withMember(held, member, { authority, nowMs })
      if (!changed.ok) return changed
      sql.prepare('UPDATE invitation SET used_by = ? WHERE id = ?').run(request.nodeId, request.invitationId)
      return acceptIn(sql, changed.value)
    })
    if (admitted.ok) this.#community = admitted.value
    return admitted
  }

  /** The first of a block of numbers that nobody has had before. */
  async reserveSequence(): Promise<number> {
    return this.#database.commit((sql) => {
      const first = Number(factIn(sql, 'sequence') ?? 0)
      setFact(sql, 'sequence', String(first + SEQUENCE_BLOCK))
      return first + 1
    })
  }

  async setAddresses(addresses: readonly string[]): Promise<void> {
    await this.#database.commit((sql) => setFact(sql, 'addresses', JSON.stringify(addresses)))
  }

  /** Where this node listens, as the gateway last found out. */
  addresses(): readonly string[] {
    return JSON.parse(factIn(this.#database.sql, 'addresses') ?? '[]') as string[]
  }

  async remember(peers: readonly RememberedPeer[], nowMs: number): Promise<void> {
    if (peers.length === 0) return
    await this.#database.commit((sql) => {
      const put = sql.prepare('INSERT OR REPLACE INTO peer VALUES (?, ?, ?, ?)')
      for (const { nodeId, addresses, name } of peers) put.run(nodeId, JSON.stringify(addresses), nowMs, name ?? null)
      sql
        .prepare('DELETE FROM peer WHERE node_id NOT IN (SELECT node_id FROM peer ORDER BY seen_at_ms DESC LIMIT ?)')
        .run(MAX_REMEMBERED)
    })
  }

  remembered(): readonly RememberedPeer[] {
    return this.#database.sql
      .prepare('SELECT node_id, addresses, name FROM peer ORDER BY seen_at_ms DESC')
      .all()
      .map(({ node_id: nodeId, addresses, name }) => ({
        nodeId: String(nodeId),
        addresses: JSON.parse(String(addresses)) as string[],
        name: typeof name === 'string' ? name : undefined,
      }))
  }

  close(): void {
    this.#database.close()
  }

  #version(): number {
    return Number(this.#database.sql.prepare('PRAGMA data_version').get()?.['data_version'])
  }
}

function acceptIn(sql: DatabaseSync, next: Community): Result<Community, CommunityFault> {
  const held = heldIn(sql)
  if (held !== undefined && held.id !== next.id) return fail({ kind: 'foreign', id: next.id })
  // Whoever made it: what cannot be read again must not be written, or the next start fails.
  const read = readCommunity(next.document, next.id)
  if (!read.ok) return read
  const accepted = held === undefined ? ok(next) : supersede(held, next)
  if (accepted.ok) {
    setFact(sql, 'community_id', next.id)
    setFact(sql, 'community', JSON.stringify(next.document))
  }
  return accepted
}

function heldIn(sql: DatabaseSync): Community | undefined {
  const [id, text] = [factIn(sql, 'community_id'), factIn(sql, 'community')]
  if (id === undefined || text === undefined) return undefined
  const read = readCommunity(JSON.parse(text), id)
  // Our own file: whatever is in it was proven before it was written.
  if (!read.ok) throw new Error(`the member list in the mesh database cannot be read (${read.fault.kind})`)
  return read.value
}

function factIn(sql: DatabaseSync, name: string): string | undefined {
  const row = sql.prepare('SELECT value FROM fact WHERE name = ?').get(name)
  return row === undefined ? undefined : String(row['value'])
}

function setFact(sql: DatabaseSync, name: string, value: string): void {
  sql.prepare('INSERT OR REPLACE INTO fact VALUES (?, ?)').run(name, value)
}
