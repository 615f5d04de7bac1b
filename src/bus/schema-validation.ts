/**
 * Schema validation: validates what goes into a capability and what comes out of it against its contract.
 *
 * A contract of this node is checked once when it is registered and compiled once per schema hash, when it is first
 * needed; tools' schemas that come out of Zod are well-formed by construction. Another node's contract was rebuilt when
 * it came (untrusted-peer-schemas.ts) and is evaluated in bounded steps, never compiled.
 */
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'
import type { Fault } from '../core/fault.ts'
import { unescapeJsonPointerToken } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { StreamFrame, Reply } from './call.ts'
import { formatCapabilityVersion } from './capability.ts'
import type { CapabilityDescriptor, ArgumentIssue, JsonSchema, Offer } from './capability.ts'
import { compileBoundedValidator } from './bounded-validator.ts'
import { explainSchemaBoundsViolation } from './schema-bounds.ts'
import { SchemaCompilerMissingError, compileSchema, explainMetaSchemaViolation } from './schema-compiler.ts'
import { computeSchemaHash } from './schema-hash.ts'
import { hasZodGeneratedSchemas } from './capability-definition.ts'

type Part = 'requestSchema' | 'responseSchema' | 'streamSchema'

type Check = ValidateFunction | Error

/** The compiled validators of a contract. `thorough` is the request schema once more, for explaining refusals. */
interface Contract {
  requestSchema: Check | undefined
  responseSchema: Check | undefined
  streamSchema: Check | undefined
  thorough: Check | undefined
}

const PARTS: readonly Part[] = ['requestSchema', 'responseSchema', 'streamSchema']

/** By hash, so that a thousand nodes with one contract share its validators; the oldest are dropped first. */
const contracts = new Map<string, Contract>()
const MAX_CONTRACTS = 2_048
const contractOfOffer = new WeakMap<Offer, Contract>()

const NOTHING_COMPILED: Contract = {
  requestSchema: undefined,
  responseSchema: undefined,
  streamSchema: undefined,
  thorough: undefined,
}

const MAX_ISSUES = 20
/**
 * Larger bodies are refused with their first error only: collecting all of them would help an attacker to cause work.
 */
const MAX_EXPLAINED_BYTES = 64 * 1_024

/** Spec 2 § 3.2: a capability whose schemas are invalid cannot be registered. */
export function checkOfferSchemas(offer: Offer): Result<void, Fault> {
  if (hasZodGeneratedSchemas(offer) || offer.isFromPeer === true) return ok(undefined)
  for (const part of PARTS) {
    const schema = offer[part]
    const wrong =
      schema === undefined ? undefined : (explainSchemaBoundsViolation(schema) ?? explainMetaSchemaViolation(schema))
    if (wrong !== undefined) return fail(schemaInvalid(offer, `${WORDS[part]}: ${wrong}`))
  }
  return ok(undefined)
}

/**
 * The chain's validate stage. The value is the body to continue with: the same one, or one with defaults filled in and
 * without arguments that were null.
 */
export function validateRequest(offer: Offer, body: JsonObject): Result<JsonObject, Fault> {
  if (offer.isFromPeer === true) {
    const accepted = validateWithoutNullArguments((given) => validateBySentSchema(offer, given), body)
    return accepted.ok ? accepted : fail(mismatch(offer, accepted.fault))
  }
  const check = offer.accept === undefined ? checkOf(offer, 'requestSchema') : undefined
  if (check instanceof SchemaCompilerMissingError) throw check
  if (check instanceof Error) return fail(schemaInvalid(offer, check.message))
  // Nearly all requests pass here.
  if (check !== undefined && passes(check, body)) return ok(body)
  const accepted = validateWithoutNullArguments(offer.accept ?? ((given) => fitting(offer, given, check)), body)
  return accepted.ok ? accepted : fail(mismatch(offer, accepted.fault))
}

function fitting(
  offer: Offer,
  body: JsonObject,
  check: ValidateFunction | undefined,
): Result<JsonObject, readonly ArgumentIssue[]> {
  return check === undefined || passes(check, body) ? ok(body) : fail(explain(offer, body, check))
}

