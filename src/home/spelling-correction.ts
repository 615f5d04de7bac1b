/**
 * Spelling correction: replaces an unknown word by the one known word that it is a misspelling of: a letter left out,
 * doubled, wrong, or two changed places. The first letter is hardly ever the wrong one, and in short words another
 * letter is another word (`wall`, `hall`).
 */
const MIN_LENGTH = 4
/** From this length on one wrong letter counts as a misspelling. */
const MIN_SUBSTITUTED = 6
const MIN_TWO_SLIPS = 9

/** Returns `undefined` where no known word is similar, or several are. */
export function correctMisspelledWord(word: string, known: Iterable<string>): string | undefined {
  if (word.length < MIN_LENGTH || /\d/.test(word)) return undefined
  const near = [...new Set(known)].filter(
    (each) => each.length >= MIN_LENGTH && each[0] === word[0] && isSlip(word, each),
  )
  return near.length === 1 ? near[0] : undefined
}

function isSlip(word: string, known: string): boolean {
  const slips = editDistance(word, known)
  if (slips === 1 && word.length === known.length && !isTransposed(word, known)) return word.length >= MIN_SUBSTITUTED
  return slips === 1 || (slips === 2 && Math.min(word.length, known.length) >= MIN_TWO_SLIPS)
}

function isTransposed(left: string, right: string): boolean {
  const at = Array.from(left).findIndex((letter, index) => letter !== right[index])
  return left[at] === right[at + 1] && left[at + 1] === right[at]
}

/** Optimal string alignment: insertion, deletion, substitution, transposition of neighbours. Stops above two. */
function editDistance(left: string, right: string): number {
  if (Math.abs(left.length - right.length) > 2) return 3
  let before: number[] = []
  let last = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let row = 1; row <= left.length; row++) {
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const cost = left[row - 1] === right[column - 1] ? 0 : 1
      let best = Math.min((last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, (last[column - 1] ?? 0) + cost)
      const isSwap = row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]
      if (isSwap) best = Math.min(best, (before[column - 2] ?? 0) + 1)
      current.push(best)
    }
    before = last
    last = current
  }
  return last[right.length] ?? 3
}
