/**
 * Normalised text: the form in which names and requests are compared: lower case, umlauts written out, without accents
 * and punctuation.
 */
export function normaliseText(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/['’]s\b/g, ' ')
    .replaceAll('ä', 'ae')
    .replaceAll('ö', 'oe')
    .replaceAll('ü', 'ue')
    .replaceAll('ß', 'ss')
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}
