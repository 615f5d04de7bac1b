/**
 * Header mismatch: a tool call whose headers say something else than its body (MCP 2026-07-28, HeaderMismatch).
 *
 * Pure.
 */
import type { Catalogue } from './catalogue.ts'
import { paramHeaderMismatch } from './param-headers.ts'
import type { Headers } from './param-headers.ts'
import { HEADER_MISMATCH } from './protocol-error.ts'
import type { ProtocolFault } from './protocol-error.ts'
import type { McpRequest } from './request.ts'

export function headerMismatch(
  { name, arguments: body }: Extract<McpRequest, { method: 'tools/call' }>,
  catalogue: Catalogue,
  headers: Headers,
): ProtocolFault | undefined {
  const entry = catalogue.tool(catalogue.canonicalTool(name) ?? name)
  const mismatch = entry === undefined ? undefined : paramHeaderMismatch(entry.headers, body, headers)
  if (mismatch === undefined) return undefined
  const message = `Bad Request: the request headers and body disagree: ${mismatch.body}`
  return { code: HEADER_MISMATCH, message, data: { mismatch } }
}
