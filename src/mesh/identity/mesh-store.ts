/**
 * Mesh store: what a node stores about its community, in a small separate database, so that the gateway and a command
 * beside it can both write without overwriting each other's changes.
 *
 *   community     every proven membership record (community-store.ts)
 *   invitation    invitations that this node issued, with secret and user (invitation-store.ts)
 *   peer          where other nodes were last reached, and their names (peer-address-store.ts)
 *   offer_…       withheld offers of other nodes, and those that a person accepted (offer-pin-store.ts)
 *   fact          how far the sequence of manifests is reserved; where this node listens
 *
 * A program that can write into the file must not be able to admit a node: the member list and every invitation are
 * sealed with a key that is derived from the node's own, and the node's log has the newest revision of the list and the
 * used invitations (membership-log.ts). Nor must it be able to have a definition used that nobody accepted: the pins
 * are in the log (offer-pin-log.ts).
 */
import type { DatabaseSync } from 'node:sqlite'
import { findAlteredSchema } from '../../core/database-schema-check-store.ts'
import { Database } from '../../core/database-store.ts'
import type { ModuleMigrations } from '../../core/database-store.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { revokeMembersByReusedInvitation, admitMember } from './community.ts'
import type { CommunitySigningIdentities, Community, CommunityFault } from './community.ts'
import type { JoinRequest } from './invitation.ts'
import { InvitationStore } from './invitation-store.ts'
import type { OfferPinLog } from './offer-pin-log.ts'
import { CREATE_OFFER_TABLES_SQL, OfferPinStore, REPLACE_OFFER_TABLES_SQL } from './offer-pin-store.ts'
import { PeerAddressStore, parseAddressList } from './peer-address-store.ts'
import { RowMacAuthenticator } from './row-mac-authenticator.ts'
import type { MembershipLog } from './membership-log.ts'
import { MembershipAlteredError, readStoredCommunity, acceptCommunity } from './community-store.ts'
import type { JoinFault, UsableInvitation } from './join-admission.ts'
import { findUsableInvitation } from './join-admission.ts'
import { writeMeshFact, readMeshFact } from './mesh-fact-store.ts'

