/**
 * Simulated devices: the hardware's state of each device, and separately what HomeSeer has stored about it.
 *
 *   control ─▶ hardware ──settle──▶ stored ─▶ change (pushed)
 *   setdevicestatus ───────────────▶ stored ─▶ change (pushed)        no hardware
 *   a hand on the switch ─▶ hardware ──settle──▶ stored
 *
 * Time is an argument. A command only schedules what will happen; it happens when `advance` is called with that time or
 * a later one, so the answer to a command still shows the old state, as a real HomeSeer's does.
 *
 * Pure, given its arguments: it holds state and touches nothing else.
 */
import type { ControlPair, HomeseerDeviceRecord } from '../../homeseer/wire/device.ts'
import { CONTROL_TYPE_CODES, type ControlUse } from '../../homeseer/wire/control-use.ts'
import type { SimulatedHomeseerDeviceFaults } from './simulated-faults.ts'
import { formatDisplayText, type SimulatedHomeseerDevice } from './simulated-homeseer-device.ts'
import { findOwnProperty } from './own-property.ts'

/** `text` is set by text boxes and colour pickers, and by writes of a text that belongs to no value. */
export interface SimulatedDeviceValue {
  readonly value: number
  readonly text: string | undefined
}

export interface SimulatedDeviceChange {
  readonly ref: number
  readonly value: number
  readonly previous: number
}

/** The user of a command, and its time. */
export interface SimulatedCommandUserAndTime {
  readonly user: string
  readonly nowMs: number
}

interface Fitted {
  readonly part: SimulatedHomeseerDevice
  record: SimulatedHomeseerDevice['record']
  hardware: SimulatedDeviceValue
  stored: SimulatedDeviceValue
  lastChangeMs: number | undefined
  /** The level to which a dimmer goes when it is switched on without one. */
  lastLevel: number | undefined
}

interface Later {
  readonly dueMs: number
  readonly ref: number
  readonly hardware?: SimulatedDeviceValue
  readonly stored?: SimulatedDeviceValue
}

/** Bit of `misc`: changes of this device do not move its time of last change. */
const SET_KEEPS_LAST_CHANGE = 0x1000

export class SimulatedHomeseerDevices {
  readonly #fitted = new Map<number, Fitted>()
  readonly #faults: SimulatedHomeseerDeviceFaults
  readonly #listeners = new Set<(change: SimulatedDeviceChange) => void>()
  readonly #writeListeners = new Set<(change: SimulatedDeviceChange, nowMs: number) => void>()
  #later: Later[] = []

  constructor(parts: readonly SimulatedHomeseerDevice[], faults: SimulatedHomeseerDeviceFaults) {
    this.#faults = faults
    for (const part of parts) this.add(part)
  }

