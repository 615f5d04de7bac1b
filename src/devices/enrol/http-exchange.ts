/**
 * HTTP exchange: the little of HTTP that the endpoints for devices need, so that they are functions.
 */
import type { LowerCaseHttpHeaders } from '../wire/ota.ts'

export interface DeviceHttpRequest {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly headers: LowerCaseHttpHeaders
  readonly remoteAddress: string
  readonly localAddress: string | undefined
  /** Read only by whoever wants it; `undefined` when it is longer than the limit, breaks off, or is not wanted any more. */
  readonly body: (maxBytes: number, signal?: AbortSignal) => Promise<Uint8Array | undefined>
}

export interface DeviceHttpAnswer {
  readonly status: number
  readonly contentType: 'application/json' | 'text/plain; charset=utf-8'
  readonly body: string
}

export type DeviceHttpHandler = (request: DeviceHttpRequest) => Promise<DeviceHttpAnswer>

export function createDeviceJsonAnswer(status: number, value: unknown): DeviceHttpAnswer {
  return { status, contentType: 'application/json', body: JSON.stringify(value) }
}

export function createDeviceTextAnswer(status: number, text: string): DeviceHttpAnswer {
  return { status, contentType: 'text/plain; charset=utf-8', body: `${text}\n` }
}
