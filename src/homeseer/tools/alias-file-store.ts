/**
 * Alias file: the names that the owner wrote down.
 *
 * A name that is missing in silence is worse than a start that is refused, so whatever cannot be read is a sentence for
 * the owner, with all of it at once.
 */
import { readFileSync, statSync } from 'node:fs'
import { isJsonObject, type Json } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { readSystemErrorCode, readErrorMessage } from '../../core/thrown-error.ts'
import { parseConfiguredAliases, type Alias, type AliasFileFault } from '../resolve/alias.ts'

/** More than a household has names; a file of this size is another file. */
const MAX_BYTES = 1_000_000
const MAX_NAMED = 5

/** At the start only: a change of the file counts after the next one. The fault is a sentence for the owner. */
export function readAliasFile(path: string): Result<readonly Alias[], string> {
  const text = readText(path)
  if (!text.ok) return fail(sentence(path, text.fault))
  const value = parse(text.value)
  if (!value.ok) return fail(sentence(path, `is not valid JSON (${value.fault})`))
  if (!isJsonObject(value.value))
    return fail(sentence(path, 'holds no object such as {"device:101": ["reading lamp"]}'))
  const { aliases, faults } = parseConfiguredAliases(value.value)
  return faults.length === 0 ? ok(aliases) : fail(sentence(path, faultWords(faults)))
}

function sentence(path: string, what: string): string {
  return `homeseer.aliasFile: ${path} ${what}.`
}

function readText(path: string): Result<string, string> {
  try {
    const { size } = statSync(path)
    if (size > MAX_BYTES) return fail(`has ${size} bytes, and ${MAX_BYTES} are read at most`)
    // Editors on Windows begin a file with a byte-order mark.
    return ok(readFileSync(path, 'utf8').replace(/^\uFEFF/, ''))
  } catch (error) {
    const code = readSystemErrorCode(error) ?? 'unknown'
    return fail(code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`)
  }
}

function parse(text: string): Result<Json, string> {
  try {
    return ok(JSON.parse(text) as Json)
  } catch (error) {
    return fail(readErrorMessage(error))
  }
}

function faultWords(faults: readonly AliasFileFault[]): string {
  const words = faults.slice(0, MAX_NAMED).map(({ kind, key }) => {
    const quoted = JSON.stringify(key.slice(0, 100))
    return kind === 'bad-alias-key' ? `${quoted} is no key such as device:101` : `${quoted} holds no list of names`
  })
  const more = faults.length > MAX_NAMED ? `; and ${faults.length - MAX_NAMED} more` : ''
  return `has mistakes: ${words.join('; ')}${more}`
}
