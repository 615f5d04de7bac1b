/** Secret detection: recognises secrets by their names, by their neighbours, or inside running text. */
import type { Json } from '../core/json.ts'

// Secret names, in whatever spelling: `userPassword`, `API-Key`, `lock_code`, `gSMTPPassword`.

/**
 * A name that contains such a word is a secret's, whatever else it says. Names of settings run words together:
 * `smtppassword`.
 */
const ALWAYS =
  /^(?:credentials?|authorization|cookies?|t?otp)$|(?:password|passwd|passphrase|passwort|kennwort|pwd|secret|psk)s?$/

/** A name that ends in such a word is a secret's; `token_count` and `pin_mode` are not. */
const AT_THE_END = /^(?:pin|jwt|bearer|auth)$|(?:pass|pw|passcode|token|apikey)$/
/** English words with these endings that are harmless. */
const HARMLESS = /^(?:(?:en)?compass|bypass|trespass|surpass|(?:over|under|low|high|band)pass|betoken)$/

/** Pairs of words that end the names of secrets. */
const PAIRS = new Set(
  [
    ...pairs('key', 'api access private secret encryption network shared auth authentication security signing link'),
    ...pairs('key', 'wifi wpa wep license licence activation webhook master'),
    ...pairs('code', 'pin lock unlock door gate garage entry access alarm arm disarm security user guest master'),
    ...pairs('code', 'installer install service pairing setup verification activation keypad panel duress'),
  ].flatMap((pair) => [pair, pair.replace(' ', '')]),
)

/** Cached, because names are few and calls are many. Bounded, because callers choose the names. */
const knownNames = new Map<string, boolean>()
const KNOWN_LIMIT = 4_096
const MAX_NAME = 200

export function isSecretName(name: string): boolean {
  const cached = knownNames.get(name)
  if (cached !== undefined) return cached
  const secret = isSecretByWords(splitNameWords(name.slice(0, MAX_NAME)))
  if (knownNames.size < KNOWN_LIMIT && name.length <= MAX_NAME) knownNames.set(name, secret)
  return secret
}

/** Every secret's name contains one of these; a name that is not ASCII is checked in full. */
const MAY_BE_SECRET = /pass|pw|psk|kennwort|secret|credential|auth|cookie|otp|pin|jwt|bearer|token|key|code|[^\0-\x7f]/i

/**
 * Whether a value is the name of a secret. Not cached: there are too many values, and they may be secrets themselves.
 */
function isSecretNameInValue(value: string): boolean {
  return value.length <= MAX_NAME && MAY_BE_SECRET.test(value) && isSecretByWords(splitNameWords(value))
}

function isSecretByWords(words: readonly string[]): boolean {
  if (words.some((word) => ALWAYS.test(word))) return true
  const last = words.at(-1)
  if (last === undefined) return false
  if (AT_THE_END.test(last) && !HARMLESS.test(last)) return true
  // Several codes are as secret as one; `tokens` in the plural, however, are what a model counts.
  const one = last.replace(/(code|key)s$/, '$1')
  return PAIRS.has(one) || PAIRS.has([...words.slice(-2, -1), one].join(' '))
}

function pairs(last: string, firsts: string): readonly string[] {
  return firsts.split(' ').map((first) => `${first} ${last}`)
}

/** `setUserPIN2` → set, user, pin. */
function splitNameWords(name: string): readonly string[] {
  return name
    .normalize('NFKC')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== '')
}

// Secret member: members with innocent names whose neighbours say what they hold.
//
//   {key: 'gSMTPPassword', value: '…'}               the name is given as a value: the member beside it is the secret
//   {functionName: 'SetUserCode', params: [1, '…']}  positional arguments: nothing says which of them is a secret

export interface SiblingMemberFacts {
  /** One of the members is the name of a secret. */
  readonly nameSecret: boolean
  /** The members form a call with positional arguments. */
  readonly callByPosition: boolean
}

/**
 * Names of members whose value is itself a name. The last word decides, so that `settingName` and `config_key` count,
 * too.
 */
const NAMING = new Set(
  'key name id label setting property option parameter param variable field header attribute'.split(' '),
)
/** Names of members that hold the value beside such a name. All words are compared: `new_value` is `newValue`. */
const NAMED = new Set(
  'value values val newvalue oldvalue currentvalue previousvalue defaultvalue new old before after previous current default from to text string'.split(
    ' ',
  ),
)
const CALLED = new Set('function functionname method methodname'.split(' '))
const POSITIONAL = new Set('params parameters args arguments'.split(' '))
/** The result of code has no names either: a function that reads a door code answers with the code. */
const RETURNED = new Set('raw returned'.split(' '))

type Part = 'naming' | 'named' | 'called' | 'positional' | 'returned' | 'other'

