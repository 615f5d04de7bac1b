/**
 * Schema cache: contracts by their hash. A hash never changes its meaning, so what is known is known for good, from
 * whichever node it came; what does not have the hash it came under is not kept.
 *
 * Pure.
 */
import type { PeerCapability, PeerSchemas } from '../bus/peer.ts'
import { schemaHash } from '../bus/schema-hash.ts'

const MAX_CONTRACTS = 4_096

export class SchemaCache {
  readonly #byHash = new Map<string, PeerSchemas>()

  find(hash: string): PeerSchemas | undefined {
    return this.#byHash.get(hash)
  }

  /** `false` when the schemas are not those of the hash that the capability announces. */
  keep(capability: Pick<PeerCapability, 'name' | 'version' | 'schemaHash'>, schemas: PeerSchemas): boolean {
    const { request, response, stream } = schemas
    const contract = {
      name: capability.name,
      version: capability.version,
      requestSchema: request,
      responseSchema: response,
      streamSchema: stream,
    }
    if (hashOrNothing(contract) !== capability.schemaHash) return false
    if (this.#byHash.size >= MAX_CONTRACTS) this.#byHash.delete(this.#byHash.keys().next().value ?? '')
    this.#byHash.set(capability.schemaHash, schemas)
    return true
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
