/**
 * Untrusted peer schemas: the schemas that another node sent, checked against the hash that it announced and rebuilt.
 * Cached by the received object: schemas are rebuilt one by one as they arrive, and the registry finds the result.
 */
import type { Fault } from '../core/fault.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { formatCapabilityVersion } from './capability.ts'
import type { JsonSchema } from './capability.ts'
import type { PeerCapability, PeerSchemas } from './peer.ts'
import { computeSchemaHash } from './schema-hash.ts'
import { rebuildUntrustedSchema } from './untrusted-schema.ts'

type Announced = Pick<PeerCapability, 'name' | 'version' | 'schemaHash'>

const read = new WeakMap<PeerSchemas, { readonly hash: string; readonly contract: Result<PeerSchemas, Fault> }>()

/** The schemas as this node uses them, or why they are refused. */
export function rebuildPeerContractSchemas(announced: Announced, schemas: PeerSchemas): Result<PeerSchemas, Fault> {
  const known = read.get(schemas)
  if (known?.hash === announced.schemaHash) return known.contract
  const contract =
    hashOf(announced, schemas) === announced.schemaHash ? rebuilt(announced, schemas) : fail(other(announced))
  read.set(schemas, { hash: announced.schemaHash, contract })
  return contract
}

function hashOf({ name, version }: Announced, { request, response, stream }: PeerSchemas): string | undefined {
  try {
    return computeSchemaHash({ name, version, requestSchema: request, responseSchema: response, streamSchema: stream })
  } catch {
    // Another node's JSON can contain what canonical JSON cannot express, or be nested deeper than the stack allows.
    return undefined
  }
}

function rebuilt(announced: Announced, { request, response, stream }: PeerSchemas): Result<PeerSchemas, Fault> {
  const parts: Partial<Record<'request' | 'response' | 'stream', JsonSchema>> = {}
  for (const [part, schema] of Object.entries({ request, response, stream })) {
    if (schema === undefined) continue
    const made = rebuildUntrustedSchema(schema)
    if (!made.ok) return fail(unusable(announced, `Of its ${part} schema: ${made.fault}`))
    parts[part as keyof typeof parts] = made.value
  }
  return ok({ request: {}, ...parts })
}

function unusable({ name, version }: Announced, why: string): Fault {
  const message = `${name.slice(0, 128)}@${formatCapabilityVersion(version)} has no usable schema. ${why}.`
  return { kind: 'unsupported', code: 'schema_invalid', message }
}

function other({ name, schemaHash: hash }: Announced): Fault {
  return {
    kind: 'failed',
    code: 'schema_mismatch',
    message: `The schemas given for ${name.slice(0, 128)} are not those of ${hash}.`,
    details: { schema_hash_expected: hash },
  }
}