function validateBySentSchema(offer: Offer, body: JsonObject): Result<JsonObject, readonly ArgumentIssue[]> {
  const verdict = compileBoundedValidator(offer.requestSchema)(body)
  if (verdict.kind === 'valid') return ok(body)
  if (verdict.kind === 'invalid') return fail(verdict.issues)
  return fail([{ path: [], message: `cannot be checked, because ${verdict.why}`, code: 'cost' }])
}

/** A provider's answer that does not fit its own contract is the provider's failure, never the caller's. */
export function checkReplySchema(offer: Offer, reply: Reply): Fault | undefined {
  if (reply.inputRequired !== undefined) return undefined
  return wrongAnswer(offer, 'responseSchema', reply.data)
}

/** Stream schemas describe the whole frame, `{ event, data }`, since what the data looks like depends on the event. */
export function checkFrameSchema(offer: Offer, frame: StreamFrame): Fault | undefined {
  return wrongAnswer(offer, 'streamSchema', frame)
}

function wrongAnswerBySentSchema(offer: Offer, part: Part, value: unknown): Fault | undefined {
  const schema = offer[part]
  const verdict = schema === undefined ? undefined : compileBoundedValidator(schema)(value)
  if (verdict === undefined || verdict.kind === 'valid') return undefined
  if (verdict.kind === 'invalid') return contradiction(offer, part, verdict.issues)
  const message = `${offer.name} answered something that cannot be checked (${WORDS[part]}): ${verdict.why}. Any change it made stands.`
  return { kind: 'failed', code: 'internal_error', message }
}

function wrongAnswer(offer: Offer, part: Part, value: unknown): Fault | undefined {
  if (offer.isFromPeer === true) return wrongAnswerBySentSchema(offer, part, value)
  const check = checkOf(offer, part)
  if (check === undefined || (!(check instanceof Error) && passes(check, value))) return undefined
  if (check instanceof SchemaCompilerMissingError)
    return {
      kind: 'internal',
      code: 'internal_error',
      message: `${offer.name} answered, but its answer could not be checked: ${check.message}. Any change it made stands.`,
    }
  return contradiction(offer, part, check instanceof Error ? [] : issuesOf(check.errors))
}

function contradiction(offer: Offer, part: Part, issues: readonly ArgumentIssue[]): Fault {
  return {
    // A wrong answer of our own tool is a bug; one of a device or a peer is a failure of the far end.
    kind: hasZodGeneratedSchemas(offer) ? 'internal' : 'failed',
    code: 'internal_error',
    message: `${offer.name} answered something that its own contract does not allow (${WORDS[part]}). Any change it made stands.`,
    details: { issues: issues.map(issueJson) },
  }
}

function checkOf(offer: Offer, part: Part, mode: 'fast' | 'thorough' = 'fast'): Check | undefined {
  let contract = contractOfOffer.get(offer)
  if (contract === undefined) {
    contract = contractByHash(computeSchemaHash(offer))
    contractOfOffer.set(offer, contract)
  }
  const slot = mode === 'fast' ? part : 'thorough'
  const known = contract[slot]
  if (known !== undefined) return known
  const schema = offer[part]
  if (schema === undefined) return undefined
  const check = compiled(schema, mode)
  if (!(check instanceof SchemaCompilerMissingError)) contract[slot] = check
  return check
}

function contractByHash(hash: string): Contract {
  const contract = contracts.get(hash) ?? { ...NOTHING_COMPILED }
  contracts.delete(hash)
  contracts.set(hash, contract)
  if (contracts.size > MAX_CONTRACTS) contracts.delete(contracts.keys().next().value ?? hash)
  return contract
}

/** A thousand devices answer in the same form: the schema that their offers share is compiled once for all. */
const sharedChecks = new WeakMap<JsonSchema, Check>()

function compiled(schema: JsonSchema, mode: 'fast' | 'thorough'): Check {
  const known = mode === 'fast' ? sharedChecks.get(schema) : undefined
  if (known !== undefined) return known
  const check = compiledAnew(schema, mode)
  if (mode === 'fast' && !(check instanceof SchemaCompilerMissingError)) sharedChecks.set(schema, check)
  return check
}

