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
  readonly waiting: { readonly id: AdapterInfoId; readonly askers: InfoRequestCallback[] }[]
  /** When the first of them was sent. */
  askedMs: number | undefined
}

const TIMEOUT_MS = 1_000
/** There are eight requests; a client that queues more gets no answer. */
const MAX_WAITING = 32

export function newInfoRequestQueue(): InfoRequestQueue {
  return { info: EMPTY_ADAPTER_INFO, cache: new Map(), waiting: [], askedMs: undefined }
}

/** Equal requests share an answer. */
export function queueInfoRequest(desk: InfoRequestQueue, id: AdapterInfoId, asker: InfoRequestCallback): void {
  const known = desk.cache.get(id)
  const same = desk.waiting.find((entry) => entry.id === id)
  if (known !== undefined) asker(known)
  else if (same !== undefined && same.askers.length < MAX_WAITING) same.askers.push(asker)
  else if (same === undefined && desk.info.infoSupported === true) desk.waiting.push({ id, askers: [asker] })
  else asker(undefined)
}

/** The request to send to the adapter now, if it is time for one. */
export function nextInfoRequest(desk: InfoRequestQueue, nowMs: number): AdapterInfoId | undefined {
  if (desk.askedMs !== undefined && nowMs - desk.askedMs >= TIMEOUT_MS) settle(desk, undefined)
  const [first] = desk.waiting
  if (first === undefined || desk.askedMs !== undefined) return undefined
  desk.askedMs = nowMs
  return first.id
}

export function handleInfoAnswer(desk: InfoRequestQueue, id: AdapterInfoId, data: Uint8Array, atMs: number): void {
  desk.info = applyInfoAnswer(desk.info, id, data, atMs)
  if (IDENTITY_INFO_IDS.includes(id)) desk.cache.set(id, data)
  if (desk.waiting[0]?.id === id) settle(desk, data)
}

/** Call after connecting, and after the adapter restarted. */
export function resetInfoRequestQueue(desk: InfoRequestQueue, features: number | undefined): void {
  desk.cache.clear()
  desk.info = {
    ...EMPTY_ADAPTER_INFO,
    infoSupported: features === undefined ? undefined : (features & 0x01) !== 0,
    features,
  }
  while (desk.waiting.length > 0) settle(desk, undefined)
}

function settle(desk: InfoRequestQueue, data: Uint8Array | undefined): void {
  desk.askedMs = undefined
  for (const asker of desk.waiting.shift()?.askers ?? []) asker(data)
}
