/**
 * Refusal: the HTTP answer to a request that was refused before it became an MCP request, as the JSON-RPC error that
 * clients expect.
 */
import type { ServerResponse } from 'node:http'
import { SERVER_ERROR_CODE } from './protocol-error.ts'
import { sendSerializedMessage } from './reply-transport.ts'

export interface HttpRefusal {
  readonly status: number
  readonly message: string
  readonly code?: number
  readonly headers?: Readonly<Record<string, string>>
}

export function sendHttpRefusal(
  response: ServerResponse,
  { status, message, code = SERVER_ERROR_CODE, headers }: HttpRefusal,
): void {
  if (response.headersSent || response.destroyed) return
  const error = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } })
  sendSerializedMessage(response, { status, message: error, ...(headers && { headers }) })
}
