/**
 * Withheld tool entry throttle: decides when the withheld tools of a device are recorded in the ledger.
 *
 * A device can change its definitions at every hello, and an entry is stored for ever. So the first change is recorded
 * at once, and further ones of the same device every ten minutes, with the number of changes since.
 *
 * Pure, apart from what it holds.
 */
const RECORD_MS = 600_000

interface Wording {
  /** The digest of what is withheld now; `undefined` for nothing. */
  digest: string | undefined
  /** The number of changes since the last entry. */
  changes: number
  nextMs: number
}

export class WithheldToolEntryThrottle {
  /** Only devices of the house are in the map. */
  readonly #wordings = new Map<string, Wording>()

  /** Notes what is withheld of the device now, and what the last entry says was withheld. */
  see(deviceId: string, digest: string | undefined, recorded: string | undefined): void {
    const wording = this.#wordings.get(deviceId) ?? { digest: recorded, changes: 0, nextMs: Number.NEGATIVE_INFINITY }
    this.#wordings.set(deviceId, wording)
    if (digest !== undefined && digest !== wording.digest) wording.changes++
    wording.digest = digest
  }

  /** The number of changes that an entry should contain; `undefined` when none is to be written yet. */
  due(deviceId: string, nowMs: number): number | undefined {
    const wording = this.#wordings.get(deviceId)
    return wording === undefined || nowMs < wording.nextMs ? undefined : wording.changes
  }

  /** Separate from `due`, because an entry that could not be written is still due. */
  wrote(deviceId: string, nowMs: number): void {
    const wording = this.#wordings.get(deviceId)
    if (wording === undefined) return
    wording.changes = 0
    wording.nextMs = nowMs + RECORD_MS
  }

  /** The device is gone, or a person has decided about it: the next change is recorded at once again. */
  forget(deviceId: string): void {
    this.#wordings.delete(deviceId)
  }
}
