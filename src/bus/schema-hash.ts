/**
 * Schema hash: the name of a contract. Two nodes with the same hash speak of the same thing.
 *
 *   'blake3:' + hex( BLAKE3( RFC 8785 of { name, version: "X.Y", request_schema, response_schema, stream_schema } ) )
 *
 * Exactly these five keys, `null` for a schema that is absent (spec 2 § 3.1, CONTRACT § 11). Params, trust, limits and
 * timeouts are outside on purpose: they differ between instances of one contract.
 */
import { blake3 } from '@noble/hashes/blake3.js'
import { toHex, toUtf8 } from '../core/bytes.ts'
import { canonicalJson } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import { formatCapabilityVersion } from './capability.ts'
import type { CapabilityDescriptor } from './capability.ts'

type Contract = Pick<CapabilityDescriptor, 'name' | 'version' | 'requestSchema' | 'responseSchema' | 'streamSchema'>

const known = new WeakMap<Contract, string>()

/** The bytes that are hashed, for whoever wants to check with another implementation. */
export function schemaHashInput(contract: Contract): string {
  return canonicalJson({
    name: contract.name,
    version: formatCapabilityVersion(contract.version),
    request_schema: contract.requestSchema,
    response_schema: contract.responseSchema ?? null,
    stream_schema: contract.streamSchema ?? null,
  })
}

/** Remembered per object: descriptors do not change once made. */
export function schemaHash(contract: Contract): string {
  let hash = known.get(contract)
  if (hash === undefined) {
    hash = `blake3:${toHex(blake3(toUtf8(schemaHashInput(contract))))}`
    known.set(contract, hash)
  }
  return hash
}

/** For an offer of another node, whose schemas are rebuilt here: its contract is called what that node calls it. */
export function setAnnouncedSchemaHash(offer: Contract, hash: string): void {
  known.set(offer, hash)
}

const NO_PARAMS_ID = 'default'

const knownIds = new WeakMap<JsonObject, string>()

/**
 * Tells instances of one capability on one node apart: a short hash of their params. Remembered as well: a device that
 * comes back offers what it offered before, and each of its tools asks for this three times.
 */
export function computeInstanceId(params: JsonObject): string {
  if (Object.keys(params).length === 0) return NO_PARAMS_ID
  const id = knownIds.get(params) ?? toHex(blake3(toUtf8(canonicalJson(params)))).slice(0, 16)
  knownIds.set(params, id)
  return id
}
