/**
 * RPC: JSON-RPC 2.0 as these devices speak it.
 *
 * Request ids fit into a signed 32-bit integer: the firmware truncates larger ones and silently drops strings. Errors
 * have a message and, on newer firmware, a code.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'

/** 2^31 − 1; firmware returns larger ids as this number. */
export const MAX_RPC_ID = 2_147_483_647

const MAX_MESSAGE = 4_096
const MAX_METHOD = 256

interface RpcError {
  /** Absent up to firmware 2.4.2. */
  readonly code: number | undefined
  readonly message: string
}

export type RpcMessage =
  | { readonly kind: 'result'; readonly id: number; readonly result: Json }
  | { readonly kind: 'error'; readonly id: number; readonly error: RpcError }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject | undefined }
  | { readonly kind: 'request'; readonly id: Json; readonly method: string }

export type RpcFault = { readonly kind: 'bad-rpc'; readonly problem: string }

export interface RpcRequest {
  readonly id: number
  readonly method: string
  readonly params: JsonObject
}

/** The member order of spec 3, so that a transcript can be compared with it. */
export function createRpcRequest({ id, method, params }: RpcRequest): JsonObject {
  if (!Number.isInteger(id) || id < 1 || id > MAX_RPC_ID) throw new RangeError(`request id ${id} does not fit a device`)
  return { jsonrpc: '2.0', method, params, id }
}

export function decodeRpc(payload: Json | undefined): Result<RpcMessage, RpcFault> {
  if (!isJsonObject(payload)) return fail({ kind: 'bad-rpc', problem: 'the payload is not an object' })
  if (payload['jsonrpc'] !== '2.0') return fail({ kind: 'bad-rpc', problem: 'jsonrpc is not "2.0"' })
  const { method, id } = payload
  if (typeof method === 'string')
    return decodeRequestOrNotification(payload, method.slice(0, MAX_METHOD).toWellFormed())
  if (typeof id !== 'number' || !Number.isInteger(id))
    return fail({ kind: 'bad-rpc', problem: 'an answer without an integer id' })
  if (payload['error'] !== undefined && payload['error'] !== null)
    return ok({ kind: 'error', id, error: decodeError(payload['error']) })
  if (payload['result'] === undefined) return fail({ kind: 'bad-rpc', problem: 'neither result nor error' })
  return ok({ kind: 'result', id, result: payload['result'] })
}

function decodeRequestOrNotification(payload: JsonObject, method: string): Result<RpcMessage, RpcFault> {
  const { id, params } = payload
  if (id !== undefined && id !== null) return ok({ kind: 'request', id, method })
  return ok({ kind: 'notification', method, params: isJsonObject(params) ? params : undefined })
}

/** Some devices answer with a bare string, some without a message: the result always has a text to show. */
function decodeError(error: Json): RpcError {
  const { code, message } = isJsonObject(error) ? error : { message: error }
  return {
    code: typeof code === 'number' && Number.isInteger(code) ? code : undefined,
    message: typeof message === 'string' && message !== '' ? cutRpcErrorText(message) : 'the device gave no reason',
  }
}

/** A device's error text is kept as it is, up to this length. */
export function cutRpcErrorText(text: string): string {
  return text.slice(0, MAX_MESSAGE).toWellFormed()
}
