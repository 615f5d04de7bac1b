/**
 * Number words: numbers as people say them, in English and German: `fifty`, `twenty-one`, `einundzwanzig`, `21,5`,
 * `twenty one point five`, `halb`.
 */
import { omitUndefined } from '../core/json.ts'
import { normaliseText, transliterateUmlauts } from './normalised-text.ts'

const SMALL: Readonly<Record<string, number>> = {
  zero: 0,
  null: 0,
  one: 1,
  ein: 1,
  eins: 1,
  eine: 1,
  einen: 1,
  two: 2,
  zwei: 2,
  zwo: 2,
  three: 3,
  drei: 3,
  four: 4,
  vier: 4,
  five: 5,
  fuenf: 5,
  six: 6,
  sechs: 6,
  seven: 7,
  sieben: 7,
  eight: 8,
  acht: 8,
  nine: 9,
  neun: 9,
  ten: 10,
  zehn: 10,
  eleven: 11,
  elf: 11,
  twelve: 12,
  zwoelf: 12,
  thirteen: 13,
  dreizehn: 13,
  fourteen: 14,
  vierzehn: 14,
  fifteen: 15,
  fuenfzehn: 15,
  sixteen: 16,
  sechzehn: 16,
  seventeen: 17,
  siebzehn: 17,
  eighteen: 18,
  achtzehn: 18,
  nineteen: 19,
  neunzehn: 19,
}
const TENS: Readonly<Record<string, number>> = {
  twenty: 20,
  zwanzig: 20,
  thirty: 30,
  dreissig: 30,
  forty: 40,
  fourty: 40,
  vierzig: 40,
  fifty: 50,
  fuenfzig: 50,
  sixty: 60,
  sechzig: 60,
  seventy: 70,
  siebzig: 70,
  eighty: 80,
  achtzig: 80,
  ninety: 90,
  neunzig: 90,
}
const WHOLE: Readonly<Record<string, number>> = { hundred: 100, hundert: 100, einhundert: 100, 'one hundred': 100 }
/** Fractions of the range, in percent. */
const FRACTIONS: Readonly<Record<string, number>> = {
  half: 50,
  halb: 50,
  halfway: 50,
  haelfte: 50,
  full: 100,
  voll: 100,
  max: 100,
  maximum: 100,
  minimum: 0,
  quarter: 25,
  viertel: 25,
  third: 33,
  drittel: 33,
  'two thirds': 67,
  'zwei drittel': 67,
  'three quarters': 75,
  'three quarter': 75,
  'drei viertel': 75,
  dreiviertel: 75,
}
const PERCENT = /%|\b(?:percent|prozent|pct)\b/g
const DEGREES = /°\s*c?\b|°|℃|\b(?:degrees?|grad|celsius)\b|(?<=\d)\s*c\b/g
const OPEN_SIDE = /\b(?:open|opened|offen|geoeffnet)$|(?<=.)\b(?:up|hoch|rauf|auf)$/
const CLOSED_SIDE = /\b(?:closed|shut|geschlossen)$|(?<=.)\b(?:down|runter|herunter|zu)$/
/** Words around a number that do not change it. */
const AROUND = /\b(?:to|auf|dim|dimmed|dimmen|gedimmt|set|brightness|helligkeit|level|position|the|ganz)\b/g
/** `at 7` and `on at 7` may be a time of day; `at 7 %` cannot be. */
const AROUND_WITH_UNIT = /\bat\b|^(?:on|an|ein)\s+(?=\S)/g
const DIGITS = /^(-?\d+(?:[.,]\d+)?)$/

export interface Quantity {
  readonly value: number
  readonly unit?: 'percent' | 'degrees'
  /** The direction that the number refers to, for a thing that opens: `30 % closed` is 70 % open. */
  readonly side?: 'open' | 'closed'
  /** Whether the text was a fraction, such as `half`. */
  readonly isFraction: boolean
}

/** Returns `undefined` for text that is not a number, or that contains a word that would change its meaning. */
export function parseQuantity(text: string): Quantity | undefined {
  const folded = transliterateUmlauts(text.trim().toLowerCase())
  const unit = folded.search(PERCENT) >= 0 ? 'percent' : folded.search(DEGREES) >= 0 ? 'degrees' : undefined
  const withoutUnit = folded.replaceAll(PERCENT, ' ').replaceAll(DEGREES, ' ').trim()
  const side = CLOSED_SIDE.test(withoutUnit) ? 'closed' : OPEN_SIDE.test(withoutUnit) ? 'open' : undefined
  const plain = (unit === undefined ? withoutUnit : withoutUnit.replaceAll(AROUND_WITH_UNIT, ' '))
    .replace(side === 'closed' ? CLOSED_SIDE : OPEN_SIDE, ' ')
    .replaceAll(AROUND, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
  const fraction = FRACTIONS[normaliseText(plain).replace(/^(?:an?|one|eine?[nr]?) /, '')]
  const value = fraction ?? parseNumberWords(plain)
  if (value === undefined || (fraction !== undefined && unit === 'degrees')) return undefined
  const given = fraction === undefined ? unit : 'percent'
  return {
    value,
    isFraction: fraction !== undefined,
    ...omitUndefined({ unit: given, side }),
  }
}

/** Parses a number in digits or words, with no other words around it. */
export function parseNumberWords(text: string): number | undefined {
  const plain = text.trim().toLowerCase()
  const digits = DIGITS.exec(plain)?.[1]
  if (digits !== undefined) return Number(digits.replace(',', '.'))
  const words = normaliseText(plain)
  const parts = words.split(/ (?:point|komma|comma) /)
  if (parts.length === 2) {
    const [whole, tenth] = [wholeNumber(parts[0] ?? ''), wholeNumber(parts[1] ?? '')]
    return whole === undefined || tenth === undefined || tenth > 9 ? undefined : whole + tenth / 10
  }
  const half = words.replace(/ (?:and a half|einhalb)$/, '').replace(/einhalb$/, '')
  if (half !== words) {
    const whole = wholeNumber(half)
    return whole === undefined ? undefined : whole + 0.5
  }
  return words === 'anderthalb' ? 1.5 : wholeNumber(words)
}

function wholeNumber(words: string): number | undefined {
  if (/^\d+$/.test(words)) return Number(words)
  const known = SMALL[words] ?? TENS[words] ?? WHOLE[words]
  if (known !== undefined) return known
  const [tens = '', unit = ''] = words.split(' ')
  if (words.split(' ').length === 2 && TENS[tens] !== undefined && SMALL[unit] !== undefined && SMALL[unit] < 10)
    return TENS[tens] + SMALL[unit]
  const german = /^(\p{L}+?)und(\p{L}+)$/u.exec(words)
  const [ones, decade] = [SMALL[german?.[1] ?? ''], TENS[german?.[2] ?? '']]
  return ones === undefined || decade === undefined || ones > 9 ? undefined : decade + ones
}
