/**
 * Device catalog and event consequences: all devices at once, with the links between them.
 */
import type { ControlPair, ReceivedDevice } from '../wire/device.ts'
import type { DeviceKind } from './device-classification.ts'
import { normaliseHomeseerDevice, ROOT_DEVICE_RELATIONSHIP, type HomeseerDevice } from './device.ts'
import type { EventDefinition } from './event-definition.ts'

export interface HomeseerDeviceCatalog {
  /** In the order of their refs. */
  readonly devices: readonly HomeseerDevice[]
  readonly byRef: ReadonlyMap<number, HomeseerDevice>
}

export const EMPTY_HOMESEER_DEVICE_CATALOG: HomeseerDeviceCatalog = { devices: [], byRef: new Map() }

/** `controls` may lack refs whose pairs are not known yet; pairs inside a record win, being newer. */
export function buildHomeseerDeviceCatalog(
  records: Iterable<ReceivedDevice>,
  controls: ReadonlyMap<number, readonly ControlPair[]>,
  ownerKinds: ReadonlyMap<number, DeviceKind> = new Map(),
): HomeseerDeviceCatalog {
  const alone = new Map<number, HomeseerDevice>()
  for (const record of records)
    alone.set(
      record.ref,
      normaliseHomeseerDevice(record, record.controls ?? controls.get(record.ref), ownerKinds.get(record.ref)),
    )
  const parents = parentsOf(alone)
  const children = childrenOf(parents)
  const linked = [...alone.values()].map((device) => ({
    ...device,
    parentRef: parents.get(device.ref),
    childRefs: children.get(device.ref) ?? [],
  }))
  const sensitive = new Map(linked.filter(isShared).map((device) => [findRootRef(device), device]))
  const devices = linked
    .map((device) => {
      const relative = sensitive.get(findRootRef(device))
      const isOwn = device.sensitivity.length > 0 || ownerKinds.has(device.ref)
      return isOwn || relative === undefined ? device : asRelative(device, relative)
    })
    .sort((left, right) => left.ref - right.ref)
  return { devices, byRef: new Map(devices.map((device) => [device.ref, device])) }
}

/** The ref that all members of one physical device share. */
export function findRootRef(device: HomeseerDevice): number {
  return device.parentRef ?? device.ref
}

/** The asked refs that exist, each followed by its children. */
export function listDevicesAndTheirChildren(
  catalog: HomeseerDeviceCatalog,
  refs: readonly number[],
): readonly HomeseerDevice[] {
  const wanted = new Set<number>()
  for (const ref of refs) {
    wanted.add(ref)
    for (const child of catalog.byRef.get(ref)?.childRefs ?? []) wanted.add(child)
  }
  return [...wanted].map((ref) => catalog.byRef.get(ref)).filter((device) => device !== undefined)
}

/** The asked refs that exist, with the refs of everything that is one physical device with them. */
export function listRefsSharingPhysicalDevice(
  catalog: HomeseerDeviceCatalog,
  refs: readonly number[],
): readonly number[] {
  const named = refs.map((ref) => catalog.byRef.get(ref)).filter((device) => device !== undefined)
  const roots = new Set(named.map(findRootRef))
  return catalog.devices.filter((device) => roots.has(findRootRef(device))).map(({ ref }) => ref)
}

export interface DeviceRefGroup {
  readonly name: string
  readonly refs: readonly number[]
}

/** Largest group first; devices without that name are under `''`. */
export function groupDeviceRefsBy(
  catalog: HomeseerDeviceCatalog,
  nameOf: (device: HomeseerDevice) => string,
): readonly DeviceRefGroup[] {
  return [...Map.groupBy(catalog.devices, nameOf)]
    .map(([name, devices]) => ({ name, refs: devices.map(({ ref }) => ref) }))
    .sort((left, right) => right.refs.length - left.refs.length || left.name.localeCompare(right.name, 'en'))
}

/**
 * Whether a device's sensitivity applies to its relatives. A feature that only reports, such as a dimmer's overheating
 * alarm, does not affect them.
 */
