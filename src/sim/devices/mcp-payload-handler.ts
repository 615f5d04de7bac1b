/**
 * MCP payload handler: what the firmware's MCP server makes of one payload. Most of what is wrong with a message is met
 * with silence.
 *
 *   payload ▸ nothing | a reply | a tool to run
 *
 * Replies are texts, because the firmware concatenates them and some become invalid JSON.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { findJsonFieldIgnoringCase } from '../../devices/wire/case-insensitive-json-field.ts'
import type { FirmwareProfile } from './firmware-profile.ts'
import type { FirmwareToolArguments, FirmwareToolProperty, FirmwareToolReturn, FirmwareTool } from './firmware-tool.ts'
import { encodeToolListPage } from './tool-pages.ts'

export type McpPayloadEffect =
  | { readonly kind: 'silence' }
  | {
      readonly kind: 'reply'
      readonly text: string
      readonly vision?: { readonly url: string; readonly token: string }
    }
  | {
      readonly kind: 'run'
      readonly id: number
      readonly tool: FirmwareTool
      readonly arguments: FirmwareToolArguments
    }

export interface McpPayloadContext {
  readonly profile: FirmwareProfile
  readonly board: string
  readonly tools: readonly FirmwareTool[]
}

const SILENCE: McpPayloadEffect = { kind: 'silence' }
const INT32_MAX = 2_147_483_647

/** In the order of the firmware's own checks: what fails one is never looked at by the next. */
export function handleMcpPayload(machine: McpPayloadContext, payload: Json | undefined): McpPayloadEffect {
  if (!isJsonObject(payload) || findJsonFieldIgnoringCase(payload, 'jsonrpc') !== '2.0') return SILENCE
  const method = findJsonFieldIgnoringCase(payload, 'method')
  if (typeof method !== 'string' || method.startsWith('notifications')) return SILENCE
  const params = findJsonFieldIgnoringCase(payload, 'params')
  if (params !== undefined && !isJsonObject(params)) return SILENCE
  const rawId = findJsonFieldIgnoringCase(payload, 'id')
  if (typeof rawId !== 'number') return SILENCE
  const id = clampToInt32(rawId)
  switch (method) {
    case 'initialize':
      return initialize(machine, id, params)
    case 'tools/list':
      return list(machine, id, params)
    case 'tools/call':
      return call(machine, id, params)
    default:
      return { kind: 'reply', text: errorReply(machine.profile, id, [-32_601, `Method not implemented: ${method}`]) }
  }
}

/** As cJSON stores numbers: truncated to an integer and clamped to 32 bits. */
export function clampToInt32(value: number): number {
  return Math.trunc(Math.min(Math.max(value, -INT32_MAX - 1), INT32_MAX)) + 0
}

/** Firmware answers its own version, whichever was requested. */
function initialize(machine: McpPayloadContext, id: number, params: JsonObject | undefined): McpPayloadEffect {
  const capabilities = params === undefined ? undefined : findJsonFieldIgnoringCase(params, 'capabilities')
  const vision = isJsonObject(capabilities) ? findJsonFieldIgnoringCase(capabilities, 'vision') : undefined
  const url = isJsonObject(vision) ? findJsonFieldIgnoringCase(vision, 'url') : undefined
  const token = isJsonObject(vision) ? findJsonFieldIgnoringCase(vision, 'token') : undefined
  const text = resultReply(
    id,
    JSON.stringify({
      protocolVersion: '2024-11-05',
      capabilities: { tools: {} },
      serverInfo: { name: machine.board, version: machine.profile.firmware },
    }),
  )
  if (typeof url !== 'string') return { kind: 'reply', text }
  return { kind: 'reply', text, vision: { url, token: typeof token === 'string' ? token : '' } }
}

function list({ profile, tools }: McpPayloadContext, id: number, params: JsonObject | undefined): McpPayloadEffect {
  const cursor = params === undefined ? undefined : findJsonFieldIgnoringCase(params, 'cursor')
  const wanted = params !== undefined && findJsonFieldIgnoringCase(params, 'withUserTools') === true
  // Firmware without user tools does not know the flag.
  const page = encodeToolListPage(tools, typeof cursor === 'string' ? cursor : '', wanted && profile.userTools)
  if (page.ok) return { kind: 'reply', text: resultReply(id, page.value) }
  return { kind: 'reply', text: errorReply(profile, id, [-32_603, page.fault]) }
}

