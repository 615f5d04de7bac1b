/**
 * Upgrade request: the device identity and credential in the HTTP request that opens a WebSocket.
 *
 *   Authorization: Bearer <token>   Device-Id: a0:b1:…   Client-Id: <uuid>   Protocol-Version: 1
 *   GET /xiaozhi/v1/?device-id=…&client-id=…&authorization=…       for clients that cannot set headers
 *
 * Stock devices send their host without a port and no Origin. A client that sends an Origin is a browser, which is
 * accepted only from origins that the configuration lists.
 */
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { parseClientUuid, parseDeviceId } from '../wire/device-id.ts'
import type { LowerCaseHttpHeaders } from '../wire/ota.ts'
import type { PresentedDeviceToken } from './fleet.ts'

export interface UpgradeRequestFault {
  readonly kind: 'wrong-path' | 'foreign-origin' | 'no-identity' | 'no-token'
  /** The device that the client claims to be, if the request contains that much. */
  readonly deviceId: string | undefined
}

export interface UpgradeEndpoint {
  readonly path: string
  readonly allowedOrigins: readonly string[]
}

const MAX_TOKEN = 512

export function parseUpgradeRequest(
  endpoint: UpgradeEndpoint,
  target: string,
  headers: LowerCaseHttpHeaders,
): Result<PresentedDeviceToken, UpgradeRequestFault> {
  const [path = '', search = ''] = target.split('?', 2)
  if (path !== endpoint.path && `${path}/` !== endpoint.path) return fail({ kind: 'wrong-path', deviceId: undefined })
  const query = new URLSearchParams(search)
  const parameter = (name: string) => headers[name] ?? query.get(name) ?? ''
  const deviceId = parseDeviceId(parameter('device-id'))
  const { origin } = headers
  if (origin !== undefined && !endpoint.allowedOrigins.includes(origin))
    return fail({ kind: 'foreign-origin', deviceId })
  const clientId = parseClientUuid(parameter('client-id'))
  if (deviceId === undefined || clientId === undefined) return fail({ kind: 'no-identity', deviceId })
  const token = parameter('authorization').replace(/^Bearer\s+/i, '')
  if (token === '' || token.length > MAX_TOKEN) return fail({ kind: 'no-token', deviceId })
  return ok({ kind: 'token', deviceId, clientId, token })
}
