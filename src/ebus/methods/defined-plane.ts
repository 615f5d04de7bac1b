/**
 * Defined plane: the messages of a definition file as planes and methods of the device that they are sent to. A plane is
 * a circuit; `get_Name` reads a message and `set_Name` writes it.
 */
import type { JsonObject } from '../../core/json.ts'
import { sanitizeLine } from '../../core/untrusted-text.ts'
import type { BusDefinitions } from '../definitions/bus-definitions.ts'
import { listFieldKeys } from '../definitions/message-decoder.ts'
import type { DefinedField } from '../definitions/field.ts'
import { isIgnoredField } from '../definitions/field.ts'
import type { MessageDefinition } from '../definitions/message-definition.ts'
import { computeFieldLimits } from '../definitions/number-codec.ts'
import type { MethodSummary } from './device-method.ts'
import type { MethodPlane } from './method-plane.ts'

export interface DefinedMethod extends MethodSummary {
  readonly message: MessageDefinition
}

export interface DefinedPlane extends MethodPlane {
  readonly methods: readonly DefinedMethod[]
}

const MAX_COMMENT = 200
/** Names that the contract uses itself. */
const BUILT_IN: ReadonlySet<string> = new Set(['system', 'timer', 'heating', 'dhw', 'solar'])

/** The planes of one device, by the addresses at which it answers and the one with which it sends. */
export function createDefinedPlanes(
  definitions: BusDefinitions | undefined,
  addresses: readonly number[],
): readonly DefinedPlane[] {
  const circuits = new Map<string, Map<string, DefinedMethod>>()
  for (const message of definitions?.messagesFor(addresses) ?? []) {
    const methods = circuits.get(message.circuit) ?? new Map<string, DefinedMethod>()
    circuits.set(message.circuit, methods)
    const method = definedMethod(message)
    const known = methods.get(method.name)
    // Of several messages with one name the first is used; one that can be read takes precedence over a passive one.
    if (known === undefined || (known.message.isPassive && !message.isPassive)) methods.set(method.name, method)
  }
  return [...circuits].map(([circuit, methods]) => ({
    name: BUILT_IN.has(circuit) ? `defined_${circuit}` : circuit,
    routable: true,
    methods: [...methods.values()].toSorted((left, right) => left.name.localeCompare(right.name)),
    definedBy: [...methods.values()][0]?.message.source ?? '',
  }))
}

function definedMethod(message: MessageDefinition): DefinedMethod {
  const { name, pb, sb, level, attributes } = message
  const writes = message.isWrite && !message.isPassive
  const comment = attributes['comment']
  return {
    name: `${writes ? 'set' : 'get'}_${name}`,
    primary: pb,
    secondary: sb,
    readOnly: !writes,
    mutability: writes ? 'mutating' : 'read_only',
    danger: writes ? 'dangerous' : 'safe',
    routable: true,
    level,
    ...(comment === undefined ? {} : { comment: sanitizeLine(comment, MAX_COMMENT) }),
    paramsSchema: () => paramsSchema(message),
    message,
  }
}

/** Fields that a question or a command takes; all of them are needed for a question, any of them for a change. */
function paramsSchema({ fields, isWrite, isPassive }: MessageDefinition): JsonObject | undefined {
  const keys = listFieldKeys(fields)
  const taken = fields.flatMap((field, index) =>
    field.part === 'm' && !isIgnoredField(field) && field.constant === undefined && !isPassive
      ? [[keys[index] ?? '', fieldSchema(field)] as const]
      : [],
  )
  if (taken.length === 0) return { type: 'object', properties: {}, additionalProperties: false }
  return {
    type: 'object',
    properties: Object.fromEntries(taken),
    additionalProperties: false,
    ...(isWrite ? { minProperties: 1 } : { required: taken.map(([key]) => key) }),
  }
}

function fieldSchema(field: DefinedField): JsonObject {
  const { type, values, attributes } = field
  const words = [attributes['comment'], attributes['unit']].filter((word) => word !== undefined && word !== '')
  const description = words.length === 0 ? {} : { description: sanitizeLine(words.join(', '), MAX_COMMENT) }
  if (values !== undefined)
    return { enum: [...new Set(values.values())].map((name) => sanitizeLine(name, 64)), ...description }
  if (type.kind !== 'number') return { type: 'string', ...description }
  const limits = computeFieldLimits(type)
  return {
    type: type.isTemParameter ? 'string' : 'number',
    ...(limits === undefined ? {} : { minimum: limits.min, maximum: limits.max }),
    ...description,
  }
}
