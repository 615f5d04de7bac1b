/**
 * Door: which part of the house a URL leads to.
 *
 *   /mcp            everything that the caller may see        ?names=underscore   spelt without dots
 *   /mcp/<profile>  the subset of that name
 *
 * Pure.
 */
import type { Result } from '../core/result.ts'
import { fail, ok } from '../core/result.ts'
import type { Door } from './catalogues.ts'

const PATH = /^\/mcp(?:\/(?<profile>[a-z0-9][a-z0-9-]{0,31}))?\/?$/

export function doorOf(url: string): Result<Door, { readonly status: number; readonly message: string }> {
  const mark = url.indexOf('?')
  const found = PATH.exec(mark === -1 ? url : url.slice(0, mark))
  if (found === null) return fail({ status: 404, message: 'MCP lives at /mcp and /mcp/<profile>.' })
  const names = mark === -1 ? null : new URLSearchParams(url.slice(mark)).get('names')
  if (names !== null && names !== 'dots' && names !== 'underscore')
    return fail({ status: 400, message: 'names is "dots" (the default) or "underscore".' })
  return ok({ profile: found.groups?.['profile'], style: names ?? 'dots' })
}
