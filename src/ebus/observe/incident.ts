/**
 * Incident: an event of a bus that matters to a later diagnosis.
 *
 * Pure, but for the log it is given.
 */
import { RingBuffer } from '../../toolbox/ring-buffer.ts'

export const INCIDENT_KINDS = [
  'connected',
  'disconnected',
  'signal_lost',
  'signal_back',
  'adapter_reset',
  'adapter_error',
  'decode_fault',
  'address_changed',
  'events_missed',
  'send_failed',
  'device_refused',
  'restored',
] as const
export type IncidentKind = (typeof INCIDENT_KINDS)[number]

export interface Incident {
  readonly atMs: number
  readonly kind: IncidentKind
  readonly detail: string
  /** How often in a row it happened; the time is that of the last one. */
  readonly times: number
}

const KEPT = 32
const MAX_DETAIL = 200

export class IncidentLog {
  readonly #recent = new RingBuffer<Incident>(KEPT)
  readonly #counts = new Map<IncidentKind, number>()

  note(kind: IncidentKind, detail: string, atMs: number): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1)
    const [last] = this.#recent.newest(1)
    const text = detail.slice(0, MAX_DETAIL)
    const again = last?.kind === kind && last.detail === text
    const incident = { atMs, kind, detail: text, times: again ? last.times + 1 : 1 }
    if (again) this.#recent.replaceNewest(incident)
    else this.#recent.push(incident)
  }

  /** Oldest first. */
  recent(): readonly Incident[] {
    return this.#recent.newest()
  }

  counts(): ReadonlyMap<IncidentKind, number> {
    return this.#counts
  }
}
