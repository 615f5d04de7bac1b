/**
 * HTTP exchange: the request and answer that the endpoints for devices need, so that the endpoints are plain functions.
 */
import type { LowerCaseHttpHeaders } from '../wire/ota.ts'

export interface DeviceHttpRequest {
  readonly method: string
  /** The path without the query. */
  readonly path: string
  readonly headers: LowerCaseHttpHeaders
  readonly remoteAddress: string
  readonly localAddress: string | undefined
  /**
   * Reads the body when it is called; `undefined` when the body is longer than the limit, is cut off, or the signal
   * aborts.
   */
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
