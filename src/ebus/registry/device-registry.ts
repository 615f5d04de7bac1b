/**
 * Device registry: the devices on the bus, from overheard telegrams and from requests.
 *
 *   heard once ▸ candidate ──answered, or heard again──▶ corroborated_pending ──identified──▶ identity_confirmed
 *
 * A slot is an address; a device has one or more slots: an initiator and its target address, or addresses with one
 * serial number. Two devices that are merely equal in type stay two.
 *
 * Pure, but for the registry it is given: 256 addresses at most.
 */
import { classifyAddress, toCompanionInitiator, toCompanionTarget, isInitiatorAddress } from '../wire/address.ts'
import type { TelegramExchange } from '../wire/telegram.ts'
import type { BusDeviceIdentity } from '../wire/device-identity.ts'
import {
  SERIAL_NUMBER_CHUNK_COUNT,
  VAILLANT_MANUFACTURER_CODE,
  decodeIdentity,
  decodeSerialChunk,
  isSameIdentity,
  parseSerialChunkIndex,
  joinSerialNumber,
} from '../wire/device-identity.ts'

/** How an address became known and how reliable that is: the contract's labels, per address. */
export const DISCOVERY_SOURCES = ['passive_observed', 'static_seed', 'active_confirmed'] as const
export type DiscoverySource = (typeof DISCOVERY_SOURCES)[number]
export const VERIFICATION_STATES = ['candidate', 'corroborated_pending', 'identity_confirmed'] as const
export type VerificationState = (typeof VERIFICATION_STATES)[number]

export interface AddressSlot {
  readonly address: number
  readonly source: DiscoverySource
  readonly state: VerificationState
  readonly identity: BusDeviceIdentity | undefined
  /** By number; a hole is a piece that is not known yet. */
  readonly serialChunks: readonly (string | undefined)[]
  readonly lastSeenMs: number | undefined
}

export interface BusDevice {
  /** The address that answers, if there is one. */
  readonly address: number
  readonly addresses: readonly number[]
  readonly identity: BusDeviceIdentity | undefined
  readonly serial: string | undefined
  readonly lastSeenMs: number | undefined
}

/** After this many sightings an address is unlikely to be another one that was garbled. */
const CORROBORATED = 3

/** The mutable form of `AddressSlot`. */
interface MutableSlot extends AddressSlot {
  source: DiscoverySource
  state: VerificationState
  identity: BusDeviceIdentity | undefined
  serialChunks: (string | undefined)[]
  lastSeenMs: number | undefined
  sightings: number
}

export class BusDeviceRegistry {
  readonly #slots = new Map<number, MutableSlot>()
  #revision = 0
  #devices: readonly BusDevice[] | undefined

  /** Grows whenever something about a device changes, except sightings. */
  get revision(): number {
    return this.#revision
  }

  /** Adds addresses that the owner configured. */
  seed(addresses: readonly number[]): void {
    for (const address of addresses) this.#open(address, 'static_seed')
  }