  add(part: SimulatedHomeseerDevice): void {
    const { value, text } = part
    const position = { value, text }
    this.#fitted.set(part.record.ref, {
      part,
      record: part.record,
      hardware: position,
      stored: position,
      lastChangeMs: undefined,
      // A lamp that was never on has no last level, and goes to full brightness.
      lastLevel: value > 0 ? value : undefined,
    })
  }

  remove(ref: number): boolean {
    this.#later = this.#later.filter((later) => later.ref !== ref)
    return this.#fitted.delete(ref)
  }

  get refs(): readonly number[] {
    return [...this.#fitted.keys()]
  }

  /** The real state of the relay, the bolt or the lamp, which is not visible on the wire. */
  hardware(ref: number): SimulatedDeviceValue | undefined {
    return this.#fitted.get(ref)?.hardware
  }

  stored(ref: number): SimulatedDeviceValue | undefined {
    return this.#fitted.get(ref)?.stored
  }

  /** The record as HomeSeer would list it, with or without its control pairs. */
  record(ref: number, withControls = false): HomeseerDeviceRecord | undefined {
    const fitted = this.#fitted.get(ref)
    if (fitted === undefined) return undefined
    const { value, text } = fitted.stored
    return {
      ...fitted.record,
      value,
      status: text ?? formatDisplayText(fitted.part.display, value),
      lastChangeMs: fitted.lastChangeMs,
      controls: withControls ? fitted.part.pairs : undefined,
    }
  }

  pairs(ref: number): readonly ControlPair[] {
    return this.#fitted.get(ref)?.part.pairs ?? []
  }

  onChange(listener: (change: SimulatedDeviceChange) => void): void {
    this.#listeners.add(listener)
  }

  /** Called for every write of a value, also of an unchanged one, because triggers of events react to both. */
  onWrite(listener: (change: SimulatedDeviceChange, nowMs: number) => void): void {
    this.#writeListeners.add(listener)
  }

  /** Returns false for HomeSeer's bare `error`: no such device, no such value, or not for this user. */
  controlByValue(ref: number, value: number, by: SimulatedCommandUserAndTime): boolean {
    const pair = this.pairs(ref).find((one) => !takesText(one) && takes(one, value))
    return pair !== undefined && this.#command(ref, { pair, position: { value, text: undefined }, ...by })
  }

  controlByLabel(ref: number, label: string, by: SimulatedCommandUserAndTime): boolean {
    const wanted = label.trim().toLowerCase()
    const pair = this.pairs(ref).find((one) => one.label.toLowerCase() === wanted && one.range === undefined)
    if (pair?.value === undefined || takesText(pair)) return false
    return this.#command(ref, { pair, position: { value: pair.value, text: undefined }, ...by })
  }

  controlByIndex(
    ref: number,
    given: { readonly index: number; readonly text: string | undefined },
    by: SimulatedCommandUserAndTime,
  ): boolean {
    const pair = this.pairs(ref).find((one) => one.index === given.index)
    if (pair?.value === undefined || (takesText(pair) && given.text === undefined)) return false
    const text = takesText(pair) ? given.text : undefined
    return this.#command(ref, { pair, position: { value: pair.value, text }, ...by })
  }

  /** The ref is a root: its features are searched for the use. */
  controlByUse(
    ref: number,
    given: { readonly use: ControlUse; readonly value: number | undefined; readonly text: string | undefined },
    by: SimulatedCommandUserAndTime,
  ): boolean {
    for (const feature of this.#fitted.get(ref)?.record.associatedRefs ?? []) {
      const pair = this.pairs(feature).find((one) => one.use === given.use)
      if (pair === undefined || this.#fitted.get(feature)?.record.relationship !== 4) continue
      if (takesText(pair)) return this.controlByIndex(feature, { index: pair.index, text: given.text }, by)
      const value = pair.range === undefined ? pair.value : given.value
      return value !== undefined && takes(pair, value) && this.controlByValue(feature, value, by)
    }
    return false
  }

  /** As `setdevicestatus` does: HomeSeer stores it, and the hardware is not told. */
  store(ref: number, given: { readonly value?: number; readonly text?: string }, nowMs: number): boolean {
    const fitted = this.#fitted.get(ref)
    if (fitted === undefined) return false
    const value = given.value ?? fitted.stored.value
    this.#remember(
      fitted,
      { value, text: given.text ?? (given.value === undefined ? fitted.stored.text : undefined) },
      nowMs,
    )
    return true
  }

  /** A person pressed the switch on the wall. */
  move(ref: number, value: number, nowMs: number): void {
    const fitted = this.#fitted.get(ref)
    if (fitted === undefined) throw new RangeError(`no device ${ref} in the house`)
    this.#schedule(ref, [{ dueMs: nowMs, to: { value, text: undefined } }])
  }

  setProperty(ref: number, property: string, value: string): boolean {
    const fitted = this.#fitted.get(ref)
    const name = findOwnProperty(PROPERTIES, property.toLowerCase())
    if (fitted === undefined || name === undefined) return false
    fitted.record = { ...fitted.record, [name]: value }
    return true
  }

  /** Runs everything that is due by now, in order. */
  advance(nowMs: number): void {
    const due = this.#later.filter((later) => later.dueMs <= nowMs).sort((left, right) => left.dueMs - right.dueMs)
    if (due.length === 0) return
    this.#later = this.#later.filter((later) => later.dueMs > nowMs)
    for (const { ref, dueMs, hardware, stored } of due) {
      const fitted = this.#fitted.get(ref)
      if (fitted === undefined) continue
      if (hardware !== undefined) {
        fitted.hardware = hardware
        if (hardware.value > 0) fitted.lastLevel = hardware.value
      }
      if (stored !== undefined) this.#remember(fitted, stored, dueMs)
    }
  }

  get nextDueMs(): number {
    return this.#later.reduce((soonest, later) => Math.min(soonest, later.dueMs), Number.POSITIVE_INFINITY)
  }

  #command(
    ref: number,
    command: {
      readonly pair: ControlPair
      readonly position: SimulatedDeviceValue
      readonly user: string
      readonly nowMs: number
    },
  ): boolean {
    const fitted = this.#fitted.get(ref)
    if (fitted === undefined || this.#faults.refused.has(ref)) return false
    // HomeSeer answers only `error` to a user without the right.
    if (fitted.record.userAccess !== 'Any' && fitted.record.userAccess !== command.user) return false
    const { nowMs } = command
    const to = landing(command.pair, command.position, fitted)
    this.#schedule(ref, this.#course(fitted, to, nowMs))
    return true
  }

  /** The states that the hardware will have, and when. */
  #course(
    fitted: Fitted,
    to: SimulatedDeviceValue,
    nowMs: number,
  ): readonly { readonly dueMs: number; readonly to: SimulatedDeviceValue }[] {
    const { behaviour } = fitted.part
    if (behaviour.kind === 'stuck' || this.#faults.stuck.has(fitted.record.ref)) return []
    if (behaviour.kind === 'silent') return []
    if (behaviour.kind === 'slow') return [{ dueMs: nowMs + behaviour.afterMs, to }]
    if (behaviour.kind === 'sleepy')
      return [{ dueMs: Math.ceil((nowMs + 1) / behaviour.wakesEveryMs) * behaviour.wakesEveryMs, to }]
    if (behaviour.kind === 'gliding') return glide(fitted.hardware.value, to, { ...behaviour, nowMs })
    if (behaviour.kind === 'flapping')
      return [
        { dueMs: nowMs, to },
        { dueMs: nowMs + behaviour.backAfterMs, to: fitted.hardware },
      ]
    if (behaviour.kind === 'travelling' && to.value !== fitted.hardware.value)
      return [
        { dueMs: nowMs, to: { value: behaviour.through, text: undefined } },
        { dueMs: nowMs + behaviour.forMs, to },
      ]
    return [{ dueMs: nowMs, to }]
  }

  /** A newer command replaces what is still scheduled for an older one. */
  #schedule(ref: number, course: readonly { readonly dueMs: number; readonly to: SimulatedDeviceValue }[]): void {
    this.#later = this.#later.filter((later) => later.ref !== ref)
    for (const { dueMs, to } of course)
      this.#later.push({ dueMs, ref, hardware: to }, { dueMs: dueMs + this.#faults.settleMs, ref, stored: to })
  }

  #remember(fitted: Fitted, position: SimulatedDeviceValue, nowMs: number): void {
    const previous = fitted.stored
    fitted.stored = position
    const same = previous.value === position.value && previous.text === position.text
    if (!same && (fitted.record.misc & SET_KEEPS_LAST_CHANGE) === 0) fitted.lastChangeMs = nowMs
    const change = { ref: fitted.record.ref, value: position.value, previous: previous.value }
    if (!same) for (const listener of this.#listeners) listener(change)
    for (const listener of this.#writeListeners) listener(change, nowMs)
  }
}

