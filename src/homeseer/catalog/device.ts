/**
 * HomeSeer device: one HomeSeer device or feature, normalised: its relatives, its capabilities and its sensitivity.
 *
 *   relationship 4 (feature) ──associated_devices[0]──▶ root    relationship 2 (root) ──associated_devices──▶ features
 *
 * Values are in the mirror and not here, because they change every second.
 */
import type { ControlPair } from '../wire/device.ts'
import { DEVICE_MISC_FLAGS, type ReceivedDevice } from '../wire/device.ts'
import { findDeviceCapabilities, type DeviceCapability } from './device-capabilities.ts'
import { classifyDevice, type DeviceKind, type SensitivityReason } from './device-classification.ts'

export interface HomeseerDevice {
  readonly ref: number
  readonly name: string
  readonly location: string
  readonly location2: string
  readonly interfaceName: string
  readonly typeString: string
  readonly relationship: number
  readonly parentRef: number | undefined
  readonly childRefs: readonly number[]
  readonly associatedRefs: readonly number[]
  /** Empty when it has none, or when HomeSeer could not be asked (`controlsKnown`). */
  readonly controls: readonly ControlPair[]
  readonly controlsKnown: boolean
  readonly capabilities: readonly DeviceCapability[]
  readonly kind: DeviceKind
  readonly sensitivity: readonly SensitivityReason[]
  /** The evidence for kind and sensitivity, for people. */
  readonly evidence: readonly string[]
  /** A root, master or scene that stands for other devices rather than being one. */
  readonly wrapper: boolean
  readonly hidden: boolean
  readonly statusOnly: boolean
  /** `Any`, or the only user who may control it. */
  readonly userAccess: string
  readonly voiceCommand: string
  /** The record as HomeSeer last sent it. */
  readonly record: ReceivedDevice
}

/** HomeSeer's numbers for the role of a record in its physical device. */
export const ROOT_DEVICE_RELATIONSHIP = 2
const CHILD = 4

/** Normalises one record and its pairs; the catalog adds children and relatives. */
export function normaliseHomeseerDevice(
  record: ReceivedDevice,
  known: readonly ControlPair[] | undefined,
  owner?: DeviceKind,
): HomeseerDevice {
  const controls = known ?? []
  const parentRef = record.relationship === CHILD ? record.associatedRefs[0] : undefined
  // The capabilities follow from the controls; without them they are unknown, and are not guessed.
  const capabilities = known === undefined ? [] : findDeviceCapabilities(record, known)
  const { kind, reasons, evidence } = classifyDevice({ record, controls: known, capabilities, owner })
  return {
    ref: record.ref,
    name: record.name,
    location: record.location,
    location2: record.location2,
    interfaceName: record.interfaceName,
    typeString: record.typeString,
    relationship: record.relationship,
    parentRef,
    childRefs: [],
    associatedRefs: record.associatedRefs,
    controls,
    controlsKnown: known !== undefined,
    capabilities,
    kind,
    sensitivity: reasons,
    evidence,
    wrapper: isWrapper(record, controls, parentRef),
    hidden: record.hidden || (record.misc & DEVICE_MISC_FLAGS.hidden) !== 0,
    statusOnly: (record.misc & DEVICE_MISC_FLAGS.statusOnly) !== 0,
    userAccess: record.userAccess === '' ? 'Any' : record.userAccess,
    voiceCommand: record.voiceCommand,
    record,
  }
}

function isWrapper(record: ReceivedDevice, controls: readonly ControlPair[], parentRef: number | undefined): boolean {
  if (/ (master|scene)\b/i.test(record.name)) return true
  return record.relationship === ROOT_DEVICE_RELATIONSHIP && controls.length === 0 && parentRef === undefined
}
