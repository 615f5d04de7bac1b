/**
 * Catalog: devices, events, cameras and plug-ins of one HomeSeer, fetched when they are needed and cached for a limited
 * time.
 *
 *   devices   the mirror's records ⊕ control pairs; built again only when the mirror's structure has changed
 *   controls  cached separately (ControlPairCacheClient below): a device is listed before its controls are known
 *   events, cameras, plug-ins   cached
 *
 * Does I/O (through the link).
 */
import { ok, type Result } from '../../core/result.ts'
import type { ReceivedCamera } from '../wire/camera.ts'
import type { ControlPair } from '../wire/device.ts'
import type { ReceivedEventRecord } from '../wire/event.ts'
import type { HomeseerRequestDefinition } from '../wire/http-exchange.ts'
import type { ReceivedPlugin } from '../wire/plugin.ts'
import {
  createCamerasRequest,
  createControlsRequest,
  createEventsRequest,
  createPluginsRequest,
  createStatusRequest,
} from '../wire/json-requests.ts'
import type { DeviceKind } from './device-classification.ts'
import {
  buildHomeseerDeviceCatalog,
  EMPTY_HOMESEER_DEVICE_CATALOG,
  listRefsSharingPhysicalDevice,
  type HomeseerDeviceCatalog,
} from './device-catalog-and-event-consequences.ts'
import type { Clock } from '../../core/clock.ts'
import { isWorthSmallerRequest, type HomeseerLinkFault } from '../wire/link-fault.ts'
import type { JsonClient } from '../wire/json-client.ts'
import type { DeviceMirrorClient } from '../wire/device-mirror-client.ts'

export interface HomeseerCatalogClientOptions extends ControlPairCacheClientOptions {
  /** How long lists of events, cameras and plug-ins are cached. */
  readonly listsHoldMs: number
  /** The owner's device classes; a new map whenever they change. */
  readonly owner?: { readonly kinds: ReadonlyMap<number, DeviceKind> }
}

interface CachedList<Value> {
  readonly value: Value
  readonly untilMs: number
}

/** How long a renewed catalog counts as fresh, because unknown names are often requested many times in a row. */
const RENEWED_HOLDS_MS = 10_000

export class HomeseerCatalogClient {
  readonly #options: HomeseerCatalogClientOptions
  readonly #lists = new Map<string, CachedList<unknown>>()
  readonly #pending = new Map<string, Promise<Result<unknown, HomeseerLinkFault>>>()
  #renewableMs = 0
  readonly #controls: ControlPairCacheClient
  #built:
    | {
        readonly catalog: HomeseerDeviceCatalog
        readonly structure: number
        readonly controls: ControlsByRef
        readonly kinds: ReadonlyMap<number, DeviceKind> | undefined
      }
    | undefined

  constructor(options: HomeseerCatalogClientOptions) {
    this.#options = options
    this.#controls = new ControlPairCacheClient(options)
  }

  /** The house as far as it is known without asking anybody; empty before the first answer. */
  get known(): HomeseerDeviceCatalog {
    return this.#built?.catalog ?? EMPTY_HOMESEER_DEVICE_CATALOG
  }

  /**
   * All devices, with their control pairs where these are known. Returns the same object as long as nothing but values
   * has changed.
   */
  async devices(): Promise<Result<HomeseerDeviceCatalog, HomeseerLinkFault>> {
    const { mirror } = this.#options
    if (mirror.structure === 0) {
      const first = await mirror.refresh()
      if (!first.ok) return first
    }
    const controls = await this.#once('controls', () => this.#controls.all())
    if (!controls.ok) return controls
    const kinds = this.#options.owner?.kinds
    const { structure } = mirror
    const built = this.#built
    if (built?.structure === structure && built.controls === controls.value && built.kinds === kinds)
      return ok(built.catalog)
    const records = [...mirror.entries.values()].map((entry) => entry.record)
    const catalog = buildHomeseerDeviceCatalog(records, controls.value, kinds)
    this.#built = { catalog, structure, controls: controls.value, kinds }
    return ok(catalog)
  }

