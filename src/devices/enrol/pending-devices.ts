/**
 * Pending devices: strangers with a code, until a person approves them or their time is over.
 *
 * In memory and bounded: a stranger costs nothing on the disk, and one address cannot crowd out the others. A device
 * that lost its place, by a restart for example, asks again within two minutes and gets a new code.
 *
 * Pure, apart from the state it holds; codes are drawn by whoever makes it.
 */
import type { DeviceIdentity } from '../session/fleet.ts'
import type { PendingDevice } from './enrolment.ts'

export interface PendingDeviceRecord extends PendingDevice {
  readonly challenge: string
  /** Good from the approval on, for clients that ask only once. */
  readonly token: string
  readonly approved: boolean
}

export interface PendingDevicesSettings {
  readonly places: number
  readonly placesPerAddress: number
  readonly stayMs: number
}

const DEFAULT_WAITING_ROOM: PendingDevicesSettings = { places: 256, placesPerAddress: 8, stayMs: 3_600_000 }

export type PendingDeviceInput = Omit<PendingDevice, 'code' | 'sinceMs' | 'expiresAtMs'>

export interface PairingCodeSource {
  /** Six digits. */
  readonly code: () => string
  readonly challenge: () => string
  readonly token: () => string
}

export class PendingDevices {
  readonly #settings: PendingDevicesSettings
  readonly #chance: PairingCodeSource
  readonly #onChange: () => void
  /** Oldest first, as a Map keeps them. */
  readonly #waiting = new Map<string, PendingDeviceRecord>()

  /** `onChange` is called whenever `list` would say something else than before. */
  constructor(
    chance: PairingCodeSource,
    settings: PendingDevicesSettings = DEFAULT_WAITING_ROOM,
    onChange: () => void = () => undefined,
  ) {
    this.#chance = chance
    this.#settings = settings
    this.#onChange = onChange
  }

  /** The code this device has already, or a new one. */
  enter(newcomer: PendingDeviceInput, nowMs: number): PendingDeviceRecord {
    this.#clear(nowMs)
    const key = keyOf(newcomer)
    const known = this.#waiting.get(key)
    if (known !== undefined) return known
    this.#makeRoom(newcomer.remoteAddress)
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

  /** A code works once: an approved device is no longer found by it. */
  byCode(code: string, nowMs: number): PendingDeviceRecord | undefined {
    this.#clear(nowMs)
    return this.list(nowMs).find((waiting) => waiting.code === code)
  }

  /** With `false`, an approval that could not be recorded is taken back. */
  approve(waiting: PendingDeviceRecord, approved = true): void {
    this.#waiting.set(keyOf(waiting), { ...waiting, approved })
    this.#onChange()
  }

  leave(identity: DeviceIdentity): void {
    const known = this.#waiting.get(keyOf(identity))
    this.#waiting.delete(keyOf(identity))
    // Who was approved had left the list before.
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

  #makeRoom(remoteAddress: string): void {
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