function isShared({ sensitivity, controls, controlsKnown, kind, relationship }: HomeseerDevice): boolean {
  if (sensitivity.length === 0) return false
  return !controlsKnown || controls.length > 0 || relationship === ROOT_DEVICE_RELATIONSHIP || kind !== 'alarm'
}

function asRelative(device: HomeseerDevice, { ref, name }: HomeseerDevice): HomeseerDevice {
  return { ...device, sensitivity: ['relative'], evidence: [`one device with ${name} (${ref})`] }
}

/** Both directions are read: HS3 plug-ins may not mark a child, and a new feature may not be in its root's list yet. */
function parentsOf(devices: ReadonlyMap<number, HomeseerDevice>): ReadonlyMap<number, number> {
  const parents = new Map<number, number>()
  for (const device of devices.values()) {
    if (device.relationship !== ROOT_DEVICE_RELATIONSHIP) continue
    for (const ref of device.associatedRefs) {
      // A root that another root lists stays a root, because HomeSeer has only one level.
      const listed = devices.get(ref)
      if (listed !== undefined && listed.relationship !== ROOT_DEVICE_RELATIONSHIP && ref !== device.ref)
        parents.set(ref, device.ref)
    }
  }
  for (const device of devices.values())
    if (device.parentRef !== undefined && device.parentRef !== device.ref) parents.set(device.ref, device.parentRef)
  return parents
}

function childrenOf(parents: ReadonlyMap<number, number>): ReadonlyMap<number, readonly number[]> {
  const children = [...parents.keys()].toSorted((left, right) => left - right)
  return Map.groupBy(children, (child) => parents.get(child) ?? child)
}

// Exposure: which devices an agent gets to see at all. HomeSeer's own flags for voice assistants can decide it, or a list
// of the owner. What is not exposed is not found, neither by ref nor by name; it is still part of what a change reaches.

/** Bits of `misc`: discovered by Google, discovered by Amazon. */
const ASSISTANTS = 0x40_0000 | 0x80_0000

export type DeviceExposurePredicate = (device: HomeseerDevice) => boolean

/** `undefined` exposes everything. */
export function createDeviceExposurePredicate(config: {
  readonly expose: 'all' | 'voice' | 'list'
  readonly isListed: (ref: number) => boolean
}): DeviceExposurePredicate | undefined {
  if (config.expose === 'all') return undefined
  if (config.expose === 'list') return ({ ref }) => config.isListed(ref)
  return ({ record }) => record.voiceCommand !== '' || (record.misc & ASSISTANTS) !== 0
}

/** The same house gives the same part of it. */
const parts = new WeakMap<HomeseerDeviceCatalog, HomeseerDeviceCatalog>()

export function filterExposedDevices(
  catalog: HomeseerDeviceCatalog,
  exposes: DeviceExposurePredicate | undefined,
): HomeseerDeviceCatalog {
  if (exposes === undefined) return catalog
  const known = parts.get(catalog)
  if (known !== undefined) return known
  const devices = catalog.devices.filter(exposes)
  const part = { devices, byRef: new Map(devices.map((device) => [device.ref, device])) }
  parts.set(catalog, part)
  return part
}

// Consequences: what a change causes indirectly, through HomeSeer's events.
//
//   a device is written ─▶ events that it can set off ─▶ devices that they set ─▶ …        an event is run ─▶ the same
//
// HomeSeer runs an event whenever its trigger is met, whoever wrote the value, also where only its memory was written.
// All members of one physical device count as written: a lamp that goes on moves its power meter, too. Conditions and
// disabled events are not excluded, because both may have changed by the time it happens.

/** Why it is not certain that these are all consequences. */
export type ConsequenceUncertainty =
  /** An action, or a part of the file, is not understood. */
  | 'unknown-action'
  /** The event runs code, which can do anything. */
  | 'runs-script'
  /** HomeSeer has an event that is missing in the definitions. */
  | 'unknown-event'
  /** The chain is longer than the limit. */
  | 'too-far'

export interface ConsequenceStep {
  readonly eventId: number
  readonly group: string
  readonly name: string
  /** The device that sets it off, or the event that runs it; `undefined` for the requested event. */
  readonly because: { readonly ref: number } | { readonly eventId: number } | undefined
  readonly sets: readonly number[]
  /** Members of the file that are not understood. */
  readonly unknown: readonly string[]
}