  /**
   * The house for the assessment of a change of some devices: the control pairs of these, and of all members of their
   * physical devices, are known and not expired.
   */
  async devicesFor(refs: readonly number[]): Promise<Result<HomeseerDeviceCatalog, HomeseerLinkFault>> {
    const catalog = await this.devices()
    if (!catalog.ok) return catalog
    const held = await this.#controls.hold(listRefsSharingPhysicalDevice(catalog.value, refs))
    return held.ok ? this.devices() : held
  }

  /**
   * Reads the present control pairs of one device; HomeSeer answers most reliably when `everything` is requested for
   * one ref.
   */
  async freshControls(ref: number): Promise<Result<readonly ControlPair[], HomeseerLinkFault>> {
    const { json } = this.#options
    const status = await json.call(createStatusRequest({ refs: [ref], everything: true, excludeEvents: true }))
    if (!status.ok) return status
    const controls = status.value.devices.find((device) => device.ref === ref)?.controls
    if (controls !== undefined) return ok(this.#learn(ref, controls))
    const answer = await json.call(createControlsRequest([ref]))
    return answer.ok ? ok(this.#learn(ref, answer.value.get(ref) ?? [])) : answer
  }

  /** `fresh` requests the list from HomeSeer even if it is cached. */
  events(fresh = false): Promise<Result<readonly ReceivedEventRecord[], HomeseerLinkFault>> {
    return this.#list(createEventsRequest(), fresh)
  }

  cameras(): Promise<Result<readonly ReceivedCamera[], HomeseerLinkFault>> {
    return this.#list(createCamerasRequest())
  }

  plugins(): Promise<Result<readonly ReceivedPlugin[], HomeseerLinkFault>> {
    return this.#list(createPluginsRequest())
  }

  /** Reads everything that has a name again, unless it was read a moment ago. */
  async renew(): Promise<void> {
    const { mirror, clock } = this.#options
    if (clock.monotonic() < this.#renewableMs) return
    this.#renewableMs = clock.monotonic() + RENEWED_HOLDS_MS
    const read = await mirror.refresh()
    // If a list cannot be read again, the old one is kept.
    if (read.ok) this.#expireLists()
  }

  /** Clears the caches after we changed something in HomeSeer. */
  forget(): void {
    this.#expireLists()
    this.#controls.expire()
  }

  #expireLists(): void {
    for (const [name, { value }] of this.#lists) this.#lists.set(name, { value, untilMs: Number.NEGATIVE_INFINITY })
  }

  #learn(ref: number, pairs: readonly ControlPair[]): readonly ControlPair[] {
    this.#controls.learn(new Map([[ref, pairs]]))
    return pairs
  }

  async #list<Value>(
    exchange: HomeseerRequestDefinition<Value>,
    fresh = false,
  ): Promise<Result<Value, HomeseerLinkFault>> {
    const { json, clock, listsHoldMs } = this.#options
    const cached = this.#lists.get(exchange.name) as CachedList<Value> | undefined
    if (!fresh && cached !== undefined && clock.monotonic() < cached.untilMs) return ok(cached.value)
    const answer = await this.#once(exchange.name, () => json.call(exchange))
    if (!answer.ok) return answer
    // The same list object as long as its content is unchanged, so that nothing derived from it is built again.
    const isSame = cached !== undefined && JSON.stringify(cached.value) === JSON.stringify(answer.value)
    const value = isSame ? cached.value : answer.value
    this.#lists.set(exchange.name, { value, untilMs: clock.monotonic() + listsHoldMs })
    return ok(value)
  }

  /** Callers that come while a request is running share its answer. */
  #once<Value>(
    name: string,
    send: () => Promise<Result<Value, HomeseerLinkFault>>,
  ): Promise<Result<Value, HomeseerLinkFault>> {
    const open = this.#pending.get(name) as Promise<Result<Value, HomeseerLinkFault>> | undefined
    if (open !== undefined) return open
    const answering = send().finally(() => this.#pending.delete(name))
    this.#pending.set(name, answering)
    return answering
  }
}

// Controls: the control pairs of every device, as HomeSeer told them last.
//
//   all at once ──took too long, or was too long──▶ in parts, one after the other, while nobody waits for them
//
// Pairs hold for a while. Those that no longer do are still shown until they have been read again; whoever weighs a
// change has them read first (`hold`), and hears no where they cannot be.

export type ControlsByRef = ReadonlyMap<number, readonly ControlPair[]>

export interface ControlPairCacheClientOptions {
  readonly json: JsonClient
  readonly mirror: DeviceMirrorClient
  readonly clock: Clock
  /** How long control pairs are cached; an owner who edits them in HomeSeer should not have to restart the gateway. */
  readonly controlsHoldMs: number
}

/** The most devices that one request names. More are requested all at once, or in parts. */
const PART = 50
/** The pause between two rounds through the parts, if HomeSeer did not answer for one of them. */
const REST_MS = 60_000
const NONE: readonly ControlPair[] = []

export class ControlPairCacheClient {
  readonly #options: ControlPairCacheClientOptions
  readonly #untilMs = new Map<number, number>()
  #pairs: ControlsByRef = new Map()
  #inParts = false
  #walking = false
  #walkableMs = 0

