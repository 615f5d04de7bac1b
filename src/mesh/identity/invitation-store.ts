/**
 * Invitation store: the invitations that this node issued, with their secrets and users. Each row is sealed; one that
 * another program wrote to the file is ignored.
 */
import type { DatabaseSync } from 'node:sqlite'
import { toHex } from '../../core/bytes.ts'
import type { Database } from '../../core/database-store.ts'
import { readRowsRoundingUnsafeIntegers } from '../../core/sqlite-row-store.ts'
import type { Invitation } from './invitation.ts'
import type { RowMacAuthenticator } from './row-mac-authenticator.ts'

export interface StoredInvitation extends Pick<Invitation, 'id' | 'secret' | 'level' | 'expiresAtMs'> {
  readonly usedBy: string | null
}

const MAX_INVITATIONS = 256
/** For this time after its end, an invitation is kept so that its user gets the right reason. */
const KEPT_MS = 86_400_000

export class InvitationStore {
  readonly #database: Database
  readonly #seal: RowMacAuthenticator

  constructor(database: Database, seal: RowMacAuthenticator) {
    this.#database = database
    this.#seal = seal
  }

  async add({ id, secret, level, expiresAtMs }: Invitation, nowMs: number): Promise<void> {
    await this.#database.commit((sql) => {
      sql.prepare('DELETE FROM invitation WHERE expires_at_ms < ?').run(nowMs - KEPT_MS)
      const count = Number(sql.prepare('SELECT count(*) AS n FROM invitation').get()?.['n'])
      if (count >= MAX_INVITATIONS) throw new RangeError(`${count} invitations are open; let some expire first`)
      const seal = this.#seal.create(toSealedFacts({ id, secret, level, expiresAtMs, usedBy: null }))
      sql.prepare('INSERT INTO invitation VALUES (?, ?, ?, ?, NULL, ?)').run(id, secret, level, expiresAtMs, seal)
    })
  }

  /** Also `undefined` for a row that this node did not seal. */
  find(sql: DatabaseSync, id: string): StoredInvitation | undefined {
    const [row] = readRowsRoundingUnsafeIntegers(sql.prepare('SELECT * FROM invitation WHERE id = ?'), id)
    if (row === undefined) return undefined
    const { secret, level, used_by: usedBy } = row
    const invitation: StoredInvitation = {
      id,
      secret: secret as Uint8Array,
      level: level as Invitation['level'],
      expiresAtMs: Number(row['expires_at_ms']),
      usedBy: typeof usedBy === 'string' ? usedBy : null,
    }
    return this.#seal.isValid(toSealedFacts(invitation), row['seal']) ? invitation : undefined
  }

  markUsed(sql: DatabaseSync, invitation: StoredInvitation, usedBy: string): void {
    const seal = this.#seal.create(toSealedFacts({ ...invitation, usedBy }))
    sql.prepare('UPDATE invitation SET used_by = ?, seal = ? WHERE id = ?').run(usedBy, seal, invitation.id)
  }
}

function toSealedFacts({
  id,
  secret,
  level,
  expiresAtMs,
  usedBy,
}: StoredInvitation): readonly (string | number | null)[] {
  return [id, toHex(secret), level, expiresAtMs, usedBy]
}
