/**
 * Alias file: the names that the owner wrote in a file.
 *
 * A name that is missing without notice is worse than a refused start, so everything that cannot be read is reported to
 * the owner at once.
 */
import { readFileSync, statSync } from 'node:fs'
import { isJsonObject, type Json } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { readSystemErrorCode, readErrorMessage } from '../../core/thrown-error.ts'
import { parseConfiguredAliases, type Alias, type AliasFileFault } from '../resolve/alias.ts'

/** More than a household needs; a larger file is probably another one. */
const MAX_BYTES = 1_000_000
const MAX_NAMED = 5

/**
 * Read at the start only, so a change of the file takes effect at the next start. The fault is a sentence for the
 * owner.
 */
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
    return kind === 'bad-alias-key' ? `${quoted} is not a key such as device:101` : `${quoted} holds no list of names`
  })
  const more = faults.length > MAX_NAMED ? `; and ${faults.length - MAX_NAMED} more` : ''
  return `has mistakes: ${words.join('; ')}${more}`
}
