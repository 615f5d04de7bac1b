/**
 * Telegram: what a primary and a secondary command byte are about, in words, for those that are known.
 *
 * Pure.
 */
const MEANINGS: Readonly<Record<string, string>> = {
  '0700': 'date and time',
  '0704': 'who are you',
  '07fe': 'is anybody there',
  '07ff': 'sign of life',
  b504: 'operating data',
  b505: 'operating mode',
  b509: 'register of a device',
  b510: 'what the boiler shall do',
  b511: 'what the boiler does',
  b512: 'pumps and valves',
  b516: 'outside temperature, energy',
  b524: 'register of the regulator',
  b555: 'weekly program',
  fe01: 'error message',
}

/** `b5 24 · register of the regulator`; `undefined` where the bytes are not known. */
export function telegramText(primary: number | undefined, secondary: number | undefined): string | undefined {
  if (primary === undefined || secondary === undefined) return undefined
  const [first, second] = [primary, secondary].map((byte) => byte.toString(16).padStart(2, '0'))
  const meaning = MEANINGS[`${first}${second}`]
  return `${first} ${second}${meaning === undefined ? '' : ` · ${meaning}`}`
}
