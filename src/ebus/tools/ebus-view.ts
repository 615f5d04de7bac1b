/**
 * View: everything that the reading tools show of one bus, either as it is now or as it was at one moment.
 *
 * A capture is taken in one turn of the event loop, so all of it is from one moment.
 */
import type { JsonObject } from '../../core/json.ts'
import type { EbusStatus } from '../adapter/ebus-connection.ts'
import type { AdapterInfo } from '../adapter/adapter-info.ts'
import type { HeatingInstallation } from '../heating-installation.ts'
import { toBusMessagesJson, toPeriodicityJson, toSpecimenJson, toBusSummaryJson } from '../observe/bus-report.ts'
import { toBusStatusJson } from '../observe/bus-status.ts'
import { toAdapterInfoJson } from '../semantic/adapter-info-plane.ts'
import type { FieldFreshness, SemanticPlane } from '../semantic/plane-reader.ts'
import type { SemanticPlaneName } from '../semantic/planes.ts'
import { SEMANTIC_PLANE_NAMES } from '../semantic/planes.ts'
import type { RegisterReadKey } from '../semantic/read-key.ts'
import type { PlannedRead } from '../semantic/read-plan.ts'
import type { ResidentSetting } from '../semantic/resident-settings.ts'
import { listResidentSettings } from '../semantic/resident-settings.ts'
import { toStartupJson } from '../semantic/semantic-startup.ts'
import { toShadowSummaryJson } from '../semantic/shadow-summary.ts'
import type { BusDeviceView } from './device-view.ts'
import { listBusDeviceViews } from './device-view.ts'

/** The contract's names for the state of the adapter. */
export type BusReachability = 'connected' | 'forbidden' | 'no_signal' | 'disconnected'

/** Functions, so that a live view computes only what is requested. */
export interface EbusView {
  readonly busId: string
  /** Wall clock. */
  readonly atMs: number
  /** Whether values could be read at that moment. */
  readonly reach: BusReachability
  readonly plane: (name: SemanticPlaneName) => SemanticPlane
  /** The message with which a value was read: circuit and name, or its bytes. */
  readonly messageName: (key: RegisterReadKey) => string | undefined
  readonly devices: () => readonly BusDeviceView[]
  readonly settings: () => readonly ResidentSetting[]
  readonly status: () => JsonObject
  readonly summary: () => JsonObject
  readonly messages: () => readonly JsonObject[]
  readonly periodicity: () => readonly JsonObject[]
  /** Newest first. */
  readonly specimens: () => readonly JsonObject[]
  readonly watch: () => JsonObject
  readonly capacity: { readonly messages: number; readonly periodicity: number }
}

export interface EbusViewSources {
  readonly busId: string
  readonly installation: HeatingInstallation
  readonly bus: EbusStatus
  readonly info: AdapterInfo | undefined
  readonly version: string
  readonly plan: () => readonly PlannedRead[]
  /** The keys that callers requested by rpc, which are watched like the plan's own reads. */
  readonly toolReads: ReadonlySet<RegisterReadKey>
  /** Wall clock, and monotonic. */
  readonly atMs: number
  readonly nowMs: number
}

const NO_FIELDS: ReadonlyMap<string, FieldFreshness> = new Map()

