/**
 * Normalised text: the form in which names and requests are compared: lower case, umlauts written out, without accents
 * and punctuation.
 */
export function normaliseText(text: string): string {
  return transliterateUmlauts(text.toLowerCase().replaceAll(/['’]s\b/g, ' '))
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

/** Of a text in lower case: `küche` as `kueche`, `groß` as `gross`. */
export function transliterateUmlauts(text: string): string {
  return text.replaceAll('ä', 'ae').replaceAll('ö', 'oe').replaceAll('ü', 'ue').replaceAll('ß', 'ss')
}
