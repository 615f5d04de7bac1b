/**
 * Alias file: the names that the owner wrote down.
 *
 * Does I/O.
 */
import { readFileSync } from 'node:fs'
import { isJsonObject, type Json } from '../../core/json.ts'
import { configuredAliases, type Alias } from '../resolve/alias.ts'

/** Throws a sentence for the owner: a name that is missing in silence is worse than a start that is refused. */
export function readAliasFile(path: string): readonly Alias[] {
  const value = JSON.parse(readFileSync(path, 'utf8').replace(/^\uFEFF/, '')) as Json
  if (!isJsonObject(value)) throw new TypeError(`${path}: not an object of names`)
  const { aliases, faults } = configuredAliases(value)
  const [fault] = faults
  if (fault === undefined) return aliases
  const what = fault.kind === 'bad-alias-key' ? 'is no key such as device:101' : 'holds no list of names'
  throw new TypeError(`${path}: ${JSON.stringify(fault.key)} ${what}`)
}
