/**
 * Device mirror: what every device last showed, with the source and the time.
 *
 *   push (ASCII, web hook) ─┐
 *   poll (everything)      ─┼─▶ entries ─▶ changed
 *   read (some refs)       ─┘
 *
 * While push works, everything is read again only now and then; without push, often. A pushed value comes without its
 * text, so the text is unknown until it is read. An answer never overwrites what was observed after its request was
 * sent.
 *
 * Pure: time is an input (monotonic milliseconds), requests are outputs.
 */
import { MAX_HOMESEER_DEVICES, type ReceivedDevice } from './device.ts'

type MirrorSource = 'ascii' | 'webhook' | 'poll' | 'read'

export interface MirroredValue {
  readonly value: number | undefined
  /** `undefined` while only the number is known. */
  readonly status: string | undefined
  /** HomeSeer's own time of the last change, where it was told. */
  readonly lastChangeMs: number | undefined
  readonly source: MirrorSource
  readonly observedMs: number
}

export interface DeviceMirrorEntry {
  /** The record as HomeSeer last sent it; value and status in it may be older than `live`. */
  readonly record: ReceivedDevice
  readonly live: MirroredValue
}

export interface DeviceMirrorPollIntervals {
  /** The interval of full reads while nothing is pushed. */
  readonly pollMs: number
  /** The interval of full reads while changes are pushed, because pushes can be lost. */
  readonly resyncMs: number
}

export interface DeviceMirror {
  readonly rules: DeviceMirrorPollIntervals
  readonly entries: ReadonlyMap<number, DeviceMirrorEntry>
  /** Grows whenever a device appears, goes, or changes its name, place, family or flags. */
  readonly structure: number
  readonly pushUp: boolean
  /** When everything was last requested; `undefined` when it has to be requested at once. */
  readonly polledMs: number | undefined
  readonly polling: boolean
  /** Refs whose text, or whole state, is unknown, and since when. */
  readonly unread: ReadonlyMap<number, number>
  readonly readDueMs: number
  readonly reading: boolean
}

export interface PushedChange {
  readonly ref: number
  readonly value: number
  readonly status?: string | undefined
  readonly lastChangeMs?: number | undefined
}

export type DeviceMirrorInput =
  | { readonly kind: 'tick'; readonly atMs: number }
  | { readonly kind: 'push-state'; readonly up: boolean; readonly atMs: number }
  | {
      readonly kind: 'pushed'
      readonly source: 'ascii' | 'webhook'
      readonly changes: readonly PushedChange[]
      readonly atMs: number
    }
  | {
      readonly kind: 'answered'
      readonly source: 'poll' | 'read'
      readonly devices: readonly ReceivedDevice[]
      /** The requested refs; `undefined`: everything. */
      readonly refs?: readonly number[] | undefined
      /** When the request was sent. */
      readonly requestedMs: number
      readonly atMs: number
    }
  | { readonly kind: 'unanswered'; readonly source: 'poll' | 'read'; readonly atMs: number }

export interface DeviceMirrorChange {
  readonly ref: number
  readonly previous: MirroredValue | undefined
  readonly live: MirroredValue
}

export type DeviceMirrorEffect =
  | { readonly kind: 'poll' }
  | { readonly kind: 'read'; readonly refs: readonly number[] }
  | { readonly kind: 'changed'; readonly changes: readonly DeviceMirrorChange[] }

export interface DeviceMirrorStep {
  readonly mirror: DeviceMirror
  readonly effects: readonly DeviceMirrorEffect[]
}

/** Pushes come in bursts; one request covers those that arrive together. */
const READ_DELAY_MS = 50
/** With more refs than this, requesting everything is cheaper than a long URL. */
const MAX_UNREAD = 100

export function newDeviceMirror(rules: DeviceMirrorPollIntervals): DeviceMirror {
  return {
    rules,
    entries: new Map(),
    structure: 0,
    pushUp: false,
    polledMs: undefined,
    polling: false,
    unread: new Map(),
    readDueMs: Number.POSITIVE_INFINITY,
    reading: false,
  }
}

export function stepDeviceMirror(mirror: DeviceMirror, input: DeviceMirrorInput): DeviceMirrorStep {
  switch (input.kind) {
    case 'tick':
      return requestDue(mirror, input.atMs)
    case 'push-state':
      // Changes during a disconnection were not pushed, so everything is read once after each reconnect.
      return { mirror: { ...mirror, pushUp: input.up, ...(input.up ? { polledMs: undefined } : {}) }, effects: [] }
    case 'pushed':
      return takePush(mirror, input)
    case 'answered':
      return takeAnswer(mirror, input)
    default:
      return { mirror: takeSilence(mirror, input), effects: [] }
  }
}

/** When the next tick is needed. */
export function computeNextMirrorTickAtMs(mirror: DeviceMirror): number {
  const { polling, polledMs, pushUp, rules, reading, readDueMs } = mirror
  const pollDueMs = polledMs === undefined ? 0 : polledMs + (pushUp ? rules.resyncMs : rules.pollMs)
  return Math.min(polling ? Number.POSITIVE_INFINITY : pollDueMs, reading ? Number.POSITIVE_INFINITY : readDueMs)
}

function requestDue(mirror: DeviceMirror, atMs: number): DeviceMirrorStep {
  if (computeNextMirrorTickAtMs(mirror) > atMs) return { mirror, effects: [] }
  if (!mirror.reading && mirror.readDueMs <= atMs) {
    const next = { ...mirror, reading: true, readDueMs: Number.POSITIVE_INFINITY }
    return { mirror: next, effects: [{ kind: 'read', refs: [...mirror.unread.keys()] }] }
  }
  return { mirror: { ...mirror, polling: true }, effects: [{ kind: 'poll' }] }
}

