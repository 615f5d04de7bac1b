/**
 * Discovery: which address to ask for its identification next.
 *
 *   heard, seeded or well known ▸ asked ─▶ answered: again in two hours
 *                                       ├▶ no device: twice more, then every ten minutes
 *                                       └▶ unclear (collision, no bus): soon
 */
import { classifyAddress, toCompanionTarget, isInitiatorAddress } from '../wire/address.ts'
import type { BusDeviceRegistry, AddressSlot } from './device-registry.ts'
import { SERIAL_NUMBER_CHUNK_COUNT, VAILLANT_MANUFACTURER_CODE } from '../wire/device-identity.ts'

/** `heard`: addresses that were heard and usual ones; `full`: every address. */
export type DiscoveryMode = 'off' | 'heard' | 'full'

export type DiscoveryProbe =
  | { readonly kind: 'identity'; readonly address: number }
  | { readonly kind: 'serial'; readonly address: number; readonly chunk: number }

/** `absent`: no acknowledgement. `unclear`: the request failed, which says nothing about the address. */
export type DiscoveryProbeOutcome = 'answered' | 'absent' | 'unclear'

/**
 * Regulator, boiler or heat pump, function module, internet gateway, solar module, heat pump module, mixer module,
 * remote.
 */
const WELL_KNOWN: readonly number[] = [0x15, 0x08, 0x26, 0xf6, 0xec, 0x76, 0x52, 0x35]

/**
 * Slow on purpose: all devices share some 240 symbols a second. Replaced devices are noticed within AGAIN_MS; an
 * address without a device is tried less and less often, down to once in ten minutes.
 */
const SPACING_MS = 10_000
const PASSES = 3
const ABSENT_MS = 600_000
const AGAIN_MS = 7_200_000
const UNCLEAR_MS = 3_000

interface Attempt {
  readonly misses: number
  readonly nextMs: number
}

export class DiscoveryProbeScheduler {
  readonly #mode: DiscoveryMode
  // By request; at most five per address.
  readonly #attempts = new Map<string, Attempt>()

  constructor(mode: DiscoveryMode) {
    this.#mode = mode
  }

  /** The next request, if one is due. Our own address is not asked. */
  next(registry: BusDeviceRegistry, ourAddress: number | undefined, nowMs: number): DiscoveryProbe | undefined {
    if (this.#mode === 'off') return undefined
    const ourTarget = ourAddress === undefined ? undefined : toCompanionTarget(ourAddress)
    // The identification comes before the serial number, because that request depends on the manufacturer.
    const address = this.#candidates(registry).find(
      (candidate) => candidate !== ourTarget && this.#isDue({ kind: 'identity', address: candidate }, nowMs),
    )
    if (address !== undefined) return { kind: 'identity', address }
    for (const slot of registry.slots()) {
      const chunk = missingChunk(slot)
      if (chunk === undefined) continue
      const probe: DiscoveryProbe = { kind: 'serial', address: slot.address, chunk }
      if (this.#isDue(probe, nowMs)) return probe
    }
    return undefined
  }

  settle(probe: DiscoveryProbe, outcome: DiscoveryProbeOutcome, nowMs: number): void {
    const before = this.#attempts.get(keyOf(probe))?.misses ?? 0
    this.#attempts.set(keyOf(probe), after(outcome, before, nowMs))
  }

  /** Whether every likely address was asked at least once. */
  isThrough(registry: BusDeviceRegistry): boolean {
    if (this.#mode === 'off') return true
    return this.#candidates(registry).every((address) => this.#attempts.has(keyOf({ kind: 'identity', address })))
  }

  #isDue(probe: DiscoveryProbe, nowMs: number): boolean {
    return nowMs >= (this.#attempts.get(keyOf(probe))?.nextMs ?? 0)
  }

  #candidates(registry: BusDeviceRegistry): readonly number[] {
    const addresses = registry
      .slots()
      .map(({ address }) => (isInitiatorAddress(address) ? toCompanionTarget(address) : address))
    // An initiator does not answer requests; its target address, five higher, does.
    return [...new Set([...WELL_KNOWN, ...addresses, ...(this.#mode === 'full' ? ALL_TARGETS : [])])]
  }
}

const ALL_TARGETS: readonly number[] = Array.from({ length: 0xfd }, (_, index) => index + 1).filter(
  (address) => classifyAddress(address) === 'target',
)

function keyOf(probe: DiscoveryProbe): string {
  return probe.kind === 'identity' ? `${probe.address}` : `${probe.address}/${probe.chunk}`
}

function missingChunk({ identity, serialChunks }: AddressSlot): number | undefined {
  // Only Vaillant devices have their serial numbers at B509 24…27.
  if (identity?.manufacturerCode !== VAILLANT_MANUFACTURER_CODE) return undefined
  const chunk = Array.from({ length: SERIAL_NUMBER_CHUNK_COUNT }, (_, index) => serialChunks[index]).indexOf(undefined)
  return chunk < 0 ? undefined : chunk
}

function after(outcome: DiscoveryProbeOutcome, misses: number, nowMs: number): Attempt {
  switch (outcome) {
    case 'answered':
      return { misses: 0, nextMs: nowMs + AGAIN_MS }
    case 'absent':
      return { misses: misses + 1, nextMs: nowMs + (misses + 1 < PASSES ? SPACING_MS : ABSENT_MS) }
    case 'unclear':
      return { misses, nextMs: nowMs + UNCLEAR_MS }
  }
}
