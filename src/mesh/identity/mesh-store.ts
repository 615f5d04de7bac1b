/**
 * Mesh store: what a node remembers of its community, in a small database of its own, so that the gateway and a command
 * beside it can both write without undoing each other's work.
 *
 *   community     every record about who belongs here that was proven
 *   invitation    what was given out here, with its secret, and who used it (invitation-store.ts)
 *   peer          where others were last reached, and what they were called (peer-address-store.ts)
 *   offer_…       what is withheld of others' offers, and what a person accepted of it (offer-store.ts)
 *   fact          how far the sequence of manifests is reserved; where this node listens
 *
 * Whoever can write into the file must not be able to let anybody in: the member list and every invitation are sealed
 * with a key that is derived from the node's own, and the node's log says how far the list had come and which
 * invitations were used (membership-log.ts). Nor must they be able to have a definition taken that nobody accepted:
 * what is pinned is in the log (offer-log.ts).
 */
import type { DatabaseSync } from 'node:sqlite'
import { findAlteredSchema } from '../../core/database-schema-store.ts'
import { Database } from '../../core/database-store.ts'
import type { ModuleMigrations } from '../../core/database-store.ts'
import { toHex } from '../../core/bytes.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import {
  mergeCommunities,
  parseCommunityDocument,
  revokeMembersByReusedInvitation,
  findMemberStanding,
  admitMember,
} from './community.ts'
import type { CommunitySigner, Community, CommunityFault } from './community.ts'
import { isJoinRequestProven } from './invitation.ts'
import type { JoinRequest } from './invitation.ts'
import { InvitationStore } from './invitation-store.ts'
import type { StoredInvitation } from './invitation-store.ts'
import type { OfferLog } from './offer-log.ts'
import { CREATE_OFFER_TABLES_SQL, OfferPinStore, REPLACE_OFFER_TABLES_SQL } from './offer-store.ts'
import { PeerAddressStore, parseAddressList } from './peer-address-store.ts'
import { RowMacAuthenticator } from './row-mac-authenticator.ts'
import { explainMembershipRollback } from './membership-log.ts'
import type { MembershipLog } from './membership-log.ts'

export const meshMigrations: ModuleMigrations = {
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
    CREATE_OFFER_TABLES_SQL,
    // What is not sealed with this node's key was written by somebody else.
    'ALTER TABLE invitation ADD COLUMN seal BLOB',
    REPLACE_OFFER_TABLES_SQL,
  ],
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

export interface MeshStoreOptions {
  /** Derived from the node's private key. */
  readonly sealKey: Uint8Array
  /** Absent for a command beside the gateway, which has the log to itself. */
  readonly log?: MembershipLog
  /** Absent likewise. */
  readonly offerLog?: OfferLog
}

/** The message says what to do. */
export class MembershipAlteredError extends Error {
  constructor(why: string) {
    super(
      `The member list in the mesh database is not the one that this node keeps: ${why}. Put back the newest copy of mesh.db; if it is lost, remove the file and join the community again (hearthbus mesh join).`,
    )
  }
}

export class MeshStore {
  readonly offers: OfferPinStore
  readonly peers: PeerAddressStore
  readonly invitations: InvitationStore
  readonly #database: Database
  readonly #seal: RowMacAuthenticator
  readonly #log: MembershipLog | undefined
  #community: Community | undefined
  #seenVersion = -1
  #hasForeignSchema = false

