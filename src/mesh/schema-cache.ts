/**
 * Schema cache: contracts by their hash. A hash never changes its meaning, so what is known is known for good, from
 * whichever node it came; what does not have the hash it came under is not kept.
 *
 * Pure.
 */
import type { PeerCapability, PeerSchemas } from '../bus/peer.ts'
import { schemaHash } from '../bus/schema-hash.ts'

const MAX_CONTRACTS = 4_096
/** Characters of all that is kept here, and of one contract: the bus takes none that is larger. */
const MAX_LENGTH = 16_777_216
const MAX_CONTRACT_LENGTH = 524_288

export class SchemaCache {
  readonly #byHash = new Map<string, PeerSchemas>()
  /** Also of those that are not kept any more, and that somebody else holds. */
  readonly #lengths = new WeakMap<PeerSchemas, number>()
  #length = 0

  find(hash: string): PeerSchemas | undefined {
    return this.#byHash.get(hash)
  }

  /** How many characters these contracts have, as far as they are known. */
  lengthOf(capabilities: readonly Pick<PeerCapability, 'schemas' | 'schemaHash'>[]): number {
    let length = 0
    for (const { schemas, schemaHash: hash } of capabilities) length += this.#lengthOf(schemas ?? this.find(hash))
    return length
  }

  /** `false` when the schemas are not those of the hash that the capability announces, or too long to be any. */
  keep(capability: Pick<PeerCapability, 'name' | 'version' | 'schemaHash'>, schemas: PeerSchemas): boolean {
    const { request, response, stream } = schemas
    const contract = {
      name: capability.name,
      version: capability.version,
      requestSchema: request,
      responseSchema: response,
      streamSchema: stream,
    }
    const { length } = JSON.stringify(schemas)
    if (length > MAX_CONTRACT_LENGTH || hashOrNothing(contract) !== capability.schemaHash) return false
    this.#forget(capability.schemaHash)
    this.#lengths.set(schemas, length)
    this.#length += length
    this.#byHash.set(capability.schemaHash, schemas)
    for (const oldest of this.#byHash.keys()) {
      if (this.#byHash.size <= MAX_CONTRACTS && this.#length <= MAX_LENGTH) break
      this.#forget(oldest)
    }
    return true
  }

  #forget(hash: string): void {
    this.#length -= this.#lengthOf(this.#byHash.get(hash))
    this.#byHash.delete(hash)
  }

  #lengthOf(schemas: PeerSchemas | undefined): number {
    return schemas === undefined ? 0 : (this.#lengths.get(schemas) ?? 0)
  }
}

function hashOrNothing(contract: Parameters<typeof schemaHash>[0]): string | undefined {
  try {
    return schemaHash(contract)
  } catch {
    // A stranger's JSON can hold what canonical JSON cannot say.
    return undefined
  }
}
