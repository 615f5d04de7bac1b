/**
 * Enrolled device state: which devices are enrolled, with which credentials, and which definitions of their tools are
 * pinned, computed from the log.
 *
 *   device.approved ─▶ device.booted, device.token-used ─▶ device.rotated · revoked · forgotten
 *   device.named ─▶ device.tools.pinned ─▶ device.tools.withheld ─▶ device.tools.approved · released
 *
 * The names that people and devices give are in the bodies of the entries `approvedSeq` and `bootedSeq`.
 *
 * Pure, but for the state that it is given.
 */
import type { LedgerEntry } from '../../ledger/entry.ts'
import { readEntryTime, readEntryTextField } from '../../ledger/entry.ts'
import type { EntryHandler, Projection } from '../../ledger/projection.ts'
import { UndoableStateMap } from '../../ledger/projection.ts'
import type { DeviceTransport } from '../session/session.ts'
import type { EnrolledDevice } from './enrolment.ts'

interface IssuedToken {
  /** The SHA-256 of the token, in hex. */
  readonly hash: string
  readonly isUsed: boolean
}

export interface EnrolledDeviceRecord extends Omit<EnrolledDevice, 'name' | 'board' | 'firmware'> {
  readonly approvedSeq: number
  readonly bootedSeq: number | undefined
  /** Valid tokens, the oldest first. */
  readonly tokens: readonly IssuedToken[]
}

export interface DeviceToolPinsRecord {
  readonly slug: string
  /** The UUID whose tools are pinned; `undefined` before the first listing. */
  readonly pinnedClient: string | undefined
  /** Hashes of the definitions that a person approved, or that the first listing had. */
  readonly pins: readonly string[]
  /** The digest of the tools that were last recorded as withheld. */
  readonly withheld: string | undefined
}

export interface DeviceProjectionState {
  readonly devices: UndoableStateMap<EnrolledDeviceRecord>
  readonly labels: UndoableStateMap<DeviceToolPinsRecord>
  /** Slug → device. */
  readonly slugs: UndoableStateMap<string>
}

/** A device that boots repeatedly without connecting may use any of its last tokens; this many are kept. */
const TOKENS_PER_DEVICE = 4
const TRANSPORTS: readonly DeviceTransport[] = ['websocket', 'mqtt', 'mqtt-broker']
const INCOMPLETE = 'a field that such an entry needs is missing or wrong'
const UNKNOWN = 'no such device was let in'

const enrolmentEntries: Readonly<Record<string, EntryHandler<DeviceProjectionState>>> = {
  'device.approved': ({ devices }, entry) => {
    const [deviceId, clientId, by] = [
      readEntryTextField(entry, 'device_id'),
      readEntryTextField(entry, 'client_id'),
      readEntryTextField(entry, 'by'),
    ]
    const transport = TRANSPORTS.find((known) => known === entry['transport'])
    if (deviceId === undefined || clientId === undefined || by === undefined || transport === undefined)
      return INCOMPLETE
    // The credentials of the device that had this address before end here.
    devices.set(deviceId, {
      deviceId,
      clientId,
      state: 'approved',
      transport,
      generation: (devices.get(deviceId)?.generation ?? 0) + 1,
      approvedAtMs: readEntryTime(entry),
      approvedBy: by,
      bootedAtMs: undefined,
      approvedSeq: entry.seq,
      bootedSeq: undefined,
      tokens: [],
    })
    return undefined
  },

  'device.booted': ({ devices }, entry) => {
    const device = known(devices, entry)
    if (device?.state !== 'approved') return UNKNOWN
    if (entry['generation'] !== device.generation) return `the credentials of ${device.deviceId} had ended`
    const hash = readEntryTextField(entry, 'token_hash')
    const tokens = hash === undefined ? device.tokens : withToken(device.tokens, hash)
    devices.set(device.deviceId, { ...device, bootedAtMs: readEntryTime(entry), bootedSeq: entry.seq, tokens })
    return undefined
  },

  'device.token-used': ({ devices }, entry) => {
    const device = known(devices, entry)
    const at = device?.tokens.findIndex(({ hash }) => hash === entry['token_hash']) ?? -1
    if (device?.state !== 'approved' || at < 0) return 'no such token was given out'
    // The first use of a token invalidates the tokens issued before it.
    const tokens = device.tokens.slice(at).map((token, index) => (index === 0 ? { ...token, isUsed: true } : token))
    devices.set(device.deviceId, { ...device, tokens })
    return undefined
  },

  'device.rotated': ({ devices }, entry) => endCredentials(devices, entry),
  'device.revoked': ({ devices }, entry) => endCredentials(devices, entry, 'revoked'),

  'device.forgotten': ({ devices, labels, slugs }, entry) => {
    const device = known(devices, entry)
    if (device === undefined) return UNKNOWN
    const label = labels.get(device.deviceId)
    if (label !== undefined) slugs.delete(label.slug)
    labels.delete(device.deviceId)
    devices.delete(device.deviceId)
    return undefined
  },
}

