/**
 * Door: which part of the house a URL leads to.
 *
 *   /mcp            everything that the caller may see        ?names=underscore   spelt without dots
 *   /mcp/<profile>  the subset of that name                   ?node=<id or name>  what that node offers, called there
 *
 * Pure.
 */
import type { Result } from '../core/result.ts'
import { fail, ok } from '../core/result.ts'
import type { Door } from './catalogue.ts'

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
