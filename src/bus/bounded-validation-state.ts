/**
 * Bounded validation state: one evaluation of a schema: how many steps are left, where in the value it is, and what it
 * found.
 *
 * Pure, but for the run that it is given.
 */
import type { Json, JsonObject } from '../core/json.ts'
import type { ArgumentIssue } from './capability.ts'
import { compileLengthLimitedRegExp } from './length-limited-regexp.ts'
import type { LengthLimitedRegExp } from './length-limited-regexp.ts'

export const MAX_VALIDATION_ISSUES = 20
/** Characters that are read in one step. */
export const CHARACTERS_PER_STEP = 16
/** Steps charged for starting a pattern. */
const PATTERN_START = 16
/** So many steps of a pattern take as long as one step of the validator. */
const PATTERN_PER_STEP = 4
/** Limit for one pattern on one text. */
const PATTERN_STEPS = 20_000

export interface StepBoundedValidationState {
  readonly root: JsonObject
  /** Once this is zero or less, the steps are used up: all loops end and no result counts any more. */
  left: number
  /** Negative once the evaluation was nested too deep. */
  depth: number
  readonly path: (string | number)[]
  readonly issues: ArgumentIssue[]
  /** Above zero while an alternative is evaluated that may fail without the whole schema failing. */
  silent: number
  /** The names of every object that was looked into. */
  readonly names: Map<object, readonly string[]>
}

/** One keyword with its argument: whether it holds for a value. */
export type BoundedKeywordCheck = (value: Json, run: StepBoundedValidationState) => boolean
export type BoundedRuleFactory = (argument: Json, schema: JsonObject) => BoundedKeywordCheck | undefined

export function spendSteps(run: StepBoundedValidationState, steps: number): boolean {
  run.left -= steps
  return run.left > 0
}

export function addIssue(run: StepBoundedValidationState, code: string, message: string, name?: string): false {
  if (run.silent === 0 && run.issues.length < MAX_VALIDATION_ISSUES)
    run.issues.push({ path: name === undefined ? [...run.path] : [...run.path, name], message, code })
  return false
}

/**
 * The names of an object's members. Listing them takes time for each name, however soon a loop over them ends. An
 * object is therefore listed once, at one step per name, and not again for every alternative that looks at it.
 */
export function listMemberNames(value: JsonObject, run: StepBoundedValidationState): readonly string[] {
  const listed = run.names.get(value)
  if (listed !== undefined) return listed
  const names = Object.keys(value)
  run.names.set(value, names)
  return spendSteps(run, names.length) ? names : []
}

export function compileRemotePattern(source: string): LengthLimitedRegExp {
  return compileLengthLimitedRegExp(source, 'u', PATTERN_STEPS)
}

/** Charges the highest cost that the pattern's limit allows for a text of this length. */
export function matchesRemotePattern(
  expression: LengthLimitedRegExp,
  text: string,
  run: StepBoundedValidationState,
): boolean {
  return spendSteps(run, PATTERN_START + expression.steps(text.length) / PATTERN_PER_STEP) && expression.test(text)
}
