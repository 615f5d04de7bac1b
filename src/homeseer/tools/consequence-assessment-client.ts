/**
 * Consequence assessment client: everything that a change would cause in this house, and why that may need a person's
 * approval.
 *
 *   event definitions ▸ chain of events ▸ devices that it reaches ▸ their classes
 *
 * Uncertainty needs an approval: if HomeSeer's definitions cannot be read, or are not understood, the change is
 * sensitive.
 */
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import {
  buildEventGraph,
  traceEventConsequences,
  NO_EVENT_CONSEQUENCES,
  type ConsequenceUncertainty,
  type EventConsequences,
  type EventGraph,
  findRootRef,
  type HomeseerDeviceCatalog,
} from '../catalog/device-catalog-and-event-consequences.ts'
import type { HomeseerDevice } from '../catalog/device.ts'
import type { EventDefinition } from '../catalog/event-definition.ts'
import { isSameHomeseerName } from '../catalog/event-search.ts'
import type { LoadedEventDefinitions } from '../catalog/event-file-store.ts'
import type { ReceivedEventRecord } from '../wire/event.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { formatDeviceLabel } from './catalog-reader.ts'
import { createHomeseerReadFault } from './faults.ts'
import { toHomeseerDeviceTarget, type HomeseerAssessment } from './homeseer-change.ts'
import { truncateText } from './json-text.ts'
import type { TouchedTargets } from './change-policy.ts'

export type ConsequenceApprovalReason =
  | 'touches-sensitive-device'
  | 'security-flag'
  /** HomeSeer's event definitions cannot be read. */
  | 'events-unread'
  | ConsequenceUncertainty

export interface AssessedConsequences {
  readonly consequences: EventConsequences
  /** Why the consequences need an approval; empty if they need none. */
  readonly reasons: readonly ConsequenceApprovalReason[]
  readonly deviceCatalog: HomeseerDeviceCatalog
  /** Of the event that was asked for, where it is known. */
  readonly definition?: EventDefinition | undefined
}

/** The most devices whose controls are requested before a chain is assessed. */
const MAX_REQUESTED = 20
const MAX_LABEL = 200

/** The consequences of writing devices, with a control or only in HomeSeer's memory. */
export async function assessDeviceWriteConsequences(
  homeseer: HomeseerToolContext,
  refs: readonly number[],
): Promise<Result<AssessedConsequences, Fault>> {
  const known = await knownEvents(homeseer)
  const deviceCatalog = await homeseer.catalog.devicesFor(refs)
  if (!deviceCatalog.ok) return fail(createHomeseerReadFault(deviceCatalog.fault, 'reading the devices'))
  if (known.files === undefined) {
    const needsApproval = known.hasEvents && homeseer.config.unreadEvents === 'ask'
    return ok({
      consequences: NO_EVENT_CONSEQUENCES,
      reasons: needsApproval ? ['events-unread'] : [],
      deviceCatalog: deviceCatalog.value,
    })
  }
  const followed = traceEventConsequences(graphOf(known.files), { refs }, relativesIn(deviceCatalog.value))
  return reasoned(homeseer, known.isWhole ? followed : doubted(followed, 'unknown-event'))
}

/** The consequences of running an event. */
export async function assessEventRunConsequences(
  homeseer: HomeseerToolContext,
  event: ReceivedEventRecord,
): Promise<Result<AssessedConsequences, Fault>> {
  const { files, isWhole } = await knownEvents(homeseer)
  const deviceCatalog = await homeseer.catalog.devices()
  if (!deviceCatalog.ok) return fail(createHomeseerReadFault(deviceCatalog.fault, 'reading the devices'))
  const definition = files?.definitions.find(({ id }) => id === event.id)
  if (files === undefined)
    return ok({ consequences: NO_EVENT_CONSEQUENCES, reasons: ['events-unread'], deviceCatalog: deviceCatalog.value })
  if (definition === undefined)
    return ok({ consequences: NO_EVENT_CONSEQUENCES, reasons: ['unknown-event'], deviceCatalog: deviceCatalog.value })
  const followed = traceEventConsequences(graphOf(files), { event: definition }, relativesIn(deviceCatalog.value))
  // Devices that it sets may set off an event that the definitions lack; and a renamed event was edited since.
  const isKnown = isWhole && isSameHomeseerName(definition.name, event.name)
  const assessed = await reasoned(homeseer, isKnown ? followed : doubted(followed, 'unknown-event'))
  return assessed.ok ? ok({ ...assessed.value, definition }) : assessed
}

