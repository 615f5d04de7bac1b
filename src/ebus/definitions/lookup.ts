/**
 * Lookup: which definition a telegram belongs to. The cost depends on how many lengths of ids a service has, not on how
 * many definitions are loaded.
 *
 *   longest id first; for each length: heard from that source ▸ heard from any ▸ read ▸ write
 *
 * Pure.
 */
import { isInitiator } from '../wire/address.ts'
import type { MessageDefinition } from './message-definition.ts'

interface Service {
  /** Longest first. */
  lengths: number[]
  /** By folded id and length. */
  readonly messages: Map<number, MessageDefinition[]>
}

export interface TelegramHeader {
  readonly source: number
  readonly target: number
  readonly pb: number
  readonly sb: number
}

const LENGTH_WEIGHT = 2 ** 32

export class DefinitionIndex {
  readonly #services = new Map<number, Service>()

  constructor(messages: Iterable<MessageDefinition> = []) {
    for (const message of messages) this.add(message)
  }

  /** A message without target belongs to no telegram that is heard. */
  add(message: MessageDefinition): void {
    if (message.zz === undefined) return
    const key = serviceKey(message.zz, message.pb, message.sb)
    let service = this.#services.get(key)
    if (service === undefined) this.#services.set(key, (service = { lengths: [], messages: new Map() }))
    const { length } = message.id
    if (!service.lengths.includes(length))
      service.lengths = [...service.lengths, length].toSorted((left, right) => right - left)
    const idKey = foldedId(message.id, length)
    const messages = service.messages.get(idKey)
    if (messages === undefined) service.messages.set(idKey, [message])
    else messages.push(message)
  }

  /** The first definition that is available. Without `isAvailable` all are. */
  find(
    { source, target, pb, sb }: TelegramHeader,
    data: Uint8Array,
    isAvailable?: (message: MessageDefinition) => boolean,
  ): MessageDefinition | undefined {
    const service = this.#services.get(serviceKey(target, pb, sb))
    if (service === undefined) return undefined
    for (const length of service.lengths) {
      if (length > data.length) continue
      const candidates = service.messages.get(foldedId(data, length))
      if (candidates === undefined) continue
      const found = best(candidates, source, data, isAvailable)
      if (found !== undefined) return found
    }
    return undefined
  }
}

function best(
  candidates: readonly MessageDefinition[],
  source: number,
  data: Uint8Array,
  isAvailable: ((message: MessageDefinition) => boolean) | undefined,
): MessageDefinition | undefined {
  let found: MessageDefinition | undefined
  let foundRank = 4
  for (const candidate of candidates) {
    const rank = rankOf(candidate, source)
    if (rank < foundRank && hasId(candidate, data) && (isAvailable === undefined || isAvailable(candidate))) {
      found = candidate
      foundRank = rank
    }
  }
  return found
}

function rankOf({ isPassive, isWrite, qq }: MessageDefinition, source: number): number {
  if (isPassive) {
    if (qq === undefined) return 1
    return qq === source && isInitiator(source) ? 0 : 4
  }
  return isWrite ? 3 : 2
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

/** Collisions are sorted out by comparing the id itself. */
function foldedId(data: Uint8Array, length: number): number {
  let folded = 0
  for (let index = 0; index < length; index++) folded ^= (data[index] ?? 0) << (8 * (3 - (index % 4)))
  return (folded >>> 0) + length * LENGTH_WEIGHT
}
