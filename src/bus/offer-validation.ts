/** Offer validation: whether an offer is valid, who may register it, and whether it differs from the one before. */
import type { Fault } from '../core/fault.ts'
import { canonicalJson } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { Offer } from './capability.ts'
import { defaultFamilyEnvelope } from './default-family-envelope.ts'
import { describeOwnCapability } from './peer.ts'
import { checkOfferSchemas } from './schema-validation.ts'

/** Who may register under which names. */
export interface NamespaceOwner {
  readonly name: string
  readonly prefixes: readonly string[]
  /**
   * The word after the prefix names one item of this node: other nodes may have items of their own below the prefix.
   */
  readonly isPerItem?: boolean
}

/** MCP allows `A-Z a-z 0-9 _ - . /`; names of some resources contain a colon. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_./:-]{0,127}$/
const MAX_PARAMS_TEXT = 16 * 1_024
const MAX_TIMEOUT_SECONDS = 24 * 60 * 60
const MAX_CONCURRENT = 1_000_000
const MAX_VERSION = 1_000_000

export function checkDescriptor(offer: Offer): Result<void, Fault> {
  const wrong = wrongDescriptor(offer)
  if (wrong === undefined) return checkOfferSchemas(offer)
  return fail({
    kind: 'unsupported',
    code: 'schema_invalid',
    message: `${offer.name.slice(0, 128)} cannot be registered: ${wrong}.`,
  })
}

function wrongDescriptor(offer: Offer): string | undefined {
  const { name, version, maxConcurrent, timeoutSeconds, params } = offer
  if (!NAME.test(name)) return 'its name is not 1 to 128 letters, digits and _ . / : -'
  if (!version.every((part) => isIntegerWithin(part, 0, MAX_VERSION))) return 'its version is not two natural numbers'
  if (!isIntegerWithin(maxConcurrent, 1, MAX_CONCURRENT))
    return `its limit of ${maxConcurrent} calls at once is not a positive whole number`
  if (!(timeoutSeconds > 0 && timeoutSeconds <= MAX_TIMEOUT_SECONDS))
    return `its timeout of ${timeoutSeconds} s is not between 0 and ${MAX_TIMEOUT_SECONDS}`
  if (Object.keys(params).length > 0 && canonicalJson(params).length > MAX_PARAMS_TEXT)
    return `its params are larger than ${MAX_PARAMS_TEXT} characters`
  return undefined
}

function isIntegerWithin(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most
}

/** A prefix ends where its word ends: `llm` owns `llm.chat` and not `llmx.chat`; `task_` owns `task_list`. */
export function checkNameInNamespace(name: string, owner: NamespaceOwner): Result<void, Fault> {
  const owned = owner.prefixes.some(
    (prefix) =>
      name === prefix || name.startsWith(prefix === '' || /[^A-Za-z0-9]$/.test(prefix) ? prefix : `${prefix}.`),
  )
  if (owned) return ok(undefined)
  const prefixes = owner.prefixes.map((prefix) => JSON.stringify(prefix)).join(', ')
  return fail(createNamespaceViolationFault(`${name} is outside the names of ${owner.name} (${prefixes || 'none'}).`))
}

/** The prefixes that a local capability takes for its node: no other node may offer something new below them. */
export function listReservedPrefixes(
  { name, family }: Offer,
  { prefixes, isPerItem = false }: NamespaceOwner,
): readonly string[] {
  // What answers in the bus's own envelope belongs to no family: programs of several nodes may share a prefix.
  if (family.name === defaultFamilyEnvelope.name) return []
  if (isPerItem) return [name.split('.').slice(0, 2).join('.')]
  return prefixes.filter((prefix) => prefix !== '')
}

export function createNamespaceViolationFault(message: string): Fault {
  return { kind: 'not-permitted', code: 'namespace_violation', message }
}

/** Only for this node's own offers: those of another node are assessed there. */
export function isAssessmentMissing({ effect, plan }: Offer): boolean {
  return effect !== 'reads' && effect !== 'records' && plan === undefined
}

export function createMissingAssessmentFault({ name, effect }: Offer): Fault {
  return {
    kind: 'unsupported',
    code: 'schema_invalid',
    message: `${name} cannot be registered: it ${effect === 'writes' ? 'writes' : `is ${effect}`}, and says of no call what that would do. Define it with defineChange.`,
  }
}

/** Compares what is visible from outside; handlers and other functions are replaced without an event. */
export function isSameOffer(left: Offer, right: Offer): boolean {
  return left === right || noticeable(left) === noticeable(right)
}

function noticeable(offer: Offer): string {
  const { schemas: _, ...facts } = describeOwnCapability(offer)
  return canonicalJson(facts)
}
