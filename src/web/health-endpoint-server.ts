/**
 * Health endpoint: liveness, readiness and metrics. The first two are open to everybody who can reach the listener.
 * Metrics name capabilities, and so the devices of the house: from other machines they require a token, of any role, as
 * on the listener for other nodes (ADR 35).
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../bus/call.ts'
import { sendJsonResponse } from '../core/listen-server.ts'
import type { Result } from '../core/result.ts'
import { isLocalRequest } from '../guard/authenticator.ts'
import { mayViewStatus } from '../guard/administration-and-record-rights.ts'
import type { StatusView } from './api-requests.ts'

export interface HealthEndpointOptions {
  readonly status: () => Pick<StatusView, 'ledger' | 'services'>
  /** Names of the services that found by a test that they cannot work. */
  readonly probe: () => Promise<readonly string[]>
  /** Authenticates callers from other machines. */
  readonly authenticate: (
    headers: IncomingHttpHeaders,
    remoteAddress: string | undefined,
  ) => Result<Caller, { readonly status: number; readonly message: string }>
  readonly metrics: () => Promise<{ readonly text: string; readonly contentType: string }>
  /** Headers with which this gateway answers the challenge of a command of its owner (main/running-gateway-note.ts). */
  readonly prove: (headers: IncomingHttpHeaders) => ReadonlyMap<string, string>
}

export function createHealthEndpointHandler({
  status,
  probe,
  authenticate,
  metrics,
  prove,
}: HealthEndpointOptions): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    const path = request.url?.split('?')[0]
    if (path === '/health') {
      response.setHeaders(new Map(prove(request.headers)))
      return sendJsonResponse(response, 200, { status: 'ok' })
    }
    if (path === '/ready') {
      const tried = await probe()
      const { ledger, services } = status()
      const failing = services
        .filter(({ name, status: how }) => how === 'failing' || tried.includes(name))
        .map(({ name }) => name)
      const ready = ledger.state === 'sound' && failing.length === 0
      return sendJsonResponse(response, ready ? 200 : 503, { ready, ledger: ledger.state, failing })
    }
    if (path !== '/metrics') return sendJsonResponse(response, 404, { error: 'nothing here' })
    const { headers, socket } = request
    const known = isLocalRequest(headers, socket.remoteAddress)
      ? undefined
      : authenticate(headers, socket.remoteAddress)
    if (known?.ok === false) return sendJsonResponse(response, known.fault.status, { error: known.fault.message })
    if (known?.ok === true && !mayViewStatus(known.value))
      return sendJsonResponse(response, 403, { error: 'This credential is narrowed and does not cover reading.' })
    const { text, contentType } = await metrics()
    response.writeHead(200, { 'content-type': contentType }).end(text)
  }
}
