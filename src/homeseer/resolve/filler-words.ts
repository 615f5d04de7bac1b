/**
 * Filler words: words around a name that are not part of it: `turn on the kitchen lamp please`. Words that change the
 * meaning (not, all, except, and) are not fillers.
 */
const FILLER = new Set(
  [
    'a an the my our this that',
    'please can could would you i want need like hey ok just now',
    'turn switch set put make get bring dim brighten raise lower adjust change start stop run activate trigger',
    'open close shut unlock is are what which how whats show tell me status state',
    'on off up down to in at of for from into',
    'bitte schalte schalt schalten mach mache machen stelle stell setze zeige zeig den die das der dem ein aus an auf zu im in mal mir dimme dimm offne offnen schliesse schliessen schließe schließen öffne öffnen fahre fahr hoch runter starte aktiviere ist sind wie was welche',
  ].flatMap((line) => line.split(' ')),
)

/**
 * Variants of the words without some of the fillers at either end, the longest first, because a filler may be part of a
 * name.
 */
export function listVariantsWithoutOuterFiller(words: string): readonly string[] {
  const all = words.split(' ')
  const leading = all.findIndex((word) => !FILLER.has(word))
  const trailing = all.length - 1 - all.findLastIndex((word) => !FILLER.has(word))
  if (leading < 0) return []
  const cuts = Array.from({ length: leading + 1 }, (_, front) =>
    Array.from({ length: trailing + 1 }, (_, back) => all.slice(front, all.length - back)),
  )
  return cuts
    .flat()
    .sort((left, right) => right.length - left.length)
    .slice(1)
    .map((remaining) => remaining.join(' '))
}

/** The words without fillers; `undefined` when nothing is left, or when there was none. */
export function stripFillerWords(words: string): string | undefined {
  const all = words.split(' ')
  const remaining = all.filter((word) => !FILLER.has(word))
  return remaining.length === 0 || remaining.length === all.length ? undefined : remaining.join(' ')
}
