/** Modern request: one MCP request of 2026-07-28 as bytes on a socket, for tests that want to be nobody's client. */
import { randomBytes } from 'node:crypto'

export const MODERN = '2026-07-28'

export interface Answer {
  readonly status: number
  readonly body: {
    readonly result?: Record<string, unknown>
    readonly error?: { readonly code: number; readonly message: string }
  }
}

export function newTraceId(): string {
  return randomBytes(16).toString('hex')
}

/** Resolves with what came back, whatever its status; rejects when the connection broke. */
export async function callTool(url: string, name: string, args: object, traceId = newTraceId()): Promise<Answer> {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': MODERN,
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name,
        arguments: args,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': MODERN,
          'io.modelcontextprotocol/clientCapabilities': {},
          'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
          traceparent: `00-${traceId}-${traceId.slice(0, 16)}-01`,
        },
      },
    }),
  })
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}
