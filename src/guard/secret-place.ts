/**
 * Secret place: members with innocent names whose neighbours say what they hold.
 *
 *   {key: 'gSMTPPassword', value: '…'}               the name is told as a value: what stands beside it is the secret
 *   {functionName: 'SetUserCode', params: [1, '…']}  told by position: nothing says which of them is one
 *
 * Pure.
 */
import type { Json } from '../core/json.ts'
import { namesSecret, wordsOf } from './secret-name.ts'

export interface Neighbours {
  /** One of them is the name of a secret. */
  readonly nameSecret: boolean
  /** They are a call by position. */
  readonly callByPosition: boolean
}

/** By the last word, so that `settingName` and `config_key` count, too. */
const NAMING = new Set(
  'key name id label setting property option parameter param variable field header attribute'.split(' '),
)
/** By all words: `new_value` is `newValue`. */
const NAMED = new Set(
  'value values val newvalue oldvalue currentvalue previousvalue defaultvalue new old before after previous current default from to text string'.split(
    ' ',
  ),
)
const CALLED = new Set('function functionname method methodname'.split(' '))
const POSITIONAL = new Set('params parameters args arguments'.split(' '))
/** What code gave back is as nameless as what it took: a function that reads a door code answers with it. */
const RETURNED = new Set('raw returned'.split(' '))

type Part = 'naming' | 'named' | 'called' | 'positional' | 'returned' | 'other'

export function neighboursAmong(members: readonly (readonly [name: string, value: Json])[]): Neighbours {
  let nameSecret = false
  let called = false
  let listed = false
  for (const [name, value] of members) {
    const part = partOf(name)
    if (part === 'naming') nameSecret ||= typeof value === 'string' && namesSecret(value)
    else if (part === 'called') called ||= typeof value === 'string'
    else if (part === 'positional') listed ||= Array.isArray(value)
  }
  return { nameSecret, callByPosition: called && listed }
}

/** Yes, no and nothing are no secrets: HomeSeer has a switch that is called `gNoPW192`. */
export function isNamedSecret(name: string, value: Json, { nameSecret }: Neighbours): boolean {
  return nameSecret && typeof value !== 'boolean' && value !== null && partOf(name) === 'named'
}

/** An empty list hides nothing, and says that there was nothing. */
export function isNamelessPart(name: string, value: Json, { callByPosition }: Neighbours): boolean {
  if (!callByPosition) return false
  const part = partOf(name)
  return part === 'returned' || (part === 'positional' && Array.isArray(value) && value.length > 0)
}

/** As in secret-name: names are a handful, and bounded because callers choose them. */
const known = new Map<string, Part>()
const KNOWN_LIMIT = 4_096
const MAX_NAME = 64

function partOf(name: string): Part {
  const cached = known.get(name)
  if (cached !== undefined) return cached
  const part = name.length > MAX_NAME ? 'other' : judge(wordsOf(name))
  if (known.size < KNOWN_LIMIT && name.length <= MAX_NAME) known.set(name, part)
  return part
}

function judge(words: readonly string[]): Part {
  const whole = words.join('')
  if (NAMED.has(whole)) return 'named'
  if (CALLED.has(whole)) return 'called'
  if (POSITIONAL.has(whole)) return 'positional'
  if (RETURNED.has(whole)) return 'returned'
  return NAMING.has(words.at(-1) ?? '') ? 'naming' : 'other'
}
