/**
 * Address: initiator and target addresses of an eBUS, and which two belong to one device.
 *
 * An initiator's two nibbles are both out of {0,1,3,7,F}: 25 addresses. The low nibble is its priority class, the high
 * one its place within the class. Its target address, if it has one, is five higher: 10 ▸ 15, 03 ▸ 08, FF ▸ 04.
 */
import { BROADCAST_ADDRESS, ESC, SYN } from './symbol.ts'

export type AddressKind = 'initiator' | 'target' | 'broadcast' | 'reserved'

/** Each has only ones below its highest one, so the wired AND of two of them is again one of them. */
const NIBBLES: readonly number[] = [0x0, 0x1, 0x3, 0x7, 0xf]
const COMPANION_OFFSET = 5

const RANK = new Int8Array(16).fill(-1)
for (const [rank, nibble] of NIBBLES.entries()) RANK[nibble] = rank

/** All 25, highest priority first. */
export const INITIATOR_ADDRESSES: readonly number[] = NIBBLES.flatMap((low) => NIBBLES.map((high) => (high << 4) | low))

/** Looked up for every telegram, so it is worked out once. */
const KINDS: readonly AddressKind[] = Array.from({ length: 256 }, (_, address) => {
  if (address === SYN || address === ESC) return 'reserved'
  if (address === BROADCAST_ADDRESS) return 'broadcast'
  return INITIATOR_ADDRESSES.includes(address) ? 'initiator' : 'target'
})

export function isInitiatorAddress(address: number): boolean {
  return KINDS[address] === 'initiator'
}

export function classifyAddress(address: number): AddressKind {
  return KINDS[address] ?? 'reserved'
}

/** 0 has the highest priority, 4 the lowest. Throws for an address that is not an initiator's, which is a bug. */
export function computePriorityClass(initiator: number): number {
  return rank(checked(initiator) & 0xf)
}

export function toCompanionTarget(initiator: number): number {
  return (checked(initiator) + COMPANION_OFFSET) & 0xff
}

/** The initiator address of a target, if there is one. */
export function toCompanionInitiator(target: number): number | undefined {
  const candidate = (target - COMPANION_OFFSET) & 0xff
  return classifyAddress(target) === 'target' && isInitiatorAddress(candidate) ? candidate : undefined
}

function rank(nibble: number): number {
  return RANK[nibble & 0xf] ?? -1
}

function checked(initiator: number): number {
  if (!isInitiatorAddress(initiator)) throw new RangeError(`${initiator.toString(16)} is not an initiator address`)
  return initiator
}