const PROPERTIES: Readonly<Record<string, keyof SimulatedHomeseerDevice['record']>> = {
  name: 'name',
  location: 'location',
  location2: 'location2',
  usernote: 'userNote',
  device_type_string: 'typeString',
}

/** A range takes whole steps only, as many decimals as it has. */
function takes(pair: ControlPair, value: number): boolean {
  if (pair.range === undefined) return pair.value === value
  const steps = value * 10 ** pair.range.decimals
  return value >= pair.range.start && value <= pair.range.end && Math.abs(steps - Math.round(steps)) < 1e-6
}

function takesText(pair: ControlPair): boolean {
  return pair.type === CONTROL_TYPE_CODES.textBox || pair.type === CONTROL_TYPE_CODES.colourPicker
}

/** Reports on the way, the last of which is the final position. */
function glide(
  from: number,
  to: SimulatedDeviceValue,
  way: { readonly forMs: number; readonly reportEveryMs: number; readonly nowMs: number },
): readonly { readonly dueMs: number; readonly to: SimulatedDeviceValue }[] {
  const { forMs, reportEveryMs, nowMs } = way
  const reports = Math.max(1, Math.floor(forMs / reportEveryMs))
  const course = Array.from({ length: reports }, (_, index) => ({
    dueMs: nowMs + (index + 1) * reportEveryMs,
    to: { value: Math.round(from + ((to.value - from) * (index + 1)) / (reports + 1)), text: undefined },
  }))
  return [...course, { dueMs: nowMs + forMs + reportEveryMs, to }]
}

/** "On to the last level" is a command, not a position; and some devices show another number than the command's. */
function landing(pair: ControlPair, position: SimulatedDeviceValue, fitted: Fitted): SimulatedDeviceValue {
  const shown = fitted.part.shows.get(position.value)
  if (shown !== undefined) return { value: shown, text: undefined }
  const full = fitted.part.pairs.find((one) => one.use === 'On')?.value
  if (pair.use !== 'OnAlternate' || full === undefined) return position
  return { value: fitted.lastLevel ?? full, text: undefined }
}