export const meshMigrations: ModuleMigrations = {
  module: 'mesh',
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

/**
 * Numbers are reserved in blocks, so that a restart costs one write and no number is used twice. With a manifest every
 * second a block lasts thirty years, and with a start every second the blocks last three months.
 */
const SEQUENCE_BLOCK = 1_000_000_000

export interface MeshStoreOptions {
  /** Derived from the node's private key. */
  readonly sealKey: Uint8Array
  /** Absent for a command beside the gateway, because the gateway uses the log exclusively. */
  readonly log?: MembershipLog
  /** Absent for the same reason. */
  readonly offerLog?: OfferPinLog
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

  /** Throws `MembershipAlteredError` when another program wrote the member list. */
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

  /** The community as this process last read it: every message needs it, so no file is read. */
  community(): Community | undefined {
    return this.#community
  }

  /** Checks whether another process has written; the gateway calls it twice a second. */
  refresh(): void {
    const version = this.#version()
    if (version === this.#seenVersion) return
    this.#seenVersion = version
    // An attempt that fails is repeated at the next write, and at the next start.
    void this.offers.takeAcceptances().catch(() => undefined)
    this.#checkSchema()
    try {
      this.#community = this.#held(this.#database.sql)
    } catch (error) {
      if (!(error instanceof MembershipAlteredError)) throw error
      // A list that another program wrote is not used: the known list stays, and the next start is refused.
      void this.#log?.altered().catch(() => undefined)
      return
    }
    if (this.#community !== undefined) this.#record(this.#community)
  }

  /** Records the known list, and what a person accepted meanwhile, before the first message. */
  async recordHeld(): Promise<void> {
    await this.offers.takeAcceptances()
    if (this.#community !== undefined) await this.#log?.record(this.#community)
  }

  /** Joins a community, or adds records that are not known yet. */
  async accept(next: Community): Promise<Result<Community, CommunityFault>> {
    const accepted = await this.#database.commit((sql) => this.#accept(sql, next))
    return this.#settled(accepted)
  }

  /**
   * Like `accept`, for records from another node: an issuer that learns of an earlier use of its invitation revokes the
   * later one.
   */
  async merge(
    next: Community,
    context: { readonly authority: CommunitySigningIdentities; readonly nowMs: number },
  ): Promise<Result<Community, CommunityFault>> {
    const merged = await this.#database.commit((sql) => {
      const accepted = this.#accept(sql, next)
      if (!accepted.ok) return accepted
      const settled = revokeMembersByReusedInvitation(accepted.value, context)
      return settled === accepted.value ? accepted : this.#accept(sql, settled)
    })
    return this.#settled(merged)
  }

  /** Adds one membership decision to the records that are known at that moment. */
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
   * Deletes the community and its members. The used sequence numbers of manifests are kept, because none may be used
   * twice.
   */
  async leave(): Promise<void> {
    await this.#database.commit((sql) => {
      sql.exec(`
        DELETE FROM fact WHERE name IN ('community_id', 'community', 'community_seal');
        DELETE FROM invitation; DELETE FROM peer; DELETE FROM offer_acceptance; DELETE FROM offer_withheld`)
    })
    this.#community = undefined
  }

  /**
   * Checks the invitation, marks it as used and admits the node in one step: of two nodes with one invitation, one is
   * admitted.
   */
  async admitJoiner(
    request: JoinRequest,
    { authority, nowMs }: { readonly authority: CommunitySigningIdentities; readonly nowMs: number },
  ): Promise<Result<Community, JoinFault>> {
    const context = { authority, nowMs }
    // The use is recorded before the node is admitted, so an invitation that somebody restores in the database cannot
    // be used again.
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

  #findInvitation(sql: DatabaseSync, request: JoinRequest, nowMs: number): Result<UsableInvitation, JoinFault> {
    return findUsableInvitation(request, {
      held: this.#held(sql),
      invitation: this.invitations.find(sql, request.invitationId),
      loggedUser: this.#log?.usedBy(request.invitationId),
      nowMs,
    })
  }

  /** The first number of a block of numbers that was never used. */
  async reserveSequence(): Promise<number> {
    return this.#database.commit((sql) => {
      const first = readSequence(sql)
      writeMeshFact(sql, 'sequence', String(first + SEQUENCE_BLOCK))
      return first + 1
    })
  }

  async setAddresses(addresses: readonly string[]): Promise<void> {
    await this.#database.commit((sql) => writeMeshFact(sql, 'addresses', JSON.stringify(addresses)))
  }

  /** The addresses at which this node listens, as the gateway last found them. */
  addresses(): readonly string[] {
    return parseAddressList(readMeshFact(this.#database.sql, 'addresses') ?? '[]')
  }

  close(): void {
    this.#database.close()
  }

  #held(sql: DatabaseSync): Community | undefined {
    return readStoredCommunity(sql, { seal: this.#seal, log: this.#log })
  }

  #accept(sql: DatabaseSync, next: Community): Result<Community, CommunityFault> {
    return acceptCommunity(sql, next, { seal: this.#seal, log: this.#log })
  }

  #settled<Fault>(decided: Result<Community, Fault>): Result<Community, Fault> {
    if (!decided.ok) return decided
    this.#community = decided.value
    this.#record(decided.value)
    return decided
  }

  /** Not awaited: a list that was rolled back before it was recorded would be received again from other nodes. */
  #record(community: Community): void {
    void this.#log?.record(community).catch(() => undefined)
  }

  /** A running node makes no decision from an added table or trigger; the next start refuses it. */
  #checkSchema(): void {
    const isForeign = findAlteredSchema(this.#database.sql, [meshMigrations]).length > 0
    if (isForeign && !this.#hasForeignSchema) void this.#log?.altered().catch(() => undefined)
    this.#hasForeignSchema = isForeign
  }

  #version(): number {
    return this.#database.foreignWrites()
  }
}

/** Peers ignore a manifest whose number is not above the last one, so an invalid number must not be used. */
function readSequence(sql: DatabaseSync): number {
  const sequence = Number(readMeshFact(sql, 'sequence') ?? 0)
  if (!Number.isSafeInteger(sequence + SEQUENCE_BLOCK) || sequence < 0)
    throw new MembershipAlteredError('the number of its last manifest cannot be read')
  return sequence
}
