/**
 * Script and backup pages: the two web pages HomeSeer offers where its JSON interface has no request.
 *
 *   POST /runscript.html  action=run_script_command&scriptcommand=…   ▸  ["response","…"]  key, value, key, value
 *   POST /backup.html     action=backup                              ▸  ok
 */
import type { Json } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import {
  createFormPostHttpRequest,
  type HomeseerRequestDefinition,
  decodeJsonReply,
  type HomeseerReplyBody,
  type HomeseerReplyFault,
} from './http-exchange.ts'

export interface ScriptReply {
  readonly responseArray: readonly Json[]
  /** The array as pairs; a last key without value gets an empty one. */
  readonly commands: readonly { readonly key: string; readonly value: string }[]
}

export const SCRIPT_PAGE_PATH = '/runscript.html'
export const BACKUP_PAGE_PATH = '/backup.html'

/** More than a reply that a person would read, and few enough not to fill the memory. */
const MAX_ITEMS = 2_000
const MAX_COMPLAINT = 200

export function createScriptRunRequest(
  command: string,
  page: string = SCRIPT_PAGE_PATH,
): HomeseerRequestDefinition<ScriptReply> {
  const http = createFormPostHttpRequest(page, [
    ['action', 'run_script_command'],
    ['scriptcommand', command],
  ])
  return { name: 'runscript', effect: 'writes', http, decode: decodeScriptReply }
}

/**
 * The page's answer is not documented: a login page or an error was recognised before, and anything else counts as
 * success.
 */
export function createBackupRequest(): HomeseerRequestDefinition<void> {
  return {
    name: 'backup',
    effect: 'writes',
    http: createFormPostHttpRequest(BACKUP_PAGE_PATH, [['action', 'backup']]),
    decode: () => ok(undefined),
  }
}

export function decodeScriptReply(reply: HomeseerReplyBody): Result<ScriptReply, HomeseerReplyFault> {
  const json = decodeJsonReply(reply)
  if (!json.ok) return json
  if (!Array.isArray(json.value)) return fail({ kind: 'malformed', detail: 'a script reply that is not a list' })
  const responseArray = (json.value as readonly Json[]).slice(0, MAX_ITEMS)
  const commands = []
  for (let index = 0; index < responseArray.length; index += 2)
    commands.push({ key: scriptText(responseArray[index]), value: scriptText(responseArray[index + 1]) })
  return ok({ responseArray, commands })
}

/**
 * The error in a script's reply, if there is one: the page always answers with status 200, so only the text shows it.
 */
export function findScriptError({ commands }: ScriptReply): string | undefined {
  const complaint = commands.find(({ value }) => /^error\b/i.test(value.trim()))
  return complaint?.value.slice(0, MAX_COMPLAINT).toWellFormed()
}

function scriptText(item: Json | undefined): string {
  if (typeof item === 'string') return item
  return item === undefined || item === null ? '' : JSON.stringify(item)
}