const labelEntries: Readonly<Record<string, EntryHandler<DeviceProjectionState>>> = {
  'device.named': ({ devices, labels, slugs }, entry) => {
    const [device, slug] = [known(devices, entry), readEntryTextField(entry, 'device')]
    if (device === undefined) return UNKNOWN
    if (slug === undefined) return INCOMPLETE
    if (slugs.has(slug) || labels.has(device.deviceId)) return `the name ${slug} or the device had one before`
    slugs.set(slug, device.deviceId)
    labels.set(device.deviceId, { slug, pinnedClient: undefined, pins: [], withheld: undefined })
    return undefined
  },

  'device.tools.pinned': (state, entry) => {
    const label = labelled(state, entry)
    const [client, pins] = [readEntryTextField(entry, 'client_id'), pinsOf(entry)]
    if (label === undefined || pins === undefined || client === undefined)
      return label === undefined ? UNKNOWN : INCOMPLETE
    // Only the first listing is pinned without an approval.
    if (label.pinnedClient === client) return `the tools of ${label.slug} were pinned before`
    setLabel(state, entry, { ...label, pinnedClient: client, pins, withheld: undefined })
    return undefined
  },

  'device.tools.approved': (state, entry) => {
    const label = labelled(state, entry)
    const pins = pinsOf(entry)
    if (label === undefined || pins === undefined) return label === undefined ? UNKNOWN : INCOMPLETE
    if (readEntryTextField(entry, 'by') === undefined) return 'it does not say who approved them'
    if (label.withheld === undefined || label.withheld !== entry['digest'])
      return `other tools of ${label.slug} were withheld than were approved`
    setLabel(state, entry, { ...label, pins, withheld: undefined })
    return undefined
  },

  'device.tools.withheld': (state, entry) => {
    const label = labelled(state, entry)
    if (label === undefined) return UNKNOWN
    setLabel(state, entry, { ...label, withheld: readEntryTextField(entry, 'digest') })
    return undefined
  },

  'device.tools.released': (state, entry) => {
    const label = labelled(state, entry)
    if (label === undefined) return UNKNOWN
    setLabel(state, entry, { ...label, withheld: undefined })
    return undefined
  },
}

export const deviceProjection: Projection<DeviceProjectionState> = {
  name: 'devices',
  initial: (journal) => ({
    devices: new UndoableStateMap(journal),
    labels: new UndoableStateMap(journal),
    slugs: new UndoableStateMap(journal),
  }),
  apply: { ...enrolmentEntries, ...labelEntries },
}

function endCredentials(
  devices: UndoableStateMap<EnrolledDeviceRecord>,
  entry: LedgerEntry,
  state?: 'revoked',
): string | undefined {
  const device = known(devices, entry)
  if (device === undefined) return UNKNOWN
  const generation = device.generation + 1
  devices.set(device.deviceId, { ...device, generation, tokens: [], state: state ?? device.state })
  return undefined
}

/** The token in use is kept even if it is old, because the device may not have stored a newer one. */
function withToken(tokens: readonly IssuedToken[], hash: string): readonly IssuedToken[] {
  const all = [...tokens, { hash, isUsed: false }]
  return all.filter(({ isUsed }, index) => isUsed || index >= all.length - TOKENS_PER_DEVICE)
}

function known(devices: UndoableStateMap<EnrolledDeviceRecord>, entry: LedgerEntry): EnrolledDeviceRecord | undefined {
  return devices.get(readEntryTextField(entry, 'device_id') ?? '')
}

function labelled({ labels }: DeviceProjectionState, entry: LedgerEntry): DeviceToolPinsRecord | undefined {
  return labels.get(readEntryTextField(entry, 'device_id') ?? '')
}

function setLabel({ labels }: DeviceProjectionState, entry: LedgerEntry, label: DeviceToolPinsRecord): void {
  labels.set(readEntryTextField(entry, 'device_id') ?? '', label)
}

function pinsOf({ pins }: LedgerEntry): readonly string[] | undefined {
  return Array.isArray(pins) && pins.every((pin) => typeof pin === 'string') ? pins : undefined
}
