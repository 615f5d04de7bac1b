/**
 * Definition index: finds the definition of a telegram. The cost depends on how many lengths of ids a service has, not
 * on how many definitions are loaded.
 *
 *   longest id first; for each length: heard from that source ▸ heard from any ▸ read ▸ write; the first loaded wins
 */
import type { MessageDefinition } from './message-definition.ts'

/** Definitions of one id, each kind in the order in which it was loaded. */
interface Candidates {
  readonly passive: MessageDefinition[]
  readonly reads: MessageDefinition[]
  readonly writes: MessageDefinition[]
}

interface Service {
  /** Longest first. */
  lengths: number[]
  /** By folded id and length. */
  readonly candidates: Map<number, Candidates>
}

type Available = ((message: MessageDefinition) => boolean) | undefined

export interface TelegramHeader {
  readonly source: number
  readonly target: number
  readonly pb: number
  readonly sb: number
}

const LENGTH_WEIGHT = 2 ** 32

export class TelegramDefinitionIndex {
  readonly #services = new Map<number, Service>()

  constructor(messages: Iterable<MessageDefinition> = []) {
    for (const message of messages) this.add(message)
  }

  /** A message without a target matches no telegram on the bus. */
  add(message: MessageDefinition): void {
    if (message.zz === undefined) return
    const key = serviceKey(message.zz, message.pb, message.sb)
    let service = this.#services.get(key)
    if (service === undefined) this.#services.set(key, (service = { lengths: [], candidates: new Map() }))
    const { length } = message.id
    if (!service.lengths.includes(length))
      service.lengths = [...service.lengths, length].toSorted((left, right) => right - left)
    const idKey = foldedId(message.id, length)
    let candidates = service.candidates.get(idKey)
    if (candidates === undefined) service.candidates.set(idKey, (candidates = { passive: [], reads: [], writes: [] }))
    if (message.isPassive) candidates.passive.push(message)
    else if (message.isWrite) candidates.writes.push(message)
    else candidates.reads.push(message)
  }

  /** The first definition that is available; without `isAvailable` all are. */
  find(
    { source, target, pb, sb }: TelegramHeader,
    data: Uint8Array,
    isAvailable?: Available,
  ): MessageDefinition | undefined {
    const service = this.#services.get(serviceKey(target, pb, sb))
    if (service === undefined) return undefined
    for (const length of service.lengths) {
      if (length > data.length) continue
      const candidates = service.candidates.get(foldedId(data, length))
      if (candidates === undefined) continue
      const { passive, reads, writes } = candidates
      const found =
        firstOf(passive, data, isAvailable, source) ??
        firstOf(passive, data, isAvailable) ??
        firstOf(reads, data, isAvailable) ??
        firstOf(writes, data, isAvailable)
      if (found !== undefined) return found
    }
    return undefined
  }
}

/** With `source`: only definitions with that source; without: only definitions without one, or that we send. */
function firstOf(
  candidates: readonly MessageDefinition[],
  data: Uint8Array,
  isAvailable: Available,
  source?: number,
): MessageDefinition | undefined {
  for (const candidate of candidates)
    if (
      (candidate.isPassive ? candidate.qq === source : true) &&
      hasId(candidate, data) &&
      (isAvailable === undefined || isAvailable(candidate))
    )
      return candidate
  return undefined
}

function hasId({ id, chain }: MessageDefinition, data: Uint8Array): boolean {
  return chain.length === 0 ? startsWith(data, id) : chain.some((part) => startsWith(data, part.id))
}

function startsWith(data: Uint8Array, id: Uint8Array): boolean {
  if (data.length < id.length) return false
  for (let index = 0; index < id.length; index++) if (data[index] !== id[index]) return false
  return true
}

function serviceKey(target: number, pb: number, sb: number): number {
  return (target << 16) | (pb << 8) | sb
}

/** A hash of the id; collisions are resolved by comparing the id itself. */
function foldedId(data: Uint8Array, length: number): number {
  let folded = 0
  for (let index = 0; index < length; index++) folded ^= (data[index] ?? 0) << (8 * (3 - (index % 4)))
  return (folded >>> 0) + length * LENGTH_WEIGHT
}
