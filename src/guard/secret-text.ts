/**
 * Secret text: secrets inside running text: a URL with a password in it, a statement that sets one.
 *
 *   http://anna:…@10.0.0.5/                           what has the form of a credential
 *   hs.SaveINISetting("Settings","gSMTPPassword","…") what follows the name of a secret
 *
 * Pure.
 */
import { namesSecret } from './secret-name.ts'

export const REDACTED = '[redacted]'

const SHORTEST_CREDENTIAL = 8
/** How far a credential reaches that is found by its form. */
export const LONGEST_CREDENTIAL = 1_100
/** One cheap look spares most texts the careful ones. */
const MAY_HOLD_CREDENTIAL = /_|:\/\/|=|bearer|basic/i
const MAY_HOLD_NAME = /[="'`]/

/** Text as it may be kept. */
export function redactText(text: string): string {
  const shown = redactCredentials(text)
  return text.length < SHORTEST_CREDENTIAL || !MAY_HOLD_NAME.test(text) ? shown : hideAfterNames(shown)
}

/** What has the form of a credential, and all that could be part of it. */
function redactCredentials(text: string): string {
  if (text.length < SHORTEST_CREDENTIAL || !MAY_HOLD_CREDENTIAL.test(text)) return text
  return text
    .replaceAll(OWN_TOKEN, REDACTED)
    .replaceAll(/\b(bearer|basic)\s+[A-Za-z0-9+/=._~-]{8,}/gi, `$1 ${REDACTED}`)
    .replaceAll(/(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#@]{1,512}@/gi, `$1${REDACTED}@`)
    .replaceAll(
      /([?&](?:pass|password|pwd|token|key|secret|apikey|api_key|access_token)=)[^&#\s]{1,1024}/gi,
      `$1${REDACTED}`,
    )
}

/**
 * For an approver, who has to read the rest, such as a script before it runs: only what cannot be code is hidden. With
 * a quote or a bracket in it, the hidden part could hold a call (`"http://"&hs.Unlock(…)&"@"`).
 */
export function redactForApprover(text: string): string {
  if (text.length < SHORTEST_CREDENTIAL || !MAY_HOLD_CREDENTIAL.test(text)) return text
  return text
    .replaceAll(OWN_TOKEN, REDACTED)
    .replaceAll(/\b(bearer|basic) [A-Za-z0-9][A-Za-z0-9+/=_~-]{7,}(?![\w.])/gi, `$1 ${REDACTED}`)
    .replaceAll(/(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[\w.~%:-]{1,512}@/gi, `$1${REDACTED}@`)
    .replaceAll(
      /([?&](?:pass|password|pwd|token|key|secret|apikey|api_key|access_token)=)[\w.~%-]{1,1024}/gi,
      (found: string, name: string, at: number, whole: string) =>
        isInsideUrl(whole, at) ? `${name}${REDACTED}` : found,
    )
}

const OWN_TOKEN = /\b(?:hb|chg)_[A-Za-z0-9_-]{20,}/g

/** `&key=` joins two texts in some languages; behind an address, without a quote in between, it is part of it. */
function isInsideUrl(text: string, at: number): boolean {
  return /:\/\/[^\s"'`()]*$/.test(text.slice(Math.max(0, at - LONGEST_CREDENTIAL), at))
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
    if (!namesSecret(found[2] ?? found[4] ?? '')) continue
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
  if (text.startsWith(REDACTED, at)) return { shown: REDACTED, end: at + REDACTED.length }
  if (isQuote(text[at])) return { shown: quoted(text, at), end: literalEnd(text, at) }
  const end = endOf(/[^\s,;&#)}\]]+/y, text, at)
  return { shown: end === at ? '' : REDACTED, end }
}

/** Every literal among the arguments that follow: which of them is the secret, only the function knows. */
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
      shown += /^\p{N}/u.test(said) ? REDACTED : said
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
  return `${text[at]}${REDACTED}${text[at]}`
}

/** Behind the closing quote, or the end of the text. A backslash and a doubled quote keep a literal open. */
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