function takePush(mirror: DeviceMirror, input: Extract<DeviceMirrorInput, { kind: 'pushed' }>): DeviceMirrorStep {
  const entries = new Map(mirror.entries)
  const unread = new Map(mirror.unread)
  const changes: DeviceMirrorChange[] = []
  for (const change of input.changes) {
    const entry = entries.get(change.ref)
    if (entry === undefined || change.status === undefined) unread.set(change.ref, input.atMs)
    else unread.delete(change.ref)
    if (entry === undefined) continue
    const live = { ...pushedLive(change), source: input.source, observedMs: input.atMs }
    entries.set(change.ref, { record: entry.record, live })
    if (differs(entry.live, live)) changes.push({ ref: change.ref, previous: entry.live, live })
  }
  const next =
    unread.size > MAX_UNREAD
      ? { ...mirror, entries, unread: new Map(), readDueMs: Number.POSITIVE_INFINITY, polledMs: undefined }
      : { ...mirror, entries, unread, readDueMs: readDue(unread, mirror, input.atMs) }
  return { mirror: next, effects: reportOf(changes) }
}

function takeAnswer(mirror: DeviceMirror, input: Extract<DeviceMirrorInput, { kind: 'answered' }>): DeviceMirrorStep {
  const entries = new Map(input.source === 'poll' ? [] : mirror.entries)
  const changes: DeviceMirrorChange[] = []
  let moved = false
  for (const record of input.devices) {
    const known = mirror.entries.get(record.ref)
    if (known === undefined && entries.size >= MAX_HOMESEER_DEVICES) continue
    const newer = known !== undefined && known.live.observedMs > input.requestedMs
    const live = newer ? known.live : answeredLive(record, input)
    entries.set(record.ref, { record, live })
    moved ||= known === undefined || !sameStructure(known.record, record)
    if (!newer && (known === undefined || differs(known.live, live)))
      changes.push({ ref: record.ref, previous: known?.live, live })
  }
  // A requested device that is missing in the answer is gone, unless it was pushed since.
  const answered = new Set(input.devices.map(({ ref }) => ref))
  for (const ref of input.refs ?? [])
    if (!answered.has(ref) && (entries.get(ref)?.live.observedMs ?? 0) <= input.requestedMs) entries.delete(ref)
  moved ||= [...mirror.entries.keys()].some((ref) => !entries.has(ref))
  // A requested ref that was not answered is not requested again until it is pushed again.
  const unread = new Map([...mirror.unread].filter(([, sinceMs]) => sinceMs > input.requestedMs))
  const next: DeviceMirror = {
    ...mirror,
    entries,
    structure: mirror.structure + (moved ? 1 : 0),
    unread,
    readDueMs: readDue(unread, mirror, input.atMs),
    ...(input.source === 'poll' ? { polling: false, polledMs: input.atMs } : { reading: false }),
  }
  // Listeners are told of devices that came, went or were renamed, even if no value changed.
  return { mirror: next, effects: moved ? [{ kind: 'changed', changes }] : reportOf(changes) }
}

/**
 * After a failure both kinds of request wait as long as a poll would, because the client has already tried more than
 * once.
 */
function takeSilence(mirror: DeviceMirror, input: Extract<DeviceMirrorInput, { kind: 'unanswered' }>): DeviceMirror {
  if (input.source === 'poll') return { ...mirror, polling: false, polledMs: input.atMs }
  const readDueMs = mirror.unread.size === 0 ? Number.POSITIVE_INFINITY : input.atMs + mirror.rules.pollMs
  return { ...mirror, reading: false, readDueMs }
}

function readDue(unread: ReadonlyMap<number, number>, mirror: DeviceMirror, atMs: number): number {
  return unread.size === 0 ? Number.POSITIVE_INFINITY : Math.min(mirror.readDueMs, atMs + READ_DELAY_MS)
}

function reportOf(changes: readonly DeviceMirrorChange[]): readonly DeviceMirrorEffect[] {
  return changes.length === 0 ? [] : [{ kind: 'changed', changes }]
}

function pushedLive(change: PushedChange): Pick<MirroredValue, 'value' | 'status' | 'lastChangeMs'> {
  return { value: change.value, status: change.status, lastChangeMs: change.lastChangeMs }
}

function answeredLive(record: ReceivedDevice, input: { source: 'poll' | 'read'; atMs: number }): MirroredValue {
  const { value, status, lastChangeMs } = record
  return { value, status, lastChangeMs, source: input.source, observedMs: input.atMs }
}

/** A known number that gets its text is a change; one that loses it is not. */
function differs(before: MirroredValue, now: MirroredValue): boolean {
  return before.value !== now.value || (now.status !== undefined && before.status !== now.status)
}

function sameStructure(left: ReceivedDevice, right: ReceivedDevice): boolean {
  return (
    left.name === right.name &&
    left.location === right.location &&
    left.location2 === right.location2 &&
    left.relationship === right.relationship &&
    left.misc === right.misc &&
    left.hidden === right.hidden &&
    left.voiceCommand === right.voiceCommand &&
    left.deviceType.api === right.deviceType.api &&
    left.deviceType.type === right.deviceType.type &&
    left.userAccess === right.userAccess &&
    left.typeString === right.typeString &&
    left.interfaceName === right.interfaceName &&
    left.associatedRefs.length === right.associatedRefs.length &&
    left.associatedRefs.every((ref, index) => ref === right.associatedRefs[index])
  )
}