/** For one moment: `bus`, `atMs` and `nowMs` are taken once, so that all parts of an answer agree. */
export function createLiveEbusView(parts: EbusViewSources): EbusView {
  const { installation, bus, atMs } = parts
  const { observatory } = installation
  const status = (): JsonObject =>
    toBusStatusJson({
      observatory,
      bus,
      cadenceSeconds: installation.pollMs / 1_000,
      flags: installation.flags,
      startup: toStartupJson(installation.startup),
      nowMs: parts.nowMs,
    })
  return {
    busId: parts.busId,
    atMs,
    reach: bus.source === 'forbidden' && bus.signal ? 'forbidden' : reachOf(bus),
    status,
    plane: (name) => {
      if (name === 'runtime_status') return { data: runtimeStatus(parts), fields: NO_FIELDS }
      if (name === 'adapter_info') return adapterPlane(parts.info)
      return installation.plane(name, atMs)
    },
    messageName: (key) => installation.messageName(key),
    devices: () => listBusDeviceViews(installation),
    settings: () => listResidentSettings(installation),
    summary: () => toBusSummaryJson(observatory, status(), { atMs, symbols: bus.symbols }),
    messages: () => toBusMessagesJson(observatory, (exchange) => installation.decode(exchange)),
    periodicity: () => toPeriodicityJson(observatory),
    specimens: () => installation.specimens.all().map(toSpecimenJson),
    watch: () =>
      toShadowSummaryJson({
        shadow: installation.shadow,
        plan: parts.plan(),
        tooling: parts.toolReads,
        flags: installation.flags,
      }),
    capacity: { messages: observatory.messages.capacity, periodicity: observatory.periodicity.capacity },
  }
}

/** An unchanging copy of the view. */
export function captureEbusView(live: EbusView): EbusView {
  const planes = new Map(SEMANTIC_PLANE_NAMES.map((name) => [name, live.plane(name)]))
  const devices = live.devices()
  const settings = live.settings()
  const status = live.status()
  const summary = live.summary()
  const messages = live.messages()
  const periodicity = live.periodicity()
  const specimens = live.specimens()
  const watch = live.watch()
  return {
    busId: live.busId,
    atMs: live.atMs,
    reach: live.reach,
    capacity: live.capacity,
    plane: (name) => planes.get(name) ?? { data: null, fields: NO_FIELDS },
    messageName: live.messageName,
    devices: () => devices,
    settings: () => settings,
    status: () => status,
    summary: () => summary,
    messages: () => messages,
    periodicity: () => periodicity,
    specimens: () => specimens,
    watch: () => watch,
  }
}

/** The size of a capture in bytes of JSON, which is close to its size in memory. */
export function measureEbusViewBytes(view: EbusView): number {
  const parts = [
    SEMANTIC_PLANE_NAMES.map((name) => view.plane(name).data),
    view.devices().map(({ json }) => json),
    view.settings(),
    view.summary(),
    view.messages(),
    view.periodicity(),
    view.specimens(),
    view.watch(),
  ]
  return JSON.stringify(parts).length
}

function reachOf({ connected, signal }: EbusStatus): Exclude<BusReachability, 'forbidden'> {
  return !connected ? 'disconnected' : signal ? 'connected' : 'no_signal'
}

/** Updates of either are not checked, so nothing is stated about them. */
function runtimeStatus({ bus, info, version }: EbusViewSources): JsonObject {
  return {
    adapter_status: { status: reachOf(bus), firmware_version: info?.firmwareVersion ?? null, updates_available: null },
    daemon_status: {
      status: 'running',
      firmware_version: version,
      updates_available: null,
      initiator_address: bus.address === undefined ? 'auto' : addressName(bus.address),
    },
  }
}

/** `0x7F`, as the contract writes it here and nowhere else. */
function addressName(address: number): string {
  return `0x${address.toString(16).toUpperCase().padStart(2, '0')}`
}

/** Read every half minute; old after three missing answers. */
const INFO_STALE_MS = 100_000

/** The identification does not age; measurements do. */
function adapterPlane(info: AdapterInfo | undefined): SemanticPlane {
  const data = toAdapterInfoJson(info)
  const atMs = info?.telemetryAtMs ?? info?.identityAtMs
  if (data === null || atMs === undefined) return { data, fields: NO_FIELDS }
  const telemetry: FieldFreshness = { source: 'poll', atMs, staleAfterMs: INFO_STALE_MS, invalidated: false }
  return { data, fields: new Map([['telemetry', telemetry]]) }
}
