/**
 * Catalog: devices, events, cameras and plug-ins of one HomeSeer, fetched when they are needed and kept as long as they
 * hold.
 *
 *   devices   the mirror's records ⊕ control pairs; built anew only when the mirror's structure has changed
 *   controls  one question about everything, then kept; a device that is new is asked about alone
 *   events, cameras, plug-ins   kept for a while
 *
 * Does I/O (through the link).
 */
import type { Clock } from '../../core/clock.ts'
import { ok, type Result } from '../../core/result.ts'
import type { ReceivedCamera } from '../wire/camera.ts'
import type { ControlPair } from '../wire/control-pair.ts'
import type { ReceivedEvent } from '../wire/event.ts'
import type { Exchange } from '../wire/exchange.ts'
import type { LinkFault } from '../wire/fault.ts'
import type { JsonClient } from '../wire/json-client.ts'
import type { MirrorClient } from '../wire/mirror-client.ts'
import type { ReceivedPlugin } from '../wire/plugin.ts'
import { getCameras, getControl, getEvents, getPlugins, getStatus } from '../wire/read-request.ts'
import { buildHouse, EMPTY_HOUSE, type House } from './house.ts'

export interface CatalogOptions {
  readonly json: JsonClient
  readonly mirror: MirrorClient
  readonly clock: Clock
  /** How long lists of events, cameras and plug-ins hold. */
  readonly listsHoldMs: number
  /** How long control pairs hold: an owner who edits them in HomeSeer should not have to restart us. */
  readonly controlsHoldMs: number
}

type ControlMap = ReadonlyMap<number, readonly ControlPair[]>

interface Kept<Value> {
  readonly value: Value
  readonly untilMs: number
}

/** More missing refs than this are asked about in one question about everything. */
const MAX_SINGLE = 50
/** Names that nobody knows are asked for many times in a row. */
const RENEWED_HOLDS_MS = 10_000

export class CatalogClient {
  readonly #options: CatalogOptions
  readonly #lists = new Map<string, Kept<unknown>>()
  readonly #asking = new Map<string, Promise<Result<unknown, LinkFault>>>()
  #renewableMs = 0
  #controls: (Kept<ControlMap> & { readonly structure: number }) | undefined
  #built: { readonly house: House; readonly structure: number; readonly controls: ControlMap } | undefined

  constructor(options: CatalogOptions) {
    this.#options = options
  }

  /** The house as far as it is known without asking anybody; empty before the first answer. */
  get known(): House {
    return this.#built?.house ?? EMPTY_HOUSE
  }

  /** All devices with their pairs. The very same value again as long as nothing has changed but values. */
  async house(): Promise<Result<House, LinkFault>> {
    const { mirror } = this.#options
    if (mirror.structure === 0) {
      const first = await mirror.refresh()
      if (!first.ok) return first
    }
    const controls = await this.#once('controls', () => this.#allControls())
    if (!controls.ok) return controls
    if (this.#built?.structure !== mirror.structure || this.#built.controls !== controls.value) {
      const records = [...mirror.entries.values()].map((entry) => entry.record)
      const house = buildHouse(records, controls.value)
      this.#built = { house, structure: mirror.structure, controls: controls.value }
    }
    return ok(this.#built.house)
  }

  /** The pairs of one device as they are now; integrators trust `everything` on a single ref most. */
  async freshControls(ref: number): Promise<Result<readonly ControlPair[], LinkFault>> {
    const { json } = this.#options
    const status = await json.call(getStatus({ refs: [ref], everything: true, excludeEvents: true }))
    if (!status.ok) return status
    const said = status.value.devices.find((device) => device.ref === ref)?.controls
    if (said !== undefined) return ok(this.#learn(ref, said))
    const asked = await json.call(getControl([ref]))
    return asked.ok ? ok(this.#learn(ref, asked.value.get(ref) ?? [])) : asked
  }

  /** `fresh` asks HomeSeer in any case. */
  events(fresh = false): Promise<Result<readonly ReceivedEvent[], LinkFault>> {
    return this.#list(getEvents(), fresh)
  }

  cameras(): Promise<Result<readonly ReceivedCamera[], LinkFault>> {
    return this.#list(getCameras())
  }

  plugins(): Promise<Result<readonly ReceivedPlugin[], LinkFault>> {
    return this.#list(getPlugins())
  }

  /** Everything that has a name, read anew; what was so a moment ago is left as it is. */
  async renew(): Promise<void> {
    const { mirror, clock } = this.#options
    if (clock.monotonic() < this.#renewableMs) return
    this.#renewableMs = clock.monotonic() + RENEWED_HOLDS_MS
    const read = await mirror.refresh()
    // Lists that cannot be read again are better than none.
    if (read.ok) this.#lists.clear()
  }

  /** After we changed something on HomeSeer's side: the next question is asked again. */
  forget(): void {
    this.#lists.clear()
    this.#controls = undefined
  }

  async #allControls(): Promise<Result<ControlMap, LinkFault>> {
    const { json, mirror, clock, controlsHoldMs } = this.#options
    const kept = this.#controls
    const holds = kept !== undefined && clock.monotonic() < kept.untilMs
    if (holds && kept.structure === mirror.structure) return ok(kept.value)
    const { structure } = mirror
    const missing = holds ? [...mirror.entries.keys()].filter((ref) => !kept.value.has(ref)) : []
    if (holds && missing.length === 0) {
      this.#controls = { ...kept, structure }
      return ok(kept.value)
    }
    const single = holds && missing.length <= MAX_SINGLE
    const answer = await json.call(getControl(single ? missing : undefined))
    if (!answer.ok) return answer
    // A device that HomeSeer leaves out has no controls; remembered as such, it is not asked about again.
    const none = [...mirror.entries.keys()].map((ref) => [ref, []] as const)
    const value = new Map([...none, ...(single ? kept.value : []), ...answer.value])
    const untilMs = single ? kept.untilMs : clock.monotonic() + controlsHoldMs
    this.#controls = { value, untilMs, structure }
    return ok(value)
  }

  /** A new map only where something is new, so that the house is not built again for nothing. */
  #learn(ref: number, pairs: readonly ControlPair[]): readonly ControlPair[] {
    const kept = this.#controls
    if (kept !== undefined && JSON.stringify(kept.value.get(ref)) !== JSON.stringify(pairs))
      this.#controls = { ...kept, value: new Map([...kept.value, [ref, pairs]]) }
    return pairs
  }

  async #list<Value>(exchange: Exchange<Value>, fresh = false): Promise<Result<Value, LinkFault>> {
    const { json, clock, listsHoldMs } = this.#options
    const kept = this.#lists.get(exchange.name) as Kept<Value> | undefined
    if (!fresh && kept !== undefined && clock.monotonic() < kept.untilMs) return ok(kept.value)
    const answer = await this.#once(exchange.name, () => json.call(exchange))
    if (answer.ok) this.#lists.set(exchange.name, { value: answer.value, untilMs: clock.monotonic() + listsHoldMs })
    return answer
  }

  /** Callers that come while a question is open share its answer. */
  #once<Value>(name: string, ask: () => Promise<Result<Value, LinkFault>>): Promise<Result<Value, LinkFault>> {
    const open = this.#asking.get(name) as Promise<Result<Value, LinkFault>> | undefined
    if (open !== undefined) return open
    const asking = ask().finally(() => this.#asking.delete(name))
    this.#asking.set(name, asking)
    return asking
  }
}
