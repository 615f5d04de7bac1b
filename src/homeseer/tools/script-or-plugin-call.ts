/**
 * Script or plug-in call: a name for code on HomeSeer, such that trust in one call does not extend to another.
 *
 *   evening.vb                   a script, called without arguments
 *   evening.vb("Main",1)         the same script with these very arguments: another call
 *   anything else                code, whose effect cannot be told from a name
 *
 * A command counts as a script only if all of it is one name and literal arguments; a second statement behind a trusted
 * name is not its argument.
 */
import { redactText } from '../../guard/secret-detection.ts'
import { truncateText } from './json-text.ts'

export interface NormalisedScriptOrPluginCall {
  /** In lower case: what an allow list names. */
  readonly name: string
  /** Name and arguments in a normalised spelling. */
  readonly whole: string
  readonly hasArguments: boolean
}

/** The name of code that is not a single script call; no list can contain it. */
export const INLINE_CODE_CALL_NAME = '(code)'

const SCRIPT = /^\s*"?([\p{L}\p{N}_-][\p{L}\p{N}_. -]*\.(?:vb|vben|vbs|cs|txt|js|py|pl))"?\s*(?:\(([^]*)\))?\s*$/iu
/** A text without quotes and backslashes in it, a number, true or false. */
const LITERAL = /^(?:"[^"\\\r\n]*"|-?\d{1,15}(?:\.\d{1,10})?|true|false)$/i

/** Returns `undefined` for anything but one script with literal arguments. */
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

/** Splits at commas outside of quotes. */
function splitArguments(text: string): readonly string[] {
  return (text.match(/(?:"[^"]*"|[^,"])+|(?<=,)(?=,|$)/g) ?? []).map((part) => part.trim())
}

/**
 * The name of the call for limits, rules and the ledger. Arguments may be secrets, and the ledger keeps targets for
 * ever, so they are included only if the owner's list contains them.
 */
export function formatRedactedCallTarget(
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
  return listed?.some((entry) => toComparableCall(entry) === whole) ?? false
}

/** The name in an entry of a list, without arguments: what may be called at all. */
export function toAllowListedCallName(entry: string): string {
  const [name = ''] = entry.split('(')
  return name.trim().toLowerCase()
}

function toComparableCall(entry: string): string {
  const inside = /^[^(]*\(([^]*)\)\s*$/.exec(entry)?.[1]
  return inside === undefined
    ? entry.trim().toLowerCase()
    : exactCall(toAllowListedCallName(entry), splitArguments(inside)).whole
}