export function findSiblingMemberFacts(members: readonly (readonly [name: string, value: Json])[]): SiblingMemberFacts {
  let nameSecret = false
  let called = false
  let listed = false
  for (const [name, value] of members) {
    const part = partOf(name)
    if (part === 'naming') nameSecret ||= typeof value === 'string' && isSecretNameInValue(value)
    else if (part === 'called') called ||= typeof value === 'string'
    else if (part === 'positional') listed ||= Array.isArray(value)
  }
  return { nameSecret, callByPosition: called && listed }
}

/** `true`, `false` and `null` are no secrets: HomeSeer has a switch that is called `gNoPW192`. */
export function isSecretBySibling(name: string, value: Json, { nameSecret }: SiblingMemberFacts): boolean {
  return nameSecret && typeof value !== 'boolean' && value !== null && partOf(name) === 'named'
}

/** An empty list is shown, since it hides nothing. */
export function isPositionalCallSecret(name: string, value: Json, { callByPosition }: SiblingMemberFacts): boolean {
  if (!callByPosition) return false
  const part = partOf(name)
  return part === 'returned' || (part === 'positional' && Array.isArray(value) && value.length > 0)
}

/** The parts of names, cached and bounded like the names. */
const knownParts = new Map<string, Part>()
const MAX_PART_NAME = 64

function partOf(name: string): Part {
  const cached = knownParts.get(name)
  if (cached !== undefined) return cached
  const part = name.length > MAX_PART_NAME ? 'other' : partByWords(splitNameWords(name))
  if (knownParts.size < KNOWN_LIMIT && name.length <= MAX_PART_NAME) knownParts.set(name, part)
  return part
}

function partByWords(words: readonly string[]): Part {
  const whole = words.join('')
  if (NAMED.has(whole)) return 'named'
  if (CALLED.has(whole)) return 'called'
  if (POSITIONAL.has(whole)) return 'positional'
  if (RETURNED.has(whole)) return 'returned'
  return NAMING.has(words.at(-1) ?? '') ? 'naming' : 'other'
}

// Secret text: secrets inside running text: a URL with a password in it, a statement that sets one.
//
//   http://anna:…@10.0.0.5/                           a text in the form of a credential
//   hs.SaveINISetting("Settings","gSMTPPassword","…") what follows the name of a secret

export const REDACTED_PLACEHOLDER = '[redacted]'

