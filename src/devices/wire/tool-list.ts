/**
 * Tool list: one page of `tools/list` as a device gives it, and the `initialize` answer before it.
 *
 *   {"name":"self.audio_speaker.set_volume","description":"…","inputSchema":{"type":"object","properties":{…}},
 *    "annotations":{"audience":["user"]}}          annotations only on user-only tools
 *
 * A tool that cannot be used is left out and named in `skipped`; the other tools of the page are kept.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { isJsonObject, isNestedWithinDepth } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'

export interface DeviceTool {
  /** The name exactly as the device spells it, which it must get back in calls. */
  readonly name: string
  /** Untrusted text: it must be cleaned and bounded before it is shown to a model. */
  readonly description: string
  readonly inputSchema: JsonObject
  /** Hidden from models by spec 3; the device itself does not enforce it. */
  readonly userOnly: boolean
}

export interface ToolPage {
  readonly tools: readonly DeviceTool[]
  readonly nextCursor: string | undefined
  readonly skipped: readonly string[]
}

export interface DeviceServerInfo {
  /** The name of the board. */
  readonly name: string
  /** The version of the firmware. */
  readonly version: string
}

export type ToolListFault = { readonly kind: 'bad-list'; readonly problem: string }

const MAX_NAME = 256
const MAX_DESCRIPTION = 8_192
const MAX_SCHEMA_BYTES = 16_384
const MAX_SCHEMA_DEPTH = 16
const MAX_TOOLS_PER_PAGE = 512
const MAX_CURSOR = 512
const EMPTY_SCHEMA: JsonObject = { type: 'object', properties: {} }

export function decodeToolPage(result: Json): Result<ToolPage, ToolListFault> {
  if (!isJsonObject(result) || !Array.isArray(result['tools']))
    return fail({ kind: 'bad-list', problem: 'the answer has no list of tools' })
  const entries = result['tools'] as readonly Json[]
  if (entries.length > MAX_TOOLS_PER_PAGE)
    return fail({ kind: 'bad-list', problem: `${entries.length} tools on one page, ${MAX_TOOLS_PER_PAGE} allowed` })
  const tools: DeviceTool[] = []
  const skipped: string[] = []
  for (const entry of entries) {
    const tool = decodeTool(entry)
    if (tool.ok) tools.push(tool.value)
    else skipped.push(tool.fault)
  }
  const cursor = result['nextCursor']
  if (typeof cursor === 'string' && cursor.length > MAX_CURSOR)
    return fail({ kind: 'bad-list', problem: `a cursor of ${cursor.length} characters, ${MAX_CURSOR} allowed` })
  // Spec 3: only a non-empty cursor means that there is another page.
  return ok({ tools, skipped, nextCursor: typeof cursor === 'string' && cursor !== '' ? cursor : undefined })
}

function decodeTool(entry: Json): Result<DeviceTool, string> {
  if (!isJsonObject(entry) || typeof entry['name'] !== 'string' || entry['name'] === '')
    return fail('a tool without a name')
  const { name, description, inputSchema = EMPTY_SCHEMA } = entry
  if (name.length > MAX_NAME) return fail(`a tool whose name has ${name.length} characters`)
  if (!isJsonObject(inputSchema)) return fail(`${name}: its inputSchema is not an object`)
  if (!isNestedWithinDepth(inputSchema, MAX_SCHEMA_DEPTH - 1))
    return fail(`${name}: its inputSchema is nested too deeply`)
  if (JSON.stringify(inputSchema).length > MAX_SCHEMA_BYTES) return fail(`${name}: its inputSchema is too large`)
  return ok({
    name,
    description: typeof description === 'string' ? description.slice(0, MAX_DESCRIPTION).toWellFormed() : '',
    inputSchema,
    userOnly: isUserOnly(entry['annotations']),
  })
}

function isUserOnly(annotations: Json | undefined): boolean {
  if (!isJsonObject(annotations) || !Array.isArray(annotations['audience'])) return false
  const audience = annotations['audience'] as readonly Json[]
  return audience.includes('user') && !audience.includes('assistant')
}

/** Never fails: a device that answers at all can be listed, whatever name it gives. */
export function decodeServerInfo(result: Json): DeviceServerInfo {
  const info = isJsonObject(result) ? result['serverInfo'] : undefined
  const text = (value: Json | undefined) => (typeof value === 'string' ? value.slice(0, 128).toWellFormed() : '')
  return isJsonObject(info) ? { name: text(info['name']), version: text(info['version']) } : { name: '', version: '' }
}