interface KnownEvents {
  /** The definitions; `undefined` if they cannot be read, or are too old. */
  readonly files: LoadedEventDefinitions | undefined
  readonly hasEvents: boolean
  /** Whether every event of HomeSeer is in the definitions, and every record is valid. */
  readonly isWhole: boolean
}

async function knownEvents({ eventFiles, catalog, config, clock }: HomeseerToolContext): Promise<KnownEvents> {
  const [files, live] = await Promise.all([eventFiles.read(), catalog.events()])
  const hasEvents = !live.ok || live.value.length > 0
  if (!files.ok) return { files: undefined, hasEvents, isWhole: false }
  const { eventsMaxAgeHours: hours } = config
  const isStale = hours !== undefined && clock.now() - files.value.eventsModifiedMs > hours * 3_600_000
  const ids = new Set(files.value.definitions.map(({ id }) => id))
  const listed = live.ok ? live.value : []
  const isWhole = files.value.unread === 0 && listed.every(({ id }) => id !== undefined && ids.has(id))
  return { files: isStale ? undefined : files.value, hasEvents, isWhole }
}

/** Cached per definitions object, which changes only when the files change. */
const graphs = new WeakMap<LoadedEventDefinitions, EventGraph>()

function graphOf(files: LoadedEventDefinitions): EventGraph {
  const known = graphs.get(files)
  if (known !== undefined) return known
  const graph = buildEventGraph(files.definitions)
  graphs.set(files, graph)
  return graph
}

function relativesIn(deviceCatalog: HomeseerDeviceCatalog): (ref: number) => readonly number[] {
  return (ref) => {
    const device = deviceCatalog.byRef.get(ref)
    if (device === undefined) return []
    const root = findRootRef(device)
    return [root, ...(deviceCatalog.byRef.get(root)?.childRefs ?? [])]
  }
}

function doubted(consequences: EventConsequences, doubt: ConsequenceUncertainty): EventConsequences {
  return { ...consequences, doubts: [...new Set([...consequences.doubts, doubt])] }
}

async function reasoned(
  homeseer: HomeseerToolContext,
  consequences: EventConsequences,
): Promise<Result<AssessedConsequences, Fault>> {
  const seen = await readDevicesFor(homeseer, consequences.refs)
  if (!seen.ok) return seen
  const { deviceCatalog, unread } = seen.value
  const reached = consequences.refs.map((ref) => deviceCatalog.byRef.get(ref))
  // A device that was not requested may be a lock by now, and so may a device that cannot be seen.
  const isUnsure = unread > 0 || reached.includes(undefined)
  const whole = isUnsure ? doubted(consequences, 'unknown-action') : consequences
  const touches = reached.some((device) => device !== undefined && device.sensitivity.length > 0)
  return ok({
    consequences: whole,
    deviceCatalog,
    reasons: [
      ...(touches ? ['touches-sensitive-device' as const] : []),
      ...(whole.security ? ['security-flag' as const] : []),
      ...whole.doubts,
    ],
  })
}

interface ReadDevices {
  readonly deviceCatalog: HomeseerDeviceCatalog
  /** Devices that may have got controls since, and were too many to ask. */
  readonly unread: number
}

/** Reads the controls of chained devices without known controls, because a lock is recognised by its controls. */
async function readDevicesFor(
  { catalog }: HomeseerToolContext,
  refs: readonly number[],
): Promise<Result<ReadDevices, Fault>> {
  const known = await catalog.devicesFor(refs)
  if (!known.ok) return fail(createHomeseerReadFault(known.fault, 'reading the devices'))
  const withoutControls = refs.filter((ref) => known.value.byRef.get(ref)?.controls.length === 0)
  if (withoutControls.length === 0) return ok({ deviceCatalog: known.value, unread: 0 })
  const answers = await Promise.all(withoutControls.slice(0, MAX_REQUESTED).map((ref) => catalog.freshControls(ref)))
  const failed = answers.find((answer) => !answer.ok)
  if (failed !== undefined && !failed.ok) return fail(createHomeseerReadFault(failed.fault, 'reading the controls'))
  const renewed = await catalog.devices()
  if (!renewed.ok) return fail(createHomeseerReadFault(renewed.fault, 'reading the devices'))
  return ok({ deviceCatalog: renewed.value, unread: withoutControls.length - answers.length })
}

