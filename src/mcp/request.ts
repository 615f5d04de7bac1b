/**
 * Request: which catalogue a URL leads to, what MCP clients ask in either era, with parameters of the right shape, and
 * the W3C trace that they are already in (Trace Context § 3.2), so that ours continues it.
 *
 *   /mcp            everything that the caller may see        ?names=underscore   spelt without dots
 *   /mcp/<profile>  the subset of that name                   ?node=<id or name>  what that node offers, called there
 *
 *   00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
 *      trace id                         parent span
 *
 * Pure.
 */
import { isJsonObject } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import { LIST_METHODS } from './catalogue.ts'
import type { ListMethod, Door } from './catalogue.ts'
import type { Result } from '../core/result.ts'
import { fail, ok } from '../core/result.ts'

export type McpRequest =
  | { readonly method: ListMethod; readonly cursor: string | undefined }
  | { readonly method: 'tools/call'; readonly name: string; readonly arguments: JsonObject }
  | { readonly method: 'resources/read'; readonly uri: string }
  | { readonly method: 'prompts/get'; readonly name: string; readonly arguments: JsonObject }
  | {
      readonly method: 'completion/complete'
      /** `undefined` for a resource template: those are matched, never enumerated. */
      readonly prompt: string | undefined
      readonly argument: string
      readonly typed: string
    }

/** What is wrong with parameters that `readRequest` does not take, in words. */
const SHAPES: Readonly<Record<McpRequest['method'], string>> = {
  'tools/call': '"name" is a text and "arguments", if given, an object',
  'resources/read': '"uri" is a text',
  'prompts/get': '"name" is a text and "arguments", if given, an object of texts',
  'completion/complete': '"ref" names a prompt or a resource, "argument" has a "name" and a "value" of text',
  'tools/list': '"cursor", if given, is a text',
  'resources/list': '"cursor", if given, is a text',
  'resources/templates/list': '"cursor", if given, is a text',
  'prompts/list': '"cursor", if given, is a text',
}

export function misshapen(method: string): string {
  const shape = Object.hasOwn(SHAPES, method) ? SHAPES[method as McpRequest['method']] : 'they are not understood'
  return `Invalid params for ${method}: ${shape}`
}

export const METHODS: readonly McpRequest['method'][] = [
  ...LIST_METHODS,
  'tools/call',
  'resources/read',
  'prompts/get',
  'completion/complete',
]

/** `undefined` for a method that is not one of these, and for parameters that do not fit it. */
export function readRequest(method: string, params: JsonObject): McpRequest | undefined {
  const { name, uri, cursor, arguments: given = {} } = params
  switch (method) {
    case 'tools/call':
      return typeof name === 'string' && isJsonObject(given) ? { method, name, arguments: given } : undefined
    case 'resources/read':
      return typeof uri === 'string' ? { method, uri } : undefined
    case 'prompts/get':
      if (typeof name !== 'string' || !isJsonObject(given)) return undefined
      return Object.values(given).every(isText) ? { method, name, arguments: given } : undefined
    case 'completion/complete':
      return readCompletion(params)
    case 'tools/list':
    case 'resources/list':
    case 'resources/templates/list':
    case 'prompts/list':
      return cursor === undefined || typeof cursor === 'string' ? { method, cursor } : undefined
    default:
      return undefined
  }
}

function readCompletion({ ref, argument }: JsonObject): McpRequest | undefined {
  if (!isJsonObject(ref) || !isJsonObject(argument)) return undefined
  const { name, value } = argument
  if (typeof name !== 'string' || typeof value !== 'string') return undefined
  const request = { method: 'completion/complete', argument: name, typed: value } as const
  if (ref['type'] === 'ref/prompt' && typeof ref['name'] === 'string') return { ...request, prompt: ref['name'] }
  if (ref['type'] === 'ref/resource' && typeof ref['uri'] === 'string') return { ...request, prompt: undefined }
  return undefined
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

const PATH = /^\/mcp(?:\/(?<profile>[a-z0-9][a-z0-9-]{0,31}))?\/?$/

const NODE = /^[^\s\p{C}](?:[^\p{C}]{0,126}[^\s\p{C}])?$/u

export function doorOf(url: string): Result<Door, { readonly status: number; readonly message: string }> {
  const mark = url.indexOf('?')
  const found = PATH.exec(mark === -1 ? url : url.slice(0, mark))
  if (found === null) return fail({ status: 404, message: 'MCP lives at /mcp and /mcp/<profile>.' })
  const query = new URLSearchParams(mark === -1 ? '' : url.slice(mark))
  const [names, node] = [query.get('names'), query.get('node')]
  if (names !== null && names !== 'dots' && names !== 'underscore')
    return fail({ status: 400, message: 'names is "dots" (the default) or "underscore".' })
  if (node !== null && !NODE.test(node)) return fail({ status: 400, message: 'node is the id or the name of a node.' })
  const door: Door = { profile: found.groups?.['profile'], style: names ?? 'dots' }
  return ok(node === null ? door : { ...door, node })
}