  /** Throws `MembershipAlteredError` when somebody else wrote the member list. */
  constructor(path: string, { sealKey, log, offerLog }: MeshStoreOptions) {
    this.#database = new Database({ path, migrations: [meshMigrations], isWhole: true })
    this.#seal = new RowMacAuthenticator(sealKey)
    const altered = (): Promise<void> => log?.altered() ?? Promise.resolve()
    this.offers = new OfferPinStore({ database: this.#database, seal: this.#seal, log: offerLog, altered })
    this.peers = new PeerAddressStore(this.#database)
    this.invitations = new InvitationStore(this.#database, this.#seal)
    this.#log = log
    try {
      this.#community = this.#held(this.#database.sql)
      readSequence(this.#database.sql)
    } catch (error) {
      this.#database.close()
      throw error
    }
    this.#seenVersion = this.#version()
  }

  /** As this process has seen it last: every message asks for it, so no file is touched. */
  community(): Community | undefined {
    return this.#community
  }

  /** Looks whether another process has written; the gateway does so twice a second. */
  refresh(): void {
    const version = this.#version()
    if (version === this.#seenVersion) return
    this.#seenVersion = version
    // What fails is tried again when somebody writes, and at the next start.
    void this.offers.takeAcceptances().catch(() => undefined)
    this.#checkSchema()
    try {
      this.#community = this.#held(this.#database.sql)
    } catch (error) {
      if (!(error instanceof MembershipAlteredError)) throw error
      // What somebody else wrote is not believed: the list that is known stays, and the next start refuses.
      void this.#log?.altered().catch(() => undefined)
      return
    }
    if (this.#community !== undefined) this.#record(this.#community)
  }

  /** What is held, and what a person accepted meanwhile, goes on record before the first message. */
  async recordHeld(): Promise<void> {
    await this.offers.takeAcceptances()
    if (this.#community !== undefined) await this.#log?.record(this.#community)
  }

  /** Joins a community, or adds what is not held yet. */
  async accept(next: Community): Promise<Result<Community, CommunityFault>> {
    const accepted = await this.#database.commit((sql) => this.#accept(sql, next))
    return this.#settled(accepted)
  }

  /** As `accept`, for what came from elsewhere: an issuer that hears of an earlier use of its invitation acts on it. */
  async merge(
    next: Community,
    context: { readonly authority: CommunitySigner; readonly nowMs: number },
  ): Promise<Result<Community, CommunityFault>> {
    const merged = await this.#database.commit((sql) => {
      const accepted = this.#accept(sql, next)
      if (!accepted.ok) return accepted
      const settled = revokeMembersByReusedInvitation(accepted.value, context)
      return settled === accepted.value ? accepted : this.#accept(sql, settled)
    })
    return this.#settled(merged)
  }

  /** One decision about who belongs here, on top of what is held at that moment. */
  async decide(
    change: (community: Community) => Result<Community, CommunityFault>,
  ): Promise<Result<Community, CommunityFault | { readonly kind: 'no-community' }>> {
    const decided = await this.#database.commit((sql) => {
      const held = this.#held(sql)
      if (held === undefined) return fail({ kind: 'no-community' as const })
      const changed = change(held)
      return changed.ok ? this.#accept(sql, changed.value) : changed
    })
    return this.#settled<CommunityFault | { readonly kind: 'no-community' }>(decided)
  }

  /**
   * Forgets the community and whom it was made of. Which numbers manifests have had stays known: none is used twice.
   */
  async leave(): Promise<void> {
    await this.#database.commit((sql) => {
      sql.exec(`
        DELETE FROM fact WHERE name IN ('community_id', 'community', 'community_seal');
        DELETE FROM invitation; DELETE FROM peer; DELETE FROM offer_acceptance; DELETE FROM offer_withheld`)
    })
    this.#community = undefined
  }

  /** Checks, uses up and admits in one step: of two who come with one invitation, one comes in. */
  async admitJoiner(
    request: JoinRequest,
    { authority, nowMs }: { readonly authority: CommunitySigner; readonly nowMs: number },
  ): Promise<Result<Community, JoinFault>> {
    const context = { authority, nowMs }
    // On record before anybody is let in: an invitation that somebody puts back is not good a second time.
    const found = this.#findInvitation(this.#database.sql, request, nowMs)
    if (!found.ok) return found
    if (found.value.invitation === undefined) return ok(this.#community ?? found.value.held)
    try {
      await this.#log?.use(request.invitationId, request.nodeId)
    } catch {
      return fail({ kind: 'used-invitation' })
    }
    const admitted = await this.#database.commit((sql): Result<Community, JoinFault> => {
      const again = this.#findInvitation(sql, request, nowMs)
      if (!again.ok) return again
      const { held, invitation } = again.value
      if (invitation === undefined) return ok(held)
      const { nodeId, name } = request
      const member = { nodeId, name, level: invitation.level, invitation: invitation.id }
      const changed = admitMember(held, member, context)
      if (!changed.ok) return changed
      this.invitations.markUsed(sql, invitation, nodeId)
      return this.#accept(sql, changed.value)
    })
    return this.#settled(admitted)
  }

  /** The invitation if it is good for this node; `undefined` beside the members where it brought this node in before. */
  #findInvitation(
    sql: DatabaseSync,
    request: JoinRequest,
    nowMs: number,
  ): Result<{ readonly held: Community; readonly invitation: StoredInvitation | undefined }, JoinFault> {
    const held = this.#held(sql)
    if (held === undefined) return fail({ kind: 'no-community' })
    const invitation = this.invitations.find(sql, request.invitationId)
    if (invitation === undefined) return fail({ kind: 'unknown-invitation' })
    if (!isJoinRequestProven(request, invitation.secret)) return fail({ kind: 'wrong-proof' })
    const standing = findMemberStanding(held, request.nodeId)
    if (standing.kind === 'revoked') return fail({ kind: 'revoked' })
    // The members know of a use that an older copy of this database and of the log does not.
    const [use] = held.invitations.get(request.invitationId) ?? []
    const usedBy = use?.nodeId ?? this.#log?.usedBy(request.invitationId) ?? invitation.usedBy
    // The answer to the first try was lost: it is in, and hears so again.
    if (usedBy === request.nodeId && standing.kind === 'member') return ok({ held, invitation: undefined })
    if (usedBy !== null && usedBy !== request.nodeId) return fail({ kind: 'used-invitation' })
    if (invitation.usedBy !== null) return fail({ kind: 'used-invitation' })
    if (invitation.expiresAtMs < nowMs) return fail({ kind: 'expired-invitation' })
    for (const member of held.members.values())
      if (member.name === request.name && member.nodeId !== request.nodeId)
        return fail({ kind: 'name-taken', name: request.name })
    return ok({ held, invitation })
  }