/** The targets of a chain, for the owner's lists. */
export function toTouchedTargets({ consequences: { refs, eventIds, doubts } }: AssessedConsequences): TouchedTargets {
  return {
    refs,
    ...(eventIds.length === 0 ? {} : { eventIds }),
    ...(doubts.length === 0 ? {} : { mayTouchAnything: true }),
  }
}

/** The devices and events that a chain is known to reach, as the owner's rules and limits name them. */
export function listReachedTargets({ consequences: { refs, eventIds } }: AssessedConsequences): readonly string[] {
  return [...refs.map(toHomeseerDeviceTarget), ...eventIds.map(toHomeseerEventTarget)]
}

/** All other devices of the house, if it is not certain that the chain ends with the known ones. */
export function listPossiblyReachedTargets({
  consequences: { refs, doubts },
  deviceCatalog,
}: AssessedConsequences): readonly string[] {
  return doubts.length === 0 ? [] : listDeviceTargetsExcept(deviceCatalog, refs)
}

/**
 * The assessment of a change of some devices with its consequences. It depends on what the devices are, not on the
 * requested state: locking a door can lock somebody out.
 */
export function toDeviceChangeAssessment(
  devices: readonly HomeseerDevice[],
  assessed: AssessedConsequences,
): Pick<HomeseerAssessment, 'effect' | 'touched' | 'reaches' | 'mayReach'> {
  const { refs = [], ...touched } = toTouchedTargets(assessed)
  const isSensitive = assessed.reasons.length > 0 || devices.some(({ sensitivity }) => sensitivity.length > 0)
  return {
    effect: isSensitive ? 'sensitive' : 'writes',
    touched: { ...touched, refs: [...devices.map(({ ref }) => ref), ...refs] },
    reaches: listReachedTargets(assessed),
    mayReach: listPossiblyReachedTargets(assessed),
  }
}

export function listDeviceTargetsExcept(
  deviceCatalog: HomeseerDeviceCatalog,
  refs: readonly number[],
): readonly string[] {
  const known = new Set(refs)
  return deviceCatalog.devices.filter(({ ref }) => !known.has(ref)).map(({ ref }) => toHomeseerDeviceTarget(ref))
}

export function toHomeseerEventTarget(id: number | string): string {
  return `homeseer:event:${id}`
}

/** The consequences step by step, for the approver and the record. */
export function toConsequencesJson({ consequences, reasons, deviceCatalog }: AssessedConsequences): JsonObject {
  const named = (ref: number): string => {
    const device = deviceCatalog.byRef.get(ref)
    return device === undefined ? `device ${ref}, which is not known here` : `${formatDeviceLabel(device)}, ref ${ref}`
  }
  if (consequences.steps.length === 0 && reasons.length === 0) return {}
  return {
    setsInMotion: {
      reasons: [...reasons],
      events: consequences.steps.slice(0, 20).map(({ eventId, group, name, because, sets, unknown }) => ({
        event: `${group} / ${name}, id ${eventId}`,
        ...(because === undefined
          ? {}
          : { because: 'ref' in because ? named(because.ref) : `event ${because.eventId}` }),
        sets: sets.map(named),
        ...(unknown.length === 0 ? {} : { notUnderstood: unknown.slice(0, 10) }),
      })),
      devices: consequences.refs.map(named),
    },
  }
}

/** Adds what a change reaches to its label, so that the ledger and every approval request show it. */
export function addConsequencesToLabel(
  label: string,
  { consequences: { refs }, reasons, deviceCatalog }: AssessedConsequences,
): string {
  const sensitive = refs.filter((ref) => (deviceCatalog.byRef.get(ref)?.sensitivity.length ?? 1) > 0)
  const named = [...sensitive, ...refs.filter((ref) => !sensitive.includes(ref))]
    .slice(0, 5)
    .map((ref) => `${deviceCatalog.byRef.get(ref)?.name ?? 'device'} (${ref})`)
  const unread = reasons.includes('events-unread') ? ['whatever HomeSeer’s events do'] : []
  const doubt = reasons.some((one) => one === 'unknown-action' || one === 'unknown-event' || one === 'runs-script')
  const reached = [...named, ...unread, ...(doubt ? ['perhaps more'] : [])]
  return reached.length === 0 ? label : truncateText(`${label}, and by events ${reached.join(', ')}`, MAX_LABEL)
}
