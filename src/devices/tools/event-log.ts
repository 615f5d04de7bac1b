/**
 * Event log: the latest events of devices, for readers that were not subscribed when they happened.
 *
 * It is kept in memory, and bounded for each device, so that one with many events cannot displace those of the others,
 * and for the whole house.
 *
 * Pure, apart from what it holds.
 */
import type { JsonObject } from '../../core/json.ts'
import { sanitizeJson, sanitizeLine } from '../../core/untrusted-text.ts'
import type { FleetEvent } from '../session/fleet.ts'

export interface LoggedDeviceEvent {
  /** Grows by one with every event since the start. */
  readonly seq: number
  readonly device: string
  readonly atMs: number
  readonly kind: string
  readonly details: JsonObject
}

const PER_DEVICE = 100
const IN_ALL = 4_096
const MAX_PARAMS = 4_096
const MAX_METHOD = 128
const MAX_REASON = 200

export class DeviceEventLog {
  readonly #byDevice = new Map<string, LoggedDeviceEvent[]>()
  #next = 1
  #held = 0

  add(event: FleetEvent): void {
    if (event.kind === 'missed') return
    const { device, atMs, kind } = event
    const own = this.#byDevice.get(device) ?? []
    // The device with the latest event is the last in the map, so the one that was silent longest is dropped first.
    this.#byDevice.delete(device)
    this.#byDevice.set(device, own)
    own.push({ seq: this.#next++, device, atMs, kind, details: detailsOf(event) })
    this.#held++
    if (own.length > PER_DEVICE) this.#dropFirst(device, own)
    while (this.#held > IN_ALL) {
      const [oldest] = this.#byDevice
      if (oldest === undefined) return
      this.#dropFirst(...oldest)
    }
  }

  /** Events after number `after`, oldest first. */
  list({
    after,
    isWanted,
  }: {
    readonly after: number
    readonly isWanted: (device: string) => boolean
  }): LoggedDeviceEvent[] {
    return [...this.#byDevice]
      .filter(([device]) => isWanted(device))
      .flatMap(([, events]) => events.filter(({ seq }) => seq > after))
      .toSorted((left, right) => left.seq - right.seq)
  }

  get lastSeq(): number {
    return this.#next - 1
  }

  #dropFirst(device: string, events: LoggedDeviceEvent[]): void {
    events.shift()
    this.#held--
    if (events.length === 0) this.#byDevice.delete(device)
  }
}

function detailsOf(event: Exclude<FleetEvent, { kind: 'missed' }>): JsonObject {
  switch (event.kind) {
    case 'online':
      return { transport: event.transport }
    case 'offline':
      return { reason: sanitizeLine(event.reason, MAX_REASON) }
    case 'tools':
      return { changed: event.changed }
    case 'notification': {
      const { params } = event
      const method = sanitizeLine(event.method, MAX_METHOD)
      const length = JSON.stringify(params ?? {}).length
      if (length > MAX_PARAMS) return { method, params_omitted: `${length} characters` }
      return { method, ...(params === undefined ? {} : { params: sanitizeJson(params) }) }
    }
    default:
      return {}
  }
}
