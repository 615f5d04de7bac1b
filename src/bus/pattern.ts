/**
 * Pattern: a stranger's regular expression, run only where even its worst case ends soon.
 *
 * JavaScript's engine backtracks: `(a+)+$` on thirty characters takes minutes and stops the whole house. Nobody can
 * tell all such patterns from harmless ones, so each gets a length limit for the text instead, computed from its shape:
 *
 *   k repetitions in a row, q choices       limit = (10⁷ / 2^q)^(1/k)       a text of n characters costs ≤ n^k · 2^q
 *   a repetition within a repetition        limit = 0                       exponential, whatever it looks like
 *
 * A text beyond the limit is let through unexamined: the far end that wrote the pattern examines it again.
 *
 * Pure.
 */

const STEP_BUDGET = 10_000_000
const MAX_PATTERN_LENGTH = 1_024

export interface BoundedPattern {
  readonly test: (text: string) => boolean
  /** Ajv takes patterns with the same text for the same pattern. */
  readonly toString: () => string
}

/** Throws on a pattern that is no regular expression, as `RegExp` does. */
export function boundedPattern(source: string, flags: string): BoundedPattern {
  const expression = new RegExp(source, flags)
  const limit = textLimit(source)
  return { test: (text) => text.length > limit || expression.test(text), toString: () => String(expression) }
}

interface Group {
  repetitions: number
  choices: number
}

/** The longest text that the pattern is run on. Reads the shape only; anything it does not know counts as a letter. */
export function textLimit(source: string): number {
  if (source.length > MAX_PATTERN_LENGTH || /\\(?:[1-9]|k<)/.test(source)) return 0
  // Unanchored, the engine starts again at every character.
  const total: Group = { repetitions: source.startsWith('^') ? 0 : 1, choices: 0 }
  return walk(source, total) ? 0 : limitOf(total)
}

/** Counts into `total`; true as soon as something that varies is itself repeated. */
function walk(source: string, total: Group): boolean {
  const open: Group[] = []
  let closed: Group | undefined
  for (let at = 0; at < source.length; at++) {
    const inside = open.at(-1) ?? total
    const quantifier = quantifierAt(source, at)
    if (quantifier !== undefined) {
      if (quantifier.repeats && closed !== undefined && closed.repetitions + closed.choices > 0) return true
      if (quantifier.varies && quantifier.repeats) inside.repetitions++
      else if (quantifier.varies) inside.choices++
      at += quantifier.length - 1
      closed = undefined
      continue
    }
    closed = undefined
    const character = source[at]
    if (character === '\\') at++
    else if (character === '[') at = endOfClass(source, at)
    else if (character === '|') inside.choices++
    else if (character === '(') open.push({ repetitions: 0, choices: 0 })
    else if (character === ')') {
      closed = open.pop()
      if (closed !== undefined) add(open.at(-1) ?? total, closed)
    }
  }
  return false
}

function limitOf({ repetitions, choices }: Group): number {
  const steps = STEP_BUDGET / 2 ** choices
  if (repetitions > 0) return Math.floor(steps ** (1 / repetitions))
  return steps >= 1 ? Infinity : 0
}

function add(to: Group, from: Group): void {
  to.repetitions += from.repetitions
  to.choices += from.choices
}

/** The index of the `]` that ends the class starting at `at`; a class has no shape of its own. */
function endOfClass(source: string, at: number): number {
  for (let index = at + 1; index < source.length; index++) {
    if (source[index] === '\\') index++
    else if (source[index] === ']') return index
  }
  return source.length
}

function quantifierAt(
  source: string,
  at: number,
): { readonly length: number; readonly repeats: boolean; readonly varies: boolean } | undefined {
  const character = source[at]
  if (character === '*' || character === '+') return { length: 1, repeats: true, varies: true }
  // After `(` it names a kind of group; after a quantifier it makes that one lazy, which changes nothing here.
  if (character === '?') return source[at - 1] === '(' ? undefined : { length: 1, repeats: false, varies: true }
  const counted = character === '{' ? /^\{(\d+)(,?)(\d*)\}/.exec(source.slice(at, at + 24)) : undefined
  if (counted === undefined || counted === null) return undefined
  const [whole, least = '', comma, most] = counted
  return { length: whole.length, repeats: most !== '1' && whole !== '{1}', varies: comma === ',' && most !== least }
}
