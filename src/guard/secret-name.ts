/**
 * Secret name: argument names that give themselves away, in whatever spelling: `userPassword`, `API-Key`, `lock_code`.
 *
 * Pure.
 */

/** A name with one of these words in it is a secret, whatever else it says. */
const ALWAYS = new Set(
  'password passwd passphrase pwd secret credential credentials authorization cookie otp totp psk'.split(' '),
)

/** A name that ends in one of these is a secret; `token_count` and `pin_mode` are not. */
const AT_THE_END = new Set('pass pin pincode passcode token jwt bearer auth apikey usercode lockcode'.split(' '))

/** The last two words together. */
const PAIRS = new Set(
  [
    'api key',
    'access key',
    'private key',
    'secret key',
    'encryption key',
    'network key',
    'shared key',
    'pin code',
    'lock code',
    'unlock code',
    'door code',
    'gate code',
    'garage code',
    'entry code',
    'access code',
    'alarm code',
    'arm code',
    'disarm code',
    'security code',
    'user code',
    'guest code',
    'master code',
    'installer code',
    'service code',
    'pairing code',
    'setup code',
    'verification code',
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

function judge(words: readonly string[]): boolean {
  if (words.some((word) => ALWAYS.has(word))) return true
  const last = words.at(-1)
  if (last === undefined) return false
  return AT_THE_END.has(last) || PAIRS.has(last) || PAIRS.has(words.slice(-2).join(' '))
}

/** `setUserPIN2` → set, user, pin. */
function wordsOf(name: string): readonly string[] {
  return name
    .normalize('NFKC')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== '')
}