function compiledAnew(schema: JsonSchema, mode: 'fast' | 'thorough'): Check {
  try {
    return compileSchema(schema, mode)
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

function passes(check: ValidateFunction, value: unknown): boolean {
  try {
    return check(value)
  } catch {
    // A recursive schema, or a value that is nested too deep, ends with a stack overflow, which is caught here.
    check.errors = [{ instancePath: '', keyword: 'depth', message: 'is nested too deep', params: {}, schemaPath: '#' }]
    return false
  }
}

function explain(offer: Offer, body: JsonObject, check: ValidateFunction): readonly ArgumentIssue[] {
  const first = issuesOf(check.errors)
  if (first[0]?.code === 'depth' || JSON.stringify(body).length > MAX_EXPLAINED_BYTES) return first
  const thorough = checkOf(offer, 'requestSchema', 'thorough')
  if (thorough === undefined || thorough instanceof Error || passes(thorough, body)) return first
  return issuesOf(thorough.errors)
}

function issuesOf(errors: readonly ErrorObject[] | null | undefined): readonly ArgumentIssue[] {
  return (errors ?? []).slice(0, MAX_ISSUES).map(({ instancePath, keyword, message, params }) => {
    const missing: unknown = params['missingProperty'] ?? params['additionalProperty']
    const path = instancePath.split('/').slice(1).map(pointerStep)
    return {
      path: typeof missing === 'string' ? [...path, missing] : path,
      message: message ?? keyword,
      code: keyword,
    }
  })
}

function pointerStep(step: string): string | number {
  return /^(?:0|[1-9]\d{0,8})$/.test(step) ? Number(step) : unescapeJsonPointerToken(step)
}

const WORDS: Readonly<Record<Part, string>> = {
  requestSchema: 'request schema',
  responseSchema: 'response schema',
  streamSchema: 'stream schema',
}

function mismatch(offer: Offer, issues: readonly ArgumentIssue[]): Fault {
  const sentences = issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => `${path.join('.') || 'the body'}: ${message}`)
  return {
    kind: 'invalid-arguments',
    code: 'schema_mismatch',
    message: `The arguments do not fit ${offer.name}: ${sentences.join('; ')}.`,
    details: {
      issues: issues.slice(0, MAX_ISSUES).map(issueJson),
      schema_hash_expected: computeSchemaHash(offer),
    },
  }
}

function schemaInvalid(offer: Pick<CapabilityDescriptor, 'name' | 'version'>, why: string): Fault {
  return {
    kind: 'unsupported',
    code: 'schema_invalid',
    message: `${offer.name}@${formatCapabilityVersion(offer.version)} has no usable schema. ${why}.`,
  }
}

function issueJson({ path, message, code }: ArgumentIssue): JsonObject {
  return { path: [...path], message, code }
}

type Accept = (body: JsonObject) => Result<JsonObject, readonly ArgumentIssue[]>

/**
 * Models write `null` for an argument that they do not want to give, and some clients make them fill in every one.
 * Where the contract does not allow `null`, the argument is read as left out (docs/adr/0115). The resulting body is one
 * that the caller could have sent, and is checked like any other. This applies only to arguments themselves: inside of
 * one, `null` may be meant, such as to clear a field. A body that does not fit without its nulls either is refused as
 * it was sent.
 */
export function validateWithoutNullArguments(
  accept: Accept,
  body: JsonObject,
): Result<JsonObject, readonly ArgumentIssue[]> {
  const asSent = accept(body)
  if (asSent.ok) return asSent
  const refused = new Set(asSent.fault.filter((issue) => isRefusedNull(issue, body)).map(({ path }) => path[0]))
  if (refused.size === 0) return asSent
  const rest = accept(Object.fromEntries(Object.entries(body).filter(([name]) => !refused.has(name))))
  return rest.ok ? rest : asSent
}

/** An argument that the contract does not know stays refused, whatever its value. */
function isRefusedNull({ path: [name, ...inside], code }: ArgumentIssue, body: JsonObject): boolean {
  return inside.length === 0 && typeof name === 'string' && body[name] === null && code !== 'additionalProperties'
}