  /** Adds a device of an earlier run, which is likely still there and is asked again. */
  remember(address: number, answer: Uint8Array): void {
    const decoded = decodeIdentity(answer)
    if (!decoded.ok || this.#slots.get(address)?.identity !== undefined) return
    this.#open(address, 'passive_observed').identity = decoded.value
    this.#changed()
  }

  /** Handles a telegram that was not a copy of our own; `own` when this gateway sent the request. */
  handleExchange({ telegram, response }: TelegramExchange, own: boolean, atMs: number): void {
    const { source, target, primary, secondary, data } = telegram
    // This gateway is not a device of the house.
    if (!own) this.#sight(source, atMs, false)
    if (response !== undefined) {
      // An answer has a checksum of its own, so one counts as much as several sightings.
      this.#sight(target, atMs, true)
      if (primary === 0x07 && secondary === 0x04) this.#identify(target, response, own)
      else if (primary === VAILLANT_MANUFACTURER_CODE && secondary === 0x09 && data.length === 1)
        this.#noteSerial(target, data, response)
      return
    }
    // A device that broadcasts its identification sends the same ten bytes about its target address.
    if (classifyAddress(target) === 'broadcast' && primary === 0x07 && secondary === 0x04 && data.length > 0 && !own)
      this.#identify(toCompanionTarget(source), data, false)
  }

  slot(address: number): AddressSlot | undefined {
    return this.#slots.get(address)
  }

  slots(): readonly AddressSlot[] {
    return [...this.#slots.values()]
  }

  /** Any of its addresses finds a device. */
  find(address: number): BusDevice | undefined {
    return this.devices().find(({ addresses }) => addresses.includes(address))
  }

  /** Sorted by address, manufacturer, product id. */
  devices(): readonly BusDevice[] {
    return (this.#devices ??= this.#group())
  }

  #open(address: number, source: DiscoverySource): MutableSlot {
    const known = this.#slots.get(address)
    if (known !== undefined) return known
    const slot: MutableSlot = {
      address,
      source,
      state: 'candidate',
      identity: undefined,
      serialChunks: [],
      lastSeenMs: undefined,
      sightings: 0,
    }
    this.#slots.set(address, slot)
    this.#changed()
    return slot
  }

  #sight(address: number, atMs: number, answered: boolean): void {
    const slot = this.#open(address, 'passive_observed')
    // This does not count as a change, or every telegram would make a new revision.
    slot.lastSeenMs = atMs
    if (slot.state !== 'candidate') return
    slot.sightings++
    if (!answered && slot.sightings < CORROBORATED) return
    slot.state = 'corroborated_pending'
    this.#changed()
  }

  #identify(address: number, answer: Uint8Array, own: boolean): void {
    const decoded = decodeIdentity(answer)
    if (!decoded.ok) return
    const slot = this.#open(address, 'passive_observed')
    const before = slot.identity
    const source = own ? 'active_confirmed' : slot.source
    if (before !== undefined && isSameIdentity(before, decoded.value) && slot.source === source) return
    // Another product answers at this address now, so its serial number is another one, too.
    if (before !== undefined && !isSameIdentity(before, decoded.value)) slot.serialChunks = []
    slot.identity = decoded.value
    slot.source = source
    slot.state = 'identity_confirmed'
    this.#changed()
  }

  #noteSerial(address: number, data: Uint8Array, response: Uint8Array): void {
    const chunk = parseSerialChunkIndex(data)
    const text = chunk === undefined ? undefined : decodeSerialChunk(chunk, response)
    const slot = this.#slots.get(address)
    if (chunk === undefined || text === undefined || slot === undefined || slot.serialChunks[chunk] === text) return
    slot.serialChunks[chunk] = text
    this.#changed()
  }

  #changed(): void {
    this.#revision++
    this.#devices = undefined
  }

  #group(): readonly BusDevice[] {
    const groups: MutableSlot[][] = []
    const bySerial = new Map<string, MutableSlot[]>()
    // Target addresses come first, because they have the identification.
    const ordered = [...this.#slots.values()].toSorted(
      (left, right) =>
        Number(isInitiatorAddress(left.address)) - Number(isInitiatorAddress(right.address)) ||
        left.address - right.address,
    )
    const byTarget = new Map<number, MutableSlot[]>()
    for (const slot of ordered) {
      const serial = slotSerial(slot)
      const key = serial === undefined ? undefined : `${slot.identity?.manufacturerCode ?? 0}/${serial}`
      const target = isInitiatorAddress(slot.address) ? toCompanionTarget(slot.address) : undefined
      // A serial number joins any addresses; otherwise only an initiator and its own target address are joined.
      const group =
        (key === undefined ? undefined : bySerial.get(key)) ?? (target === undefined ? undefined : byTarget.get(target))
      const joined = group ?? []
      if (group === undefined) groups.push(joined)
      joined.push(slot)
      if (key !== undefined) bySerial.set(key, joined)
      if (!isInitiatorAddress(slot.address)) byTarget.set(slot.address, joined)
    }
    return groups.map(asDevice).toSorted((left, right) => left.address - right.address)
  }
}

/** The address that was identified comes first, else one that could answer. */
function asDevice(slots: readonly MutableSlot[]): BusDevice {
  const identified = slots.find(({ identity }) => identity !== undefined)
  const seen = slots.map(({ lastSeenMs }) => lastSeenMs).filter((ms) => ms !== undefined)
  const primary = identified ?? slots.find(({ address }) => toCompanionInitiator(address) !== undefined) ?? slots[0]
  return {
    address: primary?.address ?? 0,
    addresses: slots.map(({ address }) => address).toSorted((left, right) => left - right),
    identity: identified?.identity,
    serial: slots.map(slotSerial).find((serial) => serial !== undefined),
    lastSeenMs: seen.length === 0 ? undefined : Math.max(...seen),
  }
}

/** The serial number needs all four pieces. */
function slotSerial({ serialChunks }: AddressSlot): string | undefined {
  const known = serialChunks.filter((chunk) => chunk !== undefined)
  return known.length === SERIAL_NUMBER_CHUNK_COUNT ? joinSerialNumber(known) : undefined
}
