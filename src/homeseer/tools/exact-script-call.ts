/**
 * Exact call: code on HomeSeer, named so that trust in one call is trust in no other.
 *
 *   evening.vb                   a script, called without arguments
 *   evening.vb("Main",1)         the same script with these very arguments: another call
 *   anything else                code: nobody can say by its name what it does
 *
 * A command counts as a script only if all of it is one name and literal arguments; a second statement behind a trusted
 * name is not its argument.
 */
import { redactText } from '../../guard/secret-detection.ts'
import { truncateText } from './json-text.ts'

export interface NormalisedScriptOrPluginCall {
  /** In lower case: what an allow list names. */
  readonly name: string
  /** Name and arguments in one spelling. */
  readonly whole: string
  readonly hasArguments: boolean
}

/** The name of code that is no call of one script; no list can hold it. */
export const INLINE_CODE_CALL_NAME = '(code)'

const SCRIPT = /^\s*"?([\p{L}\p{N}_-][\p{L}\p{N}_. -]*\.(?:vb|vben|vbs|cs|txt|js|py|pl))"?\s*(?:\(([^]*)\))?\s*$/iu
/** A text without quotes and backslashes in it, a number, true or false. */
const LITERAL = /^(?:"[^"\\\r\n]*"|-?\d{1,15}(?:\.\d{1,10})?|true|false)$/i

/** `undefined` for whatever is more than one script with literal arguments. */
export function parseScriptCall(command: string): NormalisedScriptOrPluginCall | undefined {
  const [, name, inside] = SCRIPT.exec(command) ?? []
  if (name === undefined) return undefined
  const given = inside === undefined || inside.trim() === '' ? [] : splitArguments(inside)
  if (!given.every((argument) => LITERAL.test(argument))) return undefined
  return exactCall(name, given)
}

export function normalisePluginFunctionCall(
  name: string,
  parameters: readonly (string | number | boolean)[],
): NormalisedScriptOrPluginCall {
  return exactCall(
    name,
    parameters.map((parameter) => JSON.stringify(parameter)),
  )
}

function exactCall(name: string, given: readonly string[]): NormalisedScriptOrPluginCall {
  const plain = name.trim().toLowerCase()
  return {
    name: plain,
    whole: given.length === 0 ? plain : `${plain}(${given.join(',')})`,
    hasArguments: given.length > 0,
  }
}

/** At commas outside of quotes. */
function splitArguments(text: string): readonly string[] {
  return (text.match(/(?:"[^"]*"|[^,"])+|(?<=,)(?=,|$)/g) ?? []).map((part) => part.trim())
}

/**
 * How limits, rules and the ledger name the call. Arguments may be secrets, and the ledger keeps targets for good: they
 * stand in it only where the owner's own list has them.
 */
export function toScriptOrPluginCallTarget(
  call: NormalisedScriptOrPluginCall,
  listed: readonly string[] | undefined,
): string {
  if (!call.hasArguments) return truncateText(redactText(call.name), 200)
  return isScriptOrPluginCallListed(call, listed)
    ? truncateText(call.whole, 200)
    : `${truncateText(redactText(call.name), 196)}(…)`
}

/** Whether the owner's list names this very call, arguments included. */
export function isScriptOrPluginCallListed(
  { whole }: NormalisedScriptOrPluginCall,
  listed: readonly string[] | undefined,
): boolean {
  return listed?.some((entry) => spelling(entry) === whole) ?? false
}

/** An entry of a list without its arguments: what may be called at all. */
export function parseAllowListEntryName(entry: string): string {
  const [name = ''] = entry.split('(')
  return name.trim().toLowerCase()
}

function spelling(entry: string): string {
  const inside = /^[^(]*\(([^]*)\)\s*$/.exec(entry)?.[1]
  return inside === undefined
    ? entry.trim().toLowerCase()
    : exactCall(parseAllowListEntryName(entry), splitArguments(inside)).whole
}