  constructor(options: ControlPairCacheClientOptions) {
    this.#options = options
  }

  /** The pairs of all devices, as far as they are known. Returns the same map as long as nothing in it has changed. */
  async all(): Promise<Result<ControlsByRef, HomeseerLinkFault>> {
    const refs = [...this.#options.mirror.entries.keys()]
    const due = this.#due(refs)
    if (due.length === 0) return ok(this.#pairs)
    if (!this.#inParts) {
      // If only a few are unknown, they are requested alone.
      const isFew = due.length < refs.length && due.length <= PART
      const answer = await this.#request(due, isFew ? due : undefined)
      if (answer.ok) return ok(this.#pairs)
      if (!isWorthSmallerRequest(answer.fault)) return answer
      this.#inParts = true
    }
    void this.#walk(due)
    return ok(this.#pairs)
  }

  /** Reads those pairs that are unknown or expired. */
  async hold(refs: readonly number[]): Promise<Result<void, HomeseerLinkFault>> {
    for (const part of partsOf(this.#due(refs))) {
      const answer = await this.#request(part, part)
      if (!answer.ok) return answer
    }
    return ok(undefined)
  }

  /** Takes the pairs that HomeSeer has just returned for some devices. */
  learn(received: ControlsByRef): void {
    const untilMs = this.#options.clock.monotonic() + this.#options.controlsHoldMs
    for (const ref of received.keys()) this.#untilMs.set(ref, untilMs)
    const isNew = [...received].some(([ref, pairs]) => JSON.stringify(this.#pairs.get(ref)) !== JSON.stringify(pairs))
    // A new map is made only if something is new, so that the house is not built again without need.
    if (isNew) this.#pairs = new Map([...this.#pairs, ...received])
  }

  /** Marks all pairs as expired. */
  expire(): void {
    this.#untilMs.clear()
  }

  async #walk(due: readonly number[]): Promise<void> {
    const { clock } = this.#options
    if (this.#walking || clock.monotonic() < this.#walkableMs) return
    this.#walking = true
    for (const part of partsOf(due)) {
      const answer = await this.#request(part, part)
      if (answer.ok) continue
      this.#walkableMs = clock.monotonic() + REST_MS
      break
    }
    this.#walking = false
  }

  #due(refs: readonly number[]): readonly number[] {
    const nowMs = this.#options.clock.monotonic()
    return refs.filter((ref) => nowMs >= (this.#untilMs.get(ref) ?? Number.NEGATIVE_INFINITY))
  }

  /** `wanted` are the devices of the request: one that is missing in the answer has no controls. */
  async #request(
    wanted: readonly number[],
    refs: readonly number[] | undefined,
  ): Promise<Result<void, HomeseerLinkFault>> {
    const answer = await this.#options.json.call(createControlsRequest(refs))
    if (!answer.ok) return answer
    this.learn(new Map([...wanted.map((ref) => [ref, NONE] as const), ...answer.value]))
    return ok(undefined)
  }
}

function partsOf(refs: readonly number[]): readonly (readonly number[])[] {
  return Array.from({ length: Math.ceil(refs.length / PART) }, (_, at) => refs.slice(at * PART, (at + 1) * PART))
}
