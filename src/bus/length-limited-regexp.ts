/**
 * Length-limited RegExp: a regular expression from another node or a device, run only where even its worst case ends
 * soon.
 *
 * JavaScript's engine backtracks: `(a+)+$` on thirty characters takes minutes and blocks the whole process. Nobody can
 * tell all such patterns from harmless ones, so each gets a length limit for the text instead, computed from its shape:
 *
 *   k repetitions in a row, q choices       limit = (10⁷ / 2^q)^(1/k)       a text of n characters costs ≤ n^k · 2^q
 *   a repetition within a repetition        limit = 0                       exponential, whatever it looks like
 *   a part counted thousands of times       limit = 0                       the engine writes it out that often
 *
 * A text beyond the limit is let through unexamined: the far end that wrote the pattern examines it again.
 */

const STEP_BUDGET = 10_000_000
const MAX_PATTERN_LENGTH = 1_024
/** The regular expression engine expands a counted group (`a{5000}`) into that many copies before it runs. */
const MAX_COPIES = 5_000

export interface LengthLimitedRegExp {
  readonly test: (text: string) => boolean
  /** Upper bound of the matching steps for a text of that length; 0 where the pattern is not run. */
  readonly steps: (length: number) => number
  /** Ajv treats two patterns with the same text as the same pattern. */
  readonly toString: () => string
}

/**
 * Throws on a source that is not a regular expression, as `RegExp` does. `budget` is the number of steps allowed for
 * one text.
 */
export function compileLengthLimitedRegExp(source: string, flags: string, budget = STEP_BUDGET): LengthLimitedRegExp {
  const expression = new RegExp(source, flags)
  const shape = shapeOf(source)
  const limit = limitOf(shape, budget)
  // A pattern whose limit is 0 is not run on the empty text either: the engine would compile it then, which may take
  // long.
  const isRun = (length: number): boolean => limit > 0 && length <= limit
  return {
    test: (text) => !isRun(text.length) || expression.test(text),
    steps: (length) =>
      shape !== undefined && isRun(length) ? Math.max(1, length) ** shape.repetitions * 2 ** shape.choices : 0,
    toString: () => String(expression),
  }
}

/** A sentence about what is wrong with a pattern, or `undefined`. */
export function explainInvalidRegExp(source: string): string | undefined {
  try {
    RegExp(source, 'u')
    return undefined
  } catch {
    return `its pattern ${JSON.stringify(source.slice(0, 100))} is not a regular expression`
  }
}

interface Group {
  repetitions: number
  choices: number
  /** How many copies of its parts the engine makes because of counted repetitions. */
  copies: number
  hasAlternatives: boolean
}

/** The longest text that the pattern is run on. */
export function computeMaxMatchableTextLength(source: string, budget = STEP_BUDGET): number {
  return limitOf(shapeOf(source), budget)
}

/**
 * `undefined` where the worst case is exponential or unknown. Syntax that is not understood here counts as a letter.
 */
function shapeOf(source: string): Group | undefined {
  if (source.length > MAX_PATTERN_LENGTH || /\\(?:[1-9]|k<)/.test(source)) return undefined
  const total = newGroup()
  if (walk(source, total)) return undefined
  // Without an anchor the engine starts again at every character; in `^a|b` only the first alternative is anchored.
  if (!source.startsWith('^') || total.hasAlternatives) total.repetitions++
  return total
}

function newGroup(): Group {
  return { repetitions: 0, choices: 0, copies: 0, hasAlternatives: false }
}

/** Adds to `total`; returns true as soon as a variable part is itself repeated, or copied too often. */
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
      inside.copies += quantifier.copies * Math.max(1, closed?.copies ?? 1)
      if (inside.copies > MAX_COPIES) return true
      at += quantifier.length - 1
      closed = undefined
      continue
    }
    closed = undefined
    const character = source[at]
    if (character === '\\') at++
    else if (character === '[') at = endOfClass(source, at)
    else if (character === '|') {
      inside.choices++
      inside.hasAlternatives = true
    } else if (character === '(') open.push(newGroup())
    else if (character === ')') {
      closed = open.pop()
      if (closed !== undefined) add(open.at(-1) ?? total, closed)
    }
  }
  return false
}

function limitOf(shape: Group | undefined, budget: number): number {
  if (shape === undefined) return 0
  const steps = budget / 2 ** shape.choices
  if (shape.repetitions > 0) return Math.floor(steps ** (1 / shape.repetitions))
  return steps >= 1 ? Infinity : 0
}

function add(to: Group, from: Group): void {
  to.repetitions += from.repetitions
  to.choices += from.choices
  to.copies += from.copies
}

/** The index of the `]` that ends the class starting at `at`; a class has no shape of its own. */
function endOfClass(source: string, at: number): number {
  for (let index = at + 1; index < source.length; index++) {
    if (source[index] === '\\') index++
    else if (source[index] === ']') return index
  }
  return source.length
}

interface Quantifier {
  readonly length: number
  readonly repeats: boolean
  readonly varies: boolean
  readonly copies: number
}

function quantifierAt(source: string, at: number): Quantifier | undefined {
  const character = source[at]
  if (character === '*' || character === '+') return { length: 1, repeats: true, varies: true, copies: 1 }
  // A `?` after `(` introduces the kind of group; after a quantifier it makes that one lazy. Neither changes the number
  // of steps.
  if (character === '?')
    return source[at - 1] === '(' ? undefined : { length: 1, repeats: false, varies: true, copies: 1 }
  const counted = character === '{' ? /^\{(\d+)(,?)(\d*)\}/.exec(source.slice(at, at + 24)) : undefined
  if (counted === undefined || counted === null) return undefined
  const [whole, least = '', comma, most = ''] = counted
  return {
    length: whole.length,
    repeats: most !== '1' && whole !== '{1}',
    varies: comma === ',' && most !== least,
    copies: Math.max(Number(least), Number(most)),
  }
}
