/**
 * Secret name: names that give themselves away, in whatever spelling: `userPassword`, `API-Key`, `lock_code`,
 * `gSMTPPassword`.
 *
 * Pure.
 */

/**
 * A name with such a word in it is a secret, whatever else it says. Setting names run words together: `smtppassword`.
 */
const ALWAYS =
  /^(?:credentials?|authorization|cookies?|t?otp)$|(?:password|passwd|passphrase|passwort|kennwort|pwd|secret|psk)s?$/

/** A name that ends in such a word is a secret; `token_count` and `pin_mode` are not. */
const AT_THE_END = /^(?:pin|jwt|bearer|auth)$|(?:pass|pw|passcode|token|apikey)$/
/** What English makes of these endings otherwise. */
const HARMLESS = /^(?:(?:en)?compass|bypass|trespass|surpass|(?:over|under|low|high|band)pass|betoken)$/

/** The last two words together. */
const PAIRS = new Set(
  [
    ...pairs('key', 'api access private secret encryption network shared auth authentication security signing link'),
    ...pairs('key', 'wifi wpa wep license licence activation webhook master'),
    ...pairs('code', 'pin lock unlock door gate garage entry access alarm arm disarm security user guest master'),
    ...pairs('code', 'installer install service pairing setup verification activation keypad panel duress'),
  ].flatMap((pair) => [pair, pair.replace(' ', '')]),
)

/** Names are a handful, calls are many. Bounded: names come from callers. */
const known = new Map<string, boolean>()
const KNOWN_LIMIT = 4_096
const MAX_NAME = 200

export function isSecretName(name: string): boolean {
  const cached = known.get(name)
  if (cached !== undefined) return cached
  const secret = judge(wordsOf(name.slice(0, MAX_NAME)))
  if (known.size < KNOWN_LIMIT && name.length <= MAX_NAME) known.set(name, secret)
  return secret
}

/** Letters without which no name is a secret's. What is not ASCII may turn out to be. */
const MAY_BE_SECRET = /pass|pw|psk|kennwort|secret|credential|auth|cookie|otp|pin|jwt|bearer|token|key|code|[^\0-\x7f]/i

/**
 * The same for a name that is told as a value. Not remembered: values are without number, and may be secrets
 * themselves.
 */
export function namesSecret(value: string): boolean {
  return value.length <= MAX_NAME && MAY_BE_SECRET.test(value) && judge(wordsOf(value))
}

function judge(words: readonly string[]): boolean {
  if (words.some((word) => ALWAYS.test(word))) return true
  const last = words.at(-1)
  if (last === undefined) return false
  if (AT_THE_END.test(last) && !HARMLESS.test(last)) return true
  // Several codes are as secret as one; several tokens are what a model counts.
  const one = last.replace(/(code|key)s$/, '$1')
  return PAIRS.has(one) || PAIRS.has([...words.slice(-2, -1), one].join(' '))
}

function pairs(last: string, firsts: string): readonly string[] {
  return firsts.split(' ').map((first) => `${first} ${last}`)
}

/** `setUserPIN2` → set, user, pin. */
export function wordsOf(name: string): readonly string[] {
  return name
    .normalize('NFKC')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== '')
}
