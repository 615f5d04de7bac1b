/**
 * Pending devices: unknown devices with a code, until a person approves them or their time is over.
 *
 * They are kept in memory and bounded: an unknown device uses no disk space, and one address cannot displace the
 * others. A device that lost its place, for example by a restart, asks again within two minutes and gets a new code.
 *
 * Pure, apart from the state it holds; its caller draws the codes.
 */
import type { DeviceIdentity } from '../session/fleet.ts'
import type { PendingDevice } from './enrolment.ts'

export interface PendingDeviceRecord extends PendingDevice {
  readonly challenge: string
  /** Valid from the approval on, for clients that send only one OTA request. */
  readonly token: string
  readonly approved: boolean
}

export interface PendingDevicesSettings {
  readonly places: number
  readonly placesPerAddress: number
  readonly stayMs: number
}

const DEFAULT_WAITING_ROOM: PendingDevicesSettings = { places: 256, placesPerAddress: 8, stayMs: 3_600_000 }

export type NewPendingDevice = Omit<PendingDevice, 'code' | 'sinceMs' | 'expiresAtMs'>

export interface PairingSecretSource {
  /** Draws six digits. */
  readonly code: () => string
  readonly challenge: () => string
  readonly token: () => string
}

export class PendingDevices {
  readonly #settings: PendingDevicesSettings
  readonly #chance: PairingSecretSource
  readonly #onChange: () => void
  /** The waiting devices, oldest first, as a Map keeps them. */
  readonly #waiting = new Map<string, PendingDeviceRecord>()

  /** `onChange` is called whenever the result of `list` would change. */
  constructor(
    chance: PairingSecretSource,
    settings: PendingDevicesSettings = DEFAULT_WAITING_ROOM,
    onChange: () => void = () => undefined,
  ) {
    this.#chance = chance
    this.#settings = settings
    this.#onChange = onChange
  }

  /** Returns the code that this device has already, or a new one. */
  enter(newcomer: NewPendingDevice, nowMs: number): PendingDeviceRecord {
    this.#clear(nowMs)
    const key = keyOf(newcomer)
    const known = this.#waiting.get(key)
    if (known !== undefined) return known
    this.#evictOldest(newcomer.remoteAddress)
    const waiting: PendingDeviceRecord = {
      ...newcomer,
      code: this.#freshCode(),
      challenge: this.#chance.challenge(),
      token: this.#chance.token(),
      sinceMs: nowMs,
      expiresAtMs: nowMs + this.#settings.stayMs,
      approved: false,
    }
    this.#waiting.set(key, waiting)
    this.#onChange()
    return waiting
  }

  find(identity: DeviceIdentity, nowMs: number): PendingDeviceRecord | undefined {
    this.#clear(nowMs)
    return this.#waiting.get(keyOf(identity))
  }

  /** Finds a device by its code. A code works once: an approved device is no longer found by it. */
  byCode(code: string, nowMs: number): PendingDeviceRecord | undefined {
    this.#clear(nowMs)
    return this.list(nowMs).find((waiting) => waiting.code === code)
  }

  /** Marks a device as approved; with `false`, undoes this for an approval that could not be recorded. */
  approve(waiting: PendingDeviceRecord, approved = true): void {
    this.#waiting.set(keyOf(waiting), { ...waiting, approved })
    this.#onChange()
  }

  leave(identity: DeviceIdentity): void {
    const known = this.#waiting.get(keyOf(identity))
    this.#waiting.delete(keyOf(identity))
    // An approved device had left the list before, so the list does not change.
    if (known?.approved === false) this.#onChange()
  }

  list(nowMs: number): readonly PendingDeviceRecord[] {
    this.#clear(nowMs)
    return [...this.#waiting.values()].filter((waiting) => !waiting.approved)
  }

  #freshCode(): string {
    const taken = new Set([...this.#waiting.values()].map(({ code }) => code))
    for (;;) {
      const code = this.#chance.code()
      if (!taken.has(code)) return code
    }
  }

  #evictOldest(remoteAddress: string): void {
    const sameAddress = [...this.#waiting.values()].filter((waiting) => waiting.remoteAddress === remoteAddress)
    const crowded = sameAddress.length >= this.#settings.placesPerAddress
    const oldest = crowded ? sameAddress[0] : [...this.#waiting.values()][0]
    if (oldest !== undefined && (crowded || this.#waiting.size >= this.#settings.places)) this.leave(oldest)
  }

  #clear(nowMs: number): void {
    for (const waiting of this.#waiting.values()) if (waiting.expiresAtMs <= nowMs) this.leave(waiting)
  }
}

function keyOf({ deviceId, clientId }: DeviceIdentity): string {
  return `${deviceId} ${clientId}`
}
