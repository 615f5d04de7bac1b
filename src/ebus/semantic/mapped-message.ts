/**
 * Mapped message: a message of a definition file that has a value for a plane, by the message map, and that value.
 */
import { sanitizeLine } from '../../core/untrusted-text.ts'
import type { BusDefinitions } from '../definitions/bus-definitions.ts'
import type { LastMessageData } from '../definitions/message-chain.ts'
import { decodeField } from '../definitions/message-decoder.ts'
import type { MessageDefinition } from '../definitions/message-definition.ts'
import type { MappedPlaneField, MappedFieldSource } from './message-map.ts'
import { MAPPED_PLANE_FIELDS } from './message-map.ts'
import type { HeatingPlaneName } from './planes.ts'

export interface MappedMessageValue {
  readonly value: number | string | boolean
  /** Circuit and name of the message. */
  readonly message: string
  /** Wall clock. */
  readonly atMs: number
  readonly source: 'poll' | 'passive' | 'cache'
}

const MAX_WORD = 64
const TRUE_WORDS = /^(?:on|yes|true|active|1)$/i

const PLANES_BY_MESSAGE: ReadonlyMap<string, readonly HeatingPlaneName[]> = groupPlanes()

function groupPlanes(): ReadonlyMap<string, readonly HeatingPlaneName[]> {
  const planes = new Map<string, HeatingPlaneName[]>()
  for (const { plane, sources } of MAPPED_PLANE_FIELDS)
    for (const { maker, circuit, message } of sources) {
      const key = messageKey(maker, circuit, message)
      const known = planes.get(key)
      if (known === undefined) planes.set(key, [plane])
      else if (!known.includes(plane)) known.push(plane)
    }
  return planes
}

/** The planes that a message has values for. Secrets are not in the map. */
export function listPlanesForMessage(message: MessageDefinition): readonly HeatingPlaneName[] {
  return PLANES_BY_MESSAGE.get(messageKey(makerFolder(message), message.circuit, message.name)) ?? []
}

export function isMappedMessage(message: MessageDefinition): boolean {
  return listPlanesForMessage(message).length > 0
}

/** Messages for these planes that can be read, and are not known in this run yet. */
export function listUnreadMessages(
  definitions: BusDefinitions,
  planes: readonly HeatingPlaneName[],
): readonly MessageDefinition[] {
  return definitions
    .unreadMessages()
    .filter((message) => listPlanesForMessage(message).some((plane) => planes.includes(plane)))
}

/** The value of a field of the map, from the first of its messages that said it. */
export function readMappedPlaneField(
  definitions: BusDefinitions,
  { as, sources }: MappedPlaneField,
): MappedMessageValue | undefined {
  for (const source of sources)
    for (const message of definitions.messagesNamed(source.circuit, source.message)) {
      const last = definitions.last(message)
      if (last === undefined || makerFolder(message) !== source.maker || !definitions.isAvailable(message)) continue
      const value = readValue(message, last, { source, as })
      if (value === undefined) continue
      const how = message.isPassive || message.isWrite ? 'passive' : 'poll'
      return {
        value,
        message: `${message.circuit}.${message.name}`,
        atMs: last.atMs,
        source: last.isRemembered === true ? 'cache' : how,
      }
    }
  return undefined
}

function readValue(
  message: MessageDefinition,
  last: LastMessageData,
  { source, as }: { readonly source: MappedFieldSource; readonly as: MappedPlaneField['as'] },
): MappedMessageValue['value'] | undefined {
  const { field, factor = 1, plus, isTrueFor } = source
  const read = decodeField(message, field, last)
  const value = read?.ok === true ? read.value.value : null
  if (value === null) return undefined
  if (isTrueFor !== undefined) return isTrueFor.test(String(value))
  if (as === 'text') return sanitizeLine(String(value), MAX_WORD)
  if (as === 'flag') return typeof value === 'number' ? value > 0 : TRUE_WORDS.test(value)
  if (typeof value !== 'number') return undefined
  const added = plus === undefined ? undefined : decodeField(message, plus.field, last)
  const more = added?.ok === true && typeof added.value.value === 'number' ? added.value.value * (plus?.factor ?? 1) : 0
  return Number((value * factor + more).toFixed(4))
}

/** The folder of the file; `undefined` for files without a manufacturer. */
function makerFolder({ source }: MessageDefinition): string | undefined {
  return source.split('/').at(-2)
}

function messageKey(maker: string | undefined, circuit: string, name: string): string {
  return `${maker ?? ''}\n${circuit.toLowerCase()}\n${name.toLowerCase()}`
}
