/**
 * Adapter info client: reads an adapter's information after connecting and, as far as it changes, periodically; clients
 * of the shared port use the same request queue.
 */
import type { Clock } from '../../core/clock.ts'
import {
  queueInfoRequest,
  resetInfoRequestQueue,
  newInfoRequestQueue,
  nextInfoRequest,
  handleInfoAnswer,
} from './info-requests.ts'
import type { InfoRequestCallback, InfoRequestQueue } from './info-requests.ts'
import { IDENTITY_INFO_IDS, listTelemetryInfoIds } from './adapter-info.ts'
import type { AdapterInfo, AdapterInfoId } from './adapter-info.ts'

interface InfoOptions {
  /** The interval of reading the adapter's temperature and voltages. */
  readonly telemetryMs: number
  readonly clock: Clock
  readonly requestInfo: (id: AdapterInfoId) => void
}

export class AdapterInfoClient {
  readonly #options: InfoOptions
  readonly #queue: InfoRequestQueue = newInfoRequestQueue()
  #telemetryMs = 0

  constructor(options: InfoOptions) {
    this.#options = options
  }

  get info(): AdapterInfo {
    return this.#queue.info
  }

  request(id: AdapterInfoId, callback: InfoRequestCallback): void {
    queueInfoRequest(this.#queue, id, callback)
    this.#pump()
  }

  onAnswer(id: AdapterInfoId, data: Uint8Array): void {
    handleInfoAnswer(this.#queue, id, data, this.#options.clock.now())
    this.#pump()
  }

  /** It may be another adapter than before, or have other firmware, so everything is read again. */
  meet(features: number | undefined): void {
    resetInfoRequestQueue(this.#queue, features)
    for (const id of IDENTITY_INFO_IDS) queueInfoRequest(this.#queue, id, () => undefined)
    this.#telemetryMs = 0
    this.#pump()
  }

  forget(): void {
    resetInfoRequestQueue(this.#queue, undefined)
  }

  tick(): void {
    const nowMs = this.#options.clock.monotonic()
    if (nowMs - this.#telemetryMs >= this.#options.telemetryMs) this.#requestTelemetry(nowMs)
    this.#pump()
  }

  #requestTelemetry(nowMs: number): void {
    // The version determines which other requests are possible.
    if (!this.#queue.cache.has(0)) return
    this.#telemetryMs = nowMs
    for (const id of listTelemetryInfoIds(this.#queue.info)) queueInfoRequest(this.#queue, id, () => undefined)
  }

  #pump(): void {
    const id = nextInfoRequest(this.#queue, this.#options.clock.monotonic())
    if (id !== undefined) this.#options.requestInfo(id)
  }
}
