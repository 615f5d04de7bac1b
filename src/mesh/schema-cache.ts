/**
 * Schema cache: contracts by their hash. A hash never changes its meaning, so what is known is known for good, from
 * whichever node it came; what does not have the hash it came under is not kept.
 */
import type { PeerCapability, PeerSchemas } from '../bus/peer.ts'
import { rebuildPeerContractSchemas } from '../bus/untrusted-peer-schemas.ts'

const MAX_CONTRACTS = 4_096
/** Characters of all that is kept here, and of one contract: the bus takes none that is larger. */
const MAX_LENGTH = 16_777_216
const MAX_CONTRACT_LENGTH = 262_144

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
    const length = lengthIn(schemas)
    if (length === undefined || length > MAX_CONTRACT_LENGTH) return false
    // Read here, one by one as they come; the bus finds them read. Those that are refused are kept, too: with the reason.
    const read = rebuildPeerContractSchemas(capability, schemas)
    if (!read.ok && read.fault.code === 'schema_mismatch') return false
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

/** `undefined` where it is nested deeper than the stack. */
function lengthIn(schemas: PeerSchemas): number | undefined {
  try {
    return JSON.stringify(schemas).length
  } catch {
    return undefined
  }
}