export interface EventConsequences {
  readonly steps: readonly ConsequenceStep[]
  /** Devices that are set, without the requested ones. */
  readonly refs: readonly number[]
  readonly eventIds: readonly number[]
  readonly doubts: readonly ConsequenceUncertainty[]
  /** Whether one of the events has HomeSeer's own mark for events that guard the house. */
  readonly security: boolean
}

export const NO_EVENT_CONSEQUENCES: EventConsequences = {
  steps: [],
  refs: [],
  eventIds: [],
  doubts: [],
  security: false,
}

/** All known events, indexed so that following a chain costs only as much as it finds. */
export interface EventGraph {
  readonly byId: ReadonlyMap<number, EventDefinition>
  readonly byTrigger: ReadonlyMap<number, readonly EventDefinition[]>
  /** Events that any device sets off, or whose triggers are unknown. */
  readonly byAnything: readonly EventDefinition[]
}

/** More than any house chains on purpose. */
const MAX_EVENTS = 200

export function buildEventGraph(definitions: readonly EventDefinition[]): EventGraph {
  const byTrigger = new Map<number, EventDefinition[]>()
  for (const definition of definitions)
    for (const ref of definition.triggerReach.refs) {
      const known = byTrigger.get(ref)
      if (known === undefined) byTrigger.set(ref, [definition])
      else known.push(definition)
    }
  return {
    byId: new Map(definitions.map((definition) => [definition.id, definition])),
    byTrigger,
    byAnything: definitions.filter(({ triggerReach }) => triggerReach.anyDevice),
  }
}

export interface ConsequenceTraceStart {
  /** Devices that are written. */
  readonly refs?: readonly number[]
  /** An event that is run; `undefined` if the definitions lack it. */
  readonly event?: EventDefinition
}

/** `relativesOf` returns all members of the physical device that a ref belongs to. */
export function traceEventConsequences(
  graph: EventGraph,
  start: ConsequenceTraceStart,
  relativesOf: (ref: number) => readonly number[],
): EventConsequences {
  const steps = new Map<number, ConsequenceStep>()
  const doubts = new Set<ConsequenceUncertainty>()
  const written = new Set<number>()
  const set = new Set<number>()
  let security = false
  const queue: Queued[] = []

  const write = (ref: number): void => {
    for (const member of [ref, ...relativesOf(ref)]) {
      if (written.has(member)) continue
      written.add(member)
      for (const definition of graph.byTrigger.get(member) ?? []) queue.push({ definition, because: { ref: member } })
    }
    for (const definition of graph.byAnything) queue.push({ definition, because: { ref } })
  }

  const run = ({ definition, because }: Queued): void => {
    const { id, group, name, actionRefs, unknown, mayRun } = definition
    if (steps.has(id)) return
    if (steps.size >= MAX_EVENTS) {
      doubts.add('too-far')
      return
    }
    steps.set(id, { eventId: id, group, name, because, sets: actionRefs, unknown })
    if (definition.security) security = true
    if (definition.runsScript) doubts.add('runs-script')
    if (unknown.length > 0) doubts.add('unknown-action')
    for (const next of mayRun) {
      const other = graph.byId.get(next)
      if (other !== undefined) queue.push({ definition: other, because: { eventId: id } })
    }
    for (const ref of actionRefs) {
      set.add(ref)
      write(ref)
    }
  }

  for (const ref of start.refs ?? []) write(ref)
  if (start.event !== undefined) queue.push({ definition: start.event, because: undefined })
  for (let at = 0; at < queue.length; at++) {
    const next = queue[at]
    if (next !== undefined) run(next)
  }
  const named = new Set(start.refs)
  return {
    steps: [...steps.values()],
    refs: [...set].filter((ref) => !named.has(ref)),
    eventIds: [...steps.keys()],
    doubts: [...doubts],
    security,
  }
}

interface Queued {
  readonly definition: EventDefinition
  readonly because: ConsequenceStep['because']
}