const SHORTEST_CREDENTIAL = 8
/** The longest credential that is found by its form. */
const MAX_CREDENTIAL_LENGTH = 1_100
/** A cheap test that spares most texts the expensive ones. */
const MAY_HOLD_CREDENTIAL = /_|:\/\/|=|bearer|basic/i
const MAY_HOLD_NAME = /[="'`]/

/** The text without its secrets, as it may be stored. */
export function redactText(text: string): string {
  const shown = redactCredentials(text)
  return text.length < SHORTEST_CREDENTIAL || !MAY_HOLD_NAME.test(text) ? shown : hideAfterNames(shown)
}

/**
 * The words of a person or a model, such as a reason, as they are stored beside the log. A credential that only begins
 * within the limit is not recognised by its first half, so more than the limit is searched, and what is not known to be
 * whole is left out.
 */
export function truncateAndRedactText(text: string, maxLength: number, redact = redactText): string {
  const searched = text.slice(0, maxLength + MAX_CREDENTIAL_LENGTH)
  const shown = redact(searched)
  const known = searched.length < text.length ? Math.max(0, shown.length - MAX_CREDENTIAL_LENGTH) : shown.length
  return shown.slice(0, Math.min(known, maxLength)).toWellFormed()
}

/** Hides what has the form of a credential, and everything that could be part of it. */
function redactCredentials(text: string): string {
  if (text.length < SHORTEST_CREDENTIAL || !MAY_HOLD_CREDENTIAL.test(text)) return text
  return text
    .replaceAll(OWN_TOKEN, REDACTED_PLACEHOLDER)
    .replaceAll(/\b(bearer|basic)\s+[A-Za-z0-9+/=._~-]{8,}/gi, `$1 ${REDACTED_PLACEHOLDER}`)
    .replaceAll(/(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#@]{1,512}@/gi, `$1${REDACTED_PLACEHOLDER}@`)
    .replaceAll(
      /([?&](?:pass|password|pwd|token|key|secret|apikey|api_key|access_token)=)[^&#\s]{1,1024}/gi,
      `$1${REDACTED_PLACEHOLDER}`,
    )
}

/**
 * For an approver, who has to read the rest, such as a script before it runs: only what cannot be code is hidden. A
 * hidden part with a quote or a bracket in it could contain a call (`"http://"&hs.Unlock(…)&"@"`).
 */
export function redactTextForApprover(text: string): string {
  if (text.length < SHORTEST_CREDENTIAL || !MAY_HOLD_CREDENTIAL.test(text)) return text
  return text
    .replaceAll(OWN_TOKEN, REDACTED_PLACEHOLDER)
    .replaceAll(/\b(bearer|basic) [A-Za-z0-9][A-Za-z0-9+/=_~-]{7,}(?![\w.])/gi, `$1 ${REDACTED_PLACEHOLDER}`)
    .replaceAll(/(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[\w.~%:-]{1,512}@/gi, `$1${REDACTED_PLACEHOLDER}@`)
    .replaceAll(
      /([?&](?:pass|password|pwd|token|key|secret|apikey|api_key|access_token)=)[\w.~%-]{1,1024}/gi,
      (found: string, name: string, at: number, whole: string) =>
        isInsideUrl(whole, at) ? `${name}${REDACTED_PLACEHOLDER}` : found,
    )
}

const OWN_TOKEN = /\b(?:hb|chg)_[A-Za-z0-9_-]{20,}/g

/**
 * `&key=` joins two texts in some languages; after an address, without a quote in between, it is part of the address.
 */
function isInsideUrl(text: string, at: number): boolean {
  return /:\/\/[^\s"'`()]*$/.test(text.slice(Math.max(0, at - MAX_CREDENTIAL_LENGTH), at))
}

/**
 * A name and what joins it to a value: in quotes `"pin": …`, `"pin", …`; bare `pin = …`, and `pin: "…"`, because in a
 * sentence a bare colon joins anything.
 */
const NAME =
  /(["'`])([\p{L}\p{N}_. /-]{1,64})\1\s*(=>|:=|={1,3}|[:,])\s*|(?<![\p{L}\p{N}_.-])([\p{L}_][\p{L}\p{N}_.-]{0,63})\s*(:=|={1,3}|:(?=\s*["'`]))\s*/gu

function hideAfterNames(text: string): string {
  let shown = ''
  let from = 0
  NAME.lastIndex = 0
  for (let found = NAME.exec(text); found !== null; found = NAME.exec(text)) {
    if (!isSecretNameInValue(found[2] ?? found[4] ?? '')) continue
    const at = NAME.lastIndex
    const hidden = found[3] === ',' ? hideArguments(text, at) : hideValue(text, at)
    shown += text.slice(from, at) + hidden.shown
    from = hidden.end
    NAME.lastIndex = from
  }
  return shown + text.slice(from)
}

interface Hidden {
  readonly shown: string
  readonly end: number
}

/** One value: a literal, or all up to the next blank or mark. */
function hideValue(text: string, at: number): Hidden {
  if (text.startsWith(REDACTED_PLACEHOLDER, at))
    return { shown: REDACTED_PLACEHOLDER, end: at + REDACTED_PLACEHOLDER.length }
  if (isQuote(text[at])) return { shown: quoted(text, at), end: literalEnd(text, at) }
  const end = endOf(/[^\s,;&#)}\]]+/y, text, at)
  return { shown: end === at ? '' : REDACTED_PLACEHOLDER, end }
}

/** Every literal among the following arguments: only the function knows which of them is the secret. */
function hideArguments(text: string, from: number): Hidden {
  let shown = ''
  let depth = 0
  let at = from
  while (at < text.length) {
    const sign = text[at] ?? ''
    if (isQuote(sign)) {
      shown += quoted(text, at)
      at = literalEnd(text, at)
      continue
    }
    const word = endOf(/[\p{L}\p{N}_.]+/uy, text, at)
    if (word > at) {
      const said = text.slice(at, word)
      shown += /^\p{N}/u.test(said) ? REDACTED_PLACEHOLDER : said
      at = word
      continue
    }
    if ('([{'.includes(sign)) depth++
    if (')]}'.includes(sign) && depth-- === 0) break
    if (sign === ';' || sign === '\n') break
    shown += sign
    at++
  }
  return { shown, end: at }
}

function isQuote(sign: string | undefined): boolean {
  return sign === '"' || sign === "'" || sign === '`'
}

function quoted(text: string, at: number): string {
  return `${text[at]}${REDACTED_PLACEHOLDER}${text[at]}`
}

/**
 * The position after the closing quote, or the end of the text. A backslash and a doubled quote keep a literal open.
 */
function literalEnd(text: string, at: number): number {
  const quote = text[at]
  for (let next = at + 1; next < text.length; next++) {
    if (text[next] === '\\') next++
    else if (text[next] === quote) {
      if (text[next + 1] !== quote) return next + 1
      next++
    }
  }
  return text.length
}

function endOf(sticky: RegExp, text: string, at: number): number {
  sticky.lastIndex = at
  return sticky.test(text) ? sticky.lastIndex : at
}