  /** The first of a block of numbers that nobody has had before. */
  async reserveSequence(): Promise<number> {
    return this.#database.commit((sql) => {
      const first = readSequence(sql)
      setFact(sql, 'sequence', String(first + SEQUENCE_BLOCK))
      return first + 1
    })
  }

  async setAddresses(addresses: readonly string[]): Promise<void> {
    await this.#database.commit((sql) => setFact(sql, 'addresses', JSON.stringify(addresses)))
  }

  /** Where this node listens, as the gateway last found out. */
  addresses(): readonly string[] {
    return parseAddressList(factIn(this.#database.sql, 'addresses') ?? '[]')
  }

  close(): void {
    this.#database.close()
  }

  #held(sql: DatabaseSync): Community | undefined {
    return readHeldCommunity(sql, { seal: this.#seal, log: this.#log })
  }

  #accept(sql: DatabaseSync, next: Community): Result<Community, CommunityFault> {
    const held = this.#held(sql)
    if (held !== undefined && held.id !== next.id) return fail({ kind: 'foreign', id: next.id })
    // Whoever made it: what cannot be read again must not be written, or the next start fails.
    const read = parseCommunityDocument(next.document, next.id)
    if (!read.ok) return read
    const accepted = held === undefined ? ok(read.value) : mergeCommunities(held, read.value)
    if (accepted.ok) {
      const { id, document } = accepted.value
      const text = JSON.stringify(document)
      setFact(sql, 'community_id', id)
      setFact(sql, 'community', text)
      setFact(sql, 'community_seal', toHex(this.#seal.create([id, text])))
    }
    return accepted
  }

  #settled<Fault>(decided: Result<Community, Fault>): Result<Community, Fault> {
    if (!decided.ok) return decided
    this.#community = decided.value
    this.#record(decided.value)
    return decided
  }

  /** Not waited for: a list that was set back before it was on record is one that this node would hear of again. */
  #record(community: Community): void {
    void this.#log?.record(community).catch(() => undefined)
  }

  /** A running node decides nothing from what was added; the next start refuses it. */
  #checkSchema(): void {
    const isForeign = findAlteredSchema(this.#database.sql, [meshMigrations]).length > 0
    if (isForeign && !this.#hasForeignSchema) void this.#log?.altered().catch(() => undefined)
    this.#hasForeignSchema = isForeign
  }

  #version(): number {
    return this.#database.foreignWrites()
  }
}

/** Throws `MembershipAlteredError` when somebody else wrote the member list. */
export function readHeldCommunity(
  sql: DatabaseSync,
  { seal, log }: { readonly seal: RowMacAuthenticator; readonly log: Pick<MembershipLog, 'newest'> | undefined },
): Community | undefined {
  const [id, text] = [factIn(sql, 'community_id'), factIn(sql, 'community')]
  if (id === undefined || text === undefined) return undefined
  const sealed = factIn(sql, 'community_seal')
  if (sealed === undefined || !seal.isValid([id, text], Buffer.from(sealed, 'hex')))
    throw new MembershipAlteredError('it does not bear this node’s seal')
  const read = parseCommunityDocument(JSON.parse(text), id)
  // Our own file: whatever is in it was proven before it was written.
  if (!read.ok) throw new Error(`the member list in the mesh database cannot be read (${read.fault.kind})`)
  const why = explainMembershipRollback(read.value, log)
  if (why !== undefined) throw new MembershipAlteredError(why)
  return read.value
}

/** Peers ignore a manifest whose number is not above the last one: none can follow a number that is none. */
function readSequence(sql: DatabaseSync): number {
  const sequence = Number(factIn(sql, 'sequence') ?? 0)
  if (!Number.isSafeInteger(sequence + SEQUENCE_BLOCK) || sequence < 0)
    throw new MembershipAlteredError('the number of its last manifest cannot be read')
  return sequence
}

function factIn(sql: DatabaseSync, name: string): string | undefined {
  const row = sql.prepare('SELECT value FROM fact WHERE name = ?').get(name)
  return row === undefined ? undefined : String(row['value'])
}

function setFact(sql: DatabaseSync, name: string, value: string): void {
  sql.prepare('INSERT OR REPLACE INTO fact VALUES (?, ?)').run(name, value)
}
