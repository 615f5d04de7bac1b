/**
 * Grant: an approval for future calls within bounds: one caller (or a node with everybody it speaks for), one tool, one
 * device (or any), numeric arguments within bounds, a number of uses and a time. Every argument that the approver did
 * not loosen stays as it was approved.
 */
import { escapeJsonPointerToken } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { listArgumentLeaves } from './call-binding.ts'
import type { ArgumentLeafHashes } from './call-binding.ts'

/** What an approver asks for beside the approval itself. */
export interface GrantRequest {
  /** `same` (the default): the caller that asked. `node`: every caller for which the asking node may ever speak. */
  readonly caller?: 'same' | 'node'
  /** `same`: the device of the approved call. `any`: every device that this tool can act on. */
  readonly target: 'same' | 'any'
  /** Arguments that may vary within numeric bounds, by name or JSON pointer. */
  readonly bounds: Readonly<Record<string, GrantArgumentBounds>>
  /** Arguments that may have any value, by name or JSON pointer; in addition to `ALWAYS_FREE`. */
  readonly free: readonly string[]
  /** Further calls, beside the one that was approved. */
  readonly maxUses: number
  readonly durationMs: number
}

export interface GrantArgumentBounds {
  readonly min?: number
  readonly max?: number
}

export interface Grant {
  readonly id: string
  readonly principal: string
  readonly tool: string
  /** `undefined` means any. */
  readonly target: string | undefined
  readonly definitionHash: string
  readonly policyVersion: string
  /** JSON pointer → hash of a value that must not change. */
  readonly frame: ArgumentLeafHashes
  /** JSON pointer → bounds. */
  readonly bounds: Readonly<Record<string, GrantArgumentBounds>>
  readonly free: readonly string[]
  readonly approvalId: string
  readonly grantedBy: string
  readonly grantedAtMs: number
  readonly expiresAtMs: number
  readonly maxUses: number
  readonly uses: number
  readonly endedAtMs: number | undefined
  readonly endedBecause: string | undefined
}

/**
 * Free text for the record, and keys that must differ from call to call. What such arguments can change is assessed
 * anyway.
 */
const ALWAYS_FREE = new Set(['/reason', '/intent', '/idempotency_key', '/idempotencyKey'])

const MAX_USES = 1_000
const MAX_DURATION_MS = 30 * 86_400_000
const MAX_NAMES = 64

/** What is wrong with a request, or `undefined`. `leaves` are the arguments of the call that is being approved. */
export function explainGrantRequestFlaw(request: GrantRequest, leaves: ArgumentLeafHashes): string | undefined {
  const { maxUses, durationMs, bounds, free, target, caller = 'same' } = request
  if (caller !== 'same' && caller !== 'node') return 'the caller is `same` or `node`'
  if (target !== 'same' && target !== 'any') return 'the target is `same` or `any`'
  if (!Number.isInteger(maxUses) || maxUses < 1 || maxUses > MAX_USES) return `uses are 1 to ${MAX_USES}`
  if (!(durationMs > 0 && durationMs <= MAX_DURATION_MS)) return 'it lasts at most 30 days'
  const names = [...Object.keys(bounds), ...free]
  if (names.length > MAX_NAMES) return `at most ${MAX_NAMES} arguments can be loosened`
  const unknownArgument = names.find((name) => !Object.hasOwn(leaves, toJsonPointer(name)))
  if (unknownArgument !== undefined) return `the approved call has no argument ${unknownArgument}`
  const endless = Object.entries(bounds).find(([, { min, max }]) => !isSpan(min, max))
  if (endless !== undefined) return `the bounds of ${endless[0]} are no range of numbers`
  return undefined
}

/** The arguments that must not change: all but those that were loosened. */
export function omitLoosenedArguments(leaves: ArgumentLeafHashes, loosened: readonly string[]): ArgumentLeafHashes {
  return Object.fromEntries(Object.entries(leaves).filter(([pointer]) => !isLoose(pointer, loosened)))
}

/** Whether two calls differ only in arguments that are always free: the same call in other words. */
export function differOnlyInAlwaysFreeArguments(left: ArgumentLeafHashes, right: ArgumentLeafHashes): boolean {
  return sameEntries(omitLoosenedArguments(left, []), omitLoosenedArguments(right, []))
}

export function toJsonPointer(name: string): string {
  return name.startsWith('/') ? name : `/${escapeJsonPointerToken(name)}`
}

/** Whether the grant covers a call with these arguments. The store checks uses and times. */
export function isCallCoveredByGrant(
  grant: Pick<Grant, 'target' | 'frame' | 'bounds' | 'free'>,
  call: {
    readonly target: string | undefined
    readonly body: JsonObject
    /** The hashes of the arguments; `undefined` if there are too many for any grant. */
    readonly leaves: ArgumentLeafHashes | undefined
  },
): boolean {
  if (call.leaves === undefined) return false
  if (grant.target !== undefined && grant.target !== call.target) return false
  const fixedLeaves = omitLoosenedArguments(call.leaves, [...Object.keys(grant.bounds), ...grant.free])
  if (!sameEntries(fixedLeaves, grant.frame)) return false
  const values = new Map<string, Json>(listArgumentLeaves(call.body))
  return Object.entries(grant.bounds).every(([pointer, bounds]) => isWithin(values.get(pointer), bounds))
}

function isLoose(pointer: string, loosened: readonly string[]): boolean {
  return ALWAYS_FREE.has(pointer) || loosened.includes(pointer)
}

function sameEntries(left: ArgumentLeafHashes, right: ArgumentLeafHashes): boolean {
  const names = Object.keys(left)
  if (names.length !== Object.keys(right).length) return false
  return names.every((name) => Object.hasOwn(right, name) && left[name] === right[name])
}

function isSpan(min: number | undefined, max: number | undefined): boolean {
  if (min === undefined && max === undefined) return false
  return (min ?? -Number.MAX_VALUE) <= (max ?? Number.MAX_VALUE)
}

function isWithin(value: Json | undefined, { min, max }: GrantArgumentBounds): boolean {
  if (typeof value !== 'number' || !Number.isFinite(value)) return false
  return value >= (min ?? -Infinity) && value <= (max ?? Infinity)
}
