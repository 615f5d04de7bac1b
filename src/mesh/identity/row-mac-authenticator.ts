/** Row MAC authenticator: an HMAC with a key of this node, which shows that the node itself wrote a database row. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { canonicalJson } from '../../core/json.ts'

type SealedFacts = readonly (string | number | null)[]

export class RowMacAuthenticator {
  readonly #key: Uint8Array

  constructor(key: Uint8Array) {
    this.#key = key
  }

  create(facts: SealedFacts): Uint8Array {
    return createHmac('sha256', this.#key).update(canonicalJson(facts)).digest()
  }

  isValid(facts: SealedFacts, seal: unknown): boolean {
    const expected = this.create(facts)
    return seal instanceof Uint8Array && seal.length === expected.length && timingSafeEqual(seal, expected)
  }
}