function call({ profile, tools }: McpPayloadContext, id: number, params: JsonObject | undefined): McpPayloadEffect {
  const newer = profile.wording === 'new'
  const refuse = (message: string): McpPayloadEffect => ({
    kind: 'reply',
    text: errorReply(profile, id, [-32_602, message]),
  })
  if (params === undefined) return refuse('Missing params')
  const name = findJsonFieldIgnoringCase(params, 'name')
  if (typeof name !== 'string') return refuse(newer ? 'Missing tool name' : 'Missing name')
  const given = findJsonFieldIgnoringCase(params, 'arguments')
  if (given !== undefined && !isJsonObject(given))
    return refuse(newer ? 'Invalid arguments: expected object' : 'Invalid arguments')
  // A user-only tool can be called, because the firmware only hides it from the list.
  const tool = tools.find((candidate) => candidate.name === name)
  if (tool === undefined) return refuse(`Unknown tool: ${name}`)
  const args = bind(profile, tool.properties, given ?? {})
  return args.ok ? { kind: 'run', id, tool, arguments: args.value } : refuse(args.fault)
}

function bind(
  profile: FirmwareProfile,
  properties: readonly FirmwareToolProperty[],
  given: JsonObject,
): Result<FirmwareToolArguments, string> {
  const bound: Record<string, boolean | number | string> = {}
  for (const property of properties) {
    const { name } = property
    const value = findJsonFieldIgnoringCase(given, name)
    // In older firmware a wrong type counts as missing, so the default is silently used.
    const fitting = fit(property, value)
    if (fitting === undefined && value !== undefined && profile.wording === 'new')
      return fail(`Invalid type for argument: ${name}`)
    const used = fitting ?? property.default
    if (used === undefined)
      return fail(`${profile.wording === 'new' ? 'Missing required' : 'Missing valid'} argument: ${name}`)
    if (typeof used === 'number' && property.min !== undefined && used < property.min)
      return fail(`Value is below minimum allowed: ${property.min}`)
    if (typeof used === 'number' && property.max !== undefined && used > property.max)
      return fail(`Value exceeds maximum allowed: ${property.max}`)
    bound[name] = used
  }
  return ok(bound)
}

function fit({ type }: FirmwareToolProperty, value: Json | undefined): boolean | number | string | undefined {
  if (type === 'boolean') return typeof value === 'boolean' ? value : undefined
  if (type === 'integer') return typeof value === 'number' ? clampToInt32(value) : undefined
  return typeof value === 'string' ? value : undefined
}

function resultReply(id: number, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`
}

function errorReply(profile: FirmwareProfile, id: number, [code, message]: readonly [number, string]): string {
  const said = profile.escapesErrors ? JSON.stringify(message) : `"${message}"`
  // py-xiaozhi has one code for everything.
  const number = profile.name === 'py' ? -32_603 : code
  const head = profile.errorCodes ? `"code":${number},` : ''
  return `{"jsonrpc":"2.0","id":${id},"error":{${head}"message":${said}}}`
}

/** One item, never flagged as an error; a picture arrives as JSON inside a string. */
export function encodeToolReturn(id: number, returned: FirmwareToolReturn): string {
  const content = (item: JsonObject) => resultReply(id, JSON.stringify({ content: [item], isError: false }))
  if (typeof returned === 'string') return content({ type: 'text', text: returned })
  if (typeof returned !== 'object') return content({ type: 'text', text: String(returned) })
  if (!isPicture(returned)) return content({ type: 'text', text: JSON.stringify(returned) })
  const data = Buffer.from(returned.jpeg).toString('base64')
  return content({ type: 'image', image: JSON.stringify({ type: 'image', mimeType: 'image/jpeg', data }) })
}

function isPicture(returned: object): returned is { readonly jpeg: Uint8Array } {
  return 'jpeg' in returned && returned.jpeg instanceof Uint8Array
}

export function encodeToolFailure(profile: FirmwareProfile, id: number, message: string): string {
  if (profile.toolFailure === 'error') return errorReply(profile, id, [-32_603, message])
  return resultReply(id, JSON.stringify({ content: [{ type: 'text', text: message }], isError: true }))
}
