/**
 * Info requests: INFO requests to the adapter, from us and from clients of the shared port, one at a time.
 *
 *   ask ▸ known and unchanging? answered from the cache ▸ else in line ▸ asked ▸ answered, or given up after a second
 *
 * Pure, but for the queue it is given.
 */
import type { AdapterInfo, AdapterInfoId } from './adapter-info.ts'
import { IDENTITY_INFO_IDS, EMPTY_ADAPTER_INFO, applyInfoAnswer } from './adapter-info.ts'

export type InfoRequestCallback = (data: Uint8Array | undefined) => void

export interface InfoRequestQueue {
  info: AdapterInfo
  /** Answers that cannot change while the adapter runs. */
  readonly cache: Map<AdapterInfoId, Uint8Array>
  readonly waiting: { readonly id: AdapterInfoId; readonly callbacks: InfoRequestCallback[] }[]
  /** When the first of them was sent. */
  requestedMs: number | undefined
}

const TIMEOUT_MS = 1_000
/** There are eight requests; a client that queues more gets no answer. */
const MAX_WAITING = 32

export function newInfoRequestQueue(): InfoRequestQueue {
  return { info: EMPTY_ADAPTER_INFO, cache: new Map(), waiting: [], requestedMs: undefined }
}

/** Equal requests share an answer. */
export function queueInfoRequest(queue: InfoRequestQueue, id: AdapterInfoId, callback: InfoRequestCallback): void {
  const known = queue.cache.get(id)
  const same = queue.waiting.find((entry) => entry.id === id)
  if (known !== undefined) callback(known)
  else if (same !== undefined && same.callbacks.length < MAX_WAITING) same.callbacks.push(callback)
  else if (same === undefined && queue.info.infoSupported === true) queue.waiting.push({ id, callbacks: [callback] })
  else callback(undefined)
}

/** The request to send to the adapter now, if it is time for one. */
export function nextInfoRequest(queue: InfoRequestQueue, nowMs: number): AdapterInfoId | undefined {
  if (queue.requestedMs !== undefined && nowMs - queue.requestedMs >= TIMEOUT_MS) settle(queue, undefined)
  const [first] = queue.waiting
  if (first === undefined || queue.requestedMs !== undefined) return undefined
  queue.requestedMs = nowMs
  return first.id
}

export function handleInfoAnswer(queue: InfoRequestQueue, id: AdapterInfoId, data: Uint8Array, atMs: number): void {
  queue.info = applyInfoAnswer(queue.info, id, data, atMs)
  if (IDENTITY_INFO_IDS.includes(id)) queue.cache.set(id, data)
  if (queue.waiting[0]?.id === id) settle(queue, data)
}

/** Call after connecting, and after the adapter restarted. */
export function resetInfoRequestQueue(queue: InfoRequestQueue, features: number | undefined): void {
  queue.cache.clear()
  queue.info = {
    ...EMPTY_ADAPTER_INFO,
    infoSupported: features === undefined ? undefined : (features & 0x01) !== 0,
    features,
  }
  while (queue.waiting.length > 0) settle(queue, undefined)
}

function settle(queue: InfoRequestQueue, data: Uint8Array | undefined): void {
  queue.requestedMs = undefined
  for (const callback of queue.waiting.shift()?.callbacks ?? []) callback(data)
}
