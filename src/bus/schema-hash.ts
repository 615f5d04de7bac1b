/**
 * Schema hash: identifies a contract. Two nodes with the same hash mean the same contract.
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

/** The bytes that are hashed, for checking with another implementation. */
export function encodeSchemaHashInput(contract: Contract): string {
  return canonicalJson({
    name: contract.name,
    version: formatCapabilityVersion(contract.version),
    request_schema: contract.requestSchema,
    response_schema: contract.responseSchema ?? null,
    stream_schema: contract.streamSchema ?? null,
  })
}

/** Cached per object: descriptors do not change once they are made. */
export function computeSchemaHash(contract: Contract): string {
  let hash = known.get(contract)
  if (hash === undefined) {
    hash = `blake3:${toHex(blake3(toUtf8(encodeSchemaHashInput(contract))))}`
    known.set(contract, hash)
  }
  return hash
}

/**
 * For an offer of another node, whose schemas are rebuilt here: its contract keeps the hash that the node announced.
 */
export function setAnnouncedSchemaHash(offer: Contract, hash: string): void {
  known.set(offer, hash)
}

const NO_PARAMS_ID = 'default'

const knownIds = new WeakMap<JsonObject, string>()

/**
 * Tells instances of one capability on one node apart: a short hash of their params. Cached, because a device that
 * reconnects offers the same tools again and each of them needs this three times.
 */
export function computeCapabilityInstanceId(params: JsonObject): string {
  if (Object.keys(params).length === 0) return NO_PARAMS_ID
  const id = knownIds.get(params) ?? toHex(blake3(toUtf8(canonicalJson(params)))).slice(0, 16)
  knownIds.set(params, id)
  return id
}
