/**
 * Entry content verification: hashes in an entry, compared with the body that the entry commits to. `body_hash` shows
 * that the body is the one that was recorded; these hashes show that entry and body say the same.
 *
 *   call.enter   args_hash = hex SHA-256(salt ‖ canonical args), both in its body
 *   call.exit    result_hash = hex SHA-256(salt of the enter ‖ canonical result), unless the stored result is abridged
 *   other kinds  the function of the kind in a projection (`bodyChecks`)
 */
import { hash } from 'node:crypto'
import { fromHex } from '../core/bytes.ts'
import { canonicalJson, isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { CALL_ENTER_KIND, readEndedCallSeq } from './call-entry.ts'
import type { LedgerEntry } from './entry.ts'
import type { EntryBodyContradictionCheck, UntypedProjection } from './projection.ts'

/** What stands in a stored result in place of a secret, or of what was too long (guard/redaction.ts). */
const ABRIDGED = /\[(?:redacted|cut)\b/
const SALT = /^[0-9a-f]{32}$/

export class EntryContentVerification {
  /** By kind. */
  readonly #checks = new Map<string, EntryBodyContradictionCheck[]>()
  /** The salts of the calls that are open, by entry. */
  readonly #salts = new Map<number, string>()

  constructor(projections: readonly UntypedProjection[] = []) {
    for (const { bodyChecks = {} } of projections)
      for (const [kind, check] of Object.entries(bodyChecks))
        this.#checks.set(kind, [...(this.#checks.get(kind) ?? []), check])
  }

  /**
   * Why an entry and the body that it commits to contradict each other, in a few words; `undefined` if they agree, or
   * the body was erased or withheld.
   */
  explainContradiction(entry: LedgerEntry, body: Json | undefined): string | undefined {
    // A body that is no object has none of the parts that hashes are of.
    const words = body === undefined || isJsonObject(body) ? body : {}
    if (entry.kind === CALL_ENTER_KIND) return this.#enter(entry, words)
    const ended = readEndedCallSeq(entry)
    if (ended !== undefined) return this.#end(entry, ended, words)
    if (words === undefined) return undefined
    for (const check of this.#checks.get(entry.kind) ?? []) {
      const why = check(entry, words)
      if (why !== undefined) return why
    }
    return undefined
  }

  #enter(entry: LedgerEntry, body: JsonObject | undefined): string | undefined {
    if (body === undefined || entry['args_hash'] === undefined) return undefined
    const { salt, args } = body
    if (typeof salt !== 'string' || !SALT.test(salt)) return 'there is no salt beside the arguments'
    this.#salts.set(entry.seq, salt)
    return entry['args_hash'] === saltedHash(salt, args) ? undefined : 'args_hash is not that of the arguments'
  }

  #end(entry: LedgerEntry, call: number, body: JsonObject | undefined): string | undefined {
    const salt = this.#salts.get(call)
    this.#salts.delete(call)
    const result = body?.['result']
    if (salt === undefined || result === undefined || entry['result_hash'] === saltedHash(salt, result))
      return undefined
    return ABRIDGED.test(canonicalJson(result)) ? undefined : 'result_hash is not that of the result'
  }
}

function saltedHash(salt: string, value: Json | undefined): string {
  return hash('sha256', Buffer.concat([fromHex(salt), Buffer.from(canonicalJson(value ?? null))]))
}
