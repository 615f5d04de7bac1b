/**
 * Name normalisation: the forms in which names are compared, from the strictest to the most tolerant.
 *
 *   toStrictNameKey   case, spaces and punctuation do not matter; everything else does. Equal keys are the same name.
 *   normaliseName   compatibility forms and accents do not matter either. Equal forms are similar names.
 *   toConfusableSkeleton   letters that look alike are the same. Equal skeletons are names that may be confused, even on purpose.
 *
 * Only the first may ever act without asking: `Küche` typed as `kuche` is a good guess, `Frоnt Door` with a Cyrillic о
 * is an attack or an accident, and in both cases not the name itself.
 */
export function toStrictNameKey(text: string): string {
  return text
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[\s\p{Z}\p{P}]+/gu, ' ')
    .trim()
}

export function normaliseName(text: string): string {
  // Most names are ASCII, for which this is ten times faster.
  if (isAscii(text))
    return text
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, ' ')
      .trim()
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

/** Invisible characters are dropped here; in the other forms they separate. */
export function toConfusableSkeleton(text: string): string {
  if (isAscii(text)) return normaliseName(text)
  const plain = text
    .normalize('NFKC')
    .replaceAll(/\p{Cf}+/gu, '')
    .toLowerCase()
  return normaliseName(toLatinLookAlikes(plain))
}

/** Replaces letters of other scripts by the Latin ones that they look like. The text is in lower case. */
export function toLatinLookAlikes(text: string): string {
  return text.replaceAll(/\P{ASCII}/gu, (letter) => LOOKS_LIKE.get(letter) ?? letter)
}

function isAscii(text: string): boolean {
  return !/[^\x20-\x7e]/.test(text)
}

export function splitNameTokens(normal: string): readonly string[] {
  return normal === '' ? [] : [...new Set(normal.split(' '))]
}

/** The words of a normalised text, each once. */
export function listNormalisedWords(text: string): readonly string[] {
  return splitNameTokens(normaliseName(text))
}

/** True when only accents tell the two apart. */
export function isEqualIgnoringAccents(left: string, right: string): boolean {
  const withoutAccents = (text: string) =>
    toStrictNameKey(text)
      .normalize('NFD')
      .replaceAll(/\p{M}+/gu, '')
  return withoutAccents(left) === withoutAccents(right)
}

/** Letters of other scripts that pass for Latin ones in common typefaces (a selection of Unicode's confusables). */
const LOOKS_LIKE: ReadonlyMap<string, string> = new Map([
  ['а', 'a'],
  ['в', 'b'],
  ['с', 'c'],
  ['ԁ', 'd'],
  ['е', 'e'],
  ['һ', 'h'],
  ['н', 'h'],
  ['і', 'i'],
  ['ј', 'j'],
  ['к', 'k'],
  ['ӏ', 'l'],
  ['м', 'm'],
  ['о', 'o'],
  ['р', 'p'],
  ['ԛ', 'q'],
  ['г', 'r'],
  ['ѕ', 's'],
  ['т', 't'],
  ['ѵ', 'v'],
  ['ԝ', 'w'],
  ['х', 'x'],
  ['у', 'y'],
  ['ү', 'y'],
  ['α', 'a'],
  ['β', 'b'],
  ['ε', 'e'],
  ['η', 'n'],
  ['ι', 'i'],
  ['κ', 'k'],
  ['ν', 'v'],
  ['ο', 'o'],
  ['ρ', 'p'],
  ['τ', 't'],
  ['υ', 'u'],
  ['χ', 'x'],
  ['γ', 'y'],
  ['ω', 'w'],
  ['ϲ', 'c'],
  ['ϳ', 'j'],
  ['ո', 'n'],
  ['օ', 'o'],
  ['ս', 'u'],
  ['հ', 'h'],
  ['ց', 'g'],
  ['ք', 'p'],
  ['ɑ', 'a'],
  ['ɡ', 'g'],
  ['ı', 'i'],
  ['ɩ', 'i'],
  ['ȷ', 'j'],
  ['ʟ', 'l'],
  ['ɴ', 'n'],
  ['ᴏ', 'o'],
  ['ʀ', 'r'],
  ['ꜱ', 's'],
])
