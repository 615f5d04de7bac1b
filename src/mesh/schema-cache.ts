/**
 * Schema cache: contracts by their hash. A hash always means the same contract, so a contract can be kept whichever
 * node sent it. A contract with another hash than announced is not kept.
 */
import type { PeerCapability, PeerSchemas } from '../bus/peer.ts'
import { rebuildPeerContractSchemas } from '../bus/untrusted-peer-schemas.ts'

const MAX_CONTRACTS = 4_096
/** The limit for the characters of all contracts, and the limit for one; the bus accepts none that is larger. */
const MAX_LENGTH = 16_777_216
const MAX_CONTRACT_LENGTH = 262_144

export class PeerSchemaCache {
  readonly #byHash = new Map<string, PeerSchemas>()
  /** Also contains contracts that are no longer in the cache but still used elsewhere. */
  readonly #lengths = new WeakMap<PeerSchemas, number>()
  #length = 0

  find(hash: string): PeerSchemas | undefined {
    return this.#byHash.get(hash)
  }

  /** The number of characters of these contracts, as far as they are known. */
  lengthOf(capabilities: readonly Pick<PeerCapability, 'schemas' | 'schemaHash'>[]): number {
    let length = 0
    for (const { schemas, schemaHash: hash } of capabilities) length += this.#lengthOf(schemas ?? this.find(hash))
    return length
  }

  /** Returns `false` when the schemas do not have the hash that the capability announces, or are too long. */
  store(capability: Pick<PeerCapability, 'name' | 'version' | 'schemaHash'>, schemas: PeerSchemas): boolean {
    const length = lengthIn(schemas)
    if (length === undefined || length > MAX_CONTRACT_LENGTH) return false
    // Rebuilt here, one by one as they arrive, and cached for the bus. Refused contracts are cached, too, with the
    // reason.
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

/** Returns `undefined` where the schemas are nested deeper than the stack allows. */
function lengthIn(schemas: PeerSchemas): number | undefined {
  try {
    return JSON.stringify(schemas).length
  } catch {
    return undefined
  }
}
