/**
 * Withheld tool log: when what is withheld of a device is worth a line in the ledger.
 *
 * A device can word its tools anew at every hello, and a line costs the disk for ever. So the first is at once, and
 * further ones of the same device every ten minutes, with how often it changed its words since.
 *
 * Pure, apart from what it holds.
 */
const RECORD_MS = 600_000

interface Wording {
  /** Of what is withheld now; `undefined` for nothing. */
  digest: string | undefined
  /** Since the last line. */
  changes: number
  nextMs: number
}

export class WithheldToolLogThrottle {
  /** Only devices of the house. */
  readonly #wordings = new Map<string, Wording>()

  /** What is withheld of the device now, and what the last line says was. */
  see(deviceId: string, digest: string | undefined, recorded: string | undefined): void {
    const wording = this.#wordings.get(deviceId) ?? { digest: recorded, changes: 0, nextMs: Number.NEGATIVE_INFINITY }
    this.#wordings.set(deviceId, wording)
    if (digest !== undefined && digest !== wording.digest) wording.changes++
    wording.digest = digest
  }

  /** How many changes a line is to speak of; `undefined` when there is to be none yet. */
  due(deviceId: string, nowMs: number): number | undefined {
    const wording = this.#wordings.get(deviceId)
    return wording === undefined || nowMs < wording.nextMs ? undefined : wording.changes
  }

  /** Told apart from `due`, because a line that could not be written is still due. */
  wrote(deviceId: string, nowMs: number): void {
    const wording = this.#wordings.get(deviceId)
    if (wording === undefined) return
    wording.changes = 0
    wording.nextMs = nowMs + RECORD_MS
  }

  /** The device is gone, or a person has looked at it: what comes next is a first again. */
  forget(deviceId: string): void {
    this.#wordings.delete(deviceId)
  }
}
