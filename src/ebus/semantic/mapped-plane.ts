/**
 * Mapped plane: a plane with values of the built-in tables and of messages of definition files. If both have a value
 * the definition's is used, unless it is old.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import type { MappedMessageValue } from './mapped-message.ts'
import type { MappedPlaneField } from './message-map.ts'
import { DEFAULT_PLANE_ITEM_TITLES, MAPPED_PLANE_FIELDS } from './message-map.ts'
import type { FieldFreshness, SemanticPlane } from './plane-reader.ts'
import { isReadingStale } from './plane-reader.ts'
import type { HeatingPlaneName } from './planes.ts'

/** Finds the value of a field of the map in the definitions. */
export type MappedValueLookup = (field: MappedPlaneField) => MappedMessageValue | undefined

/** Messages are polled within ebusd's limit, one in five seconds, so a round takes minutes. */
const STALE_AFTER_MS = 600_000

export const MESSAGE_MAPPED_FIELDS_BY_PLANE: ReadonlyMap<HeatingPlaneName, readonly MappedPlaneField[]> = Map.groupBy(
  MAPPED_PLANE_FIELDS,
  ({ plane }) => plane,
)

interface FoundValue extends MappedMessageValue {
  readonly field: MappedPlaneField
}

export function addMappedValuesToPlane(
  name: HeatingPlaneName,
  base: SemanticPlane,
  find: MappedValueLookup,
  nowMs: number,
): SemanticPlane {
  const found = (MESSAGE_MAPPED_FIELDS_BY_PLANE.get(name) ?? []).flatMap((field): FoundValue[] => {
    const value = find(field)
    return value === undefined ? [] : [{ ...value, field }]
  })
  if (found.length === 0) return base
  const fields = new Map(base.fields)
  const parts = new MutableParts(name, base.data)
  for (const value of found) {
    const { field, message, atMs, source } = value
    const path = field.item === undefined ? field.path : `${field.item}.${field.path}`
    const freshness: FieldFreshness = { source, atMs, staleAfterMs: STALE_AFTER_MS, invalidated: false, message }
    const known = fields.get(path)
    if (known !== undefined && !isReadingStale(known, nowMs) && isReadingStale(freshness, nowMs)) continue
    fields.set(path, freshness)
    parts.set(field, value.value)
  }
  return { data: parts.json(), fields }
}

type Part = Record<string, Json>

/** A copy of the plane's data that can be added to. */
class MutableParts {
  readonly #name: HeatingPlaneName
  readonly #root: Part
  readonly #items: Part[]
  readonly #mapped = new Map<string, Part>()

  constructor(name: HeatingPlaneName, data: Json) {
    this.#name = name
    const copy = structuredClone(data)
    this.#items = Array.isArray(copy) ? (copy as Part[]) : []
    this.#root = Array.isArray(copy) || copy === null ? emptyPlane(name) : (copy as Part)
  }

  set({ item, path }: MappedPlaneField, value: Json): void {
    let part = item === undefined ? this.#root : this.#item(item)
    const steps = path.split('.')
    for (const step of steps.slice(0, -1)) part = (part[step] ??= {}) as Part
    part[steps.at(-1) ?? ''] = value
  }

  json(): Json {
    return this.#mapped.size > 0 ? [...this.#items, ...this.#mapped.values()] : this.#root
  }

  #item(id: string): Part {
    const known = this.#mapped.get(id)
    if (known !== undefined) return known
    const index = this.#items.length + this.#mapped.size
    const item = emptyItem(this.#name, id, index)
    this.#mapped.set(id, item)
    return item
  }
}

function emptyPlane(name: HeatingPlaneName): Part {
  switch (name) {
    case 'dhw':
      return { state: {}, config: {} }
    case 'boiler_status':
      return { state: {}, config: {}, diagnostics: {} }
    case 'system':
      return { state: {}, config: {}, properties: {} }
    case 'heat_pump':
      return {
        state: {},
        energy: { unit: 'kWh', environment_yield: { heating: {}, hot_water: {}, cooling: {} }, electricity: {} },
        cop: { heating: {}, hot_water: {} },
        diagnostics: {},
      }
    default:
      return {}
  }
}

function emptyItem(name: HeatingPlaneName, id: string, index: number): Part {
  const title = DEFAULT_PLANE_ITEM_TITLES[id] ?? id
  if (name === 'zones') return { id, name: title, state: {}, config: {} }
  const circuit: JsonObject = {
    index,
    name: title,
    circuit_type: 'heating',
    has_mixer: id === 'circuit-mc',
    state: {},
    config: {},
    managing_device: { role: 'UNKNOWN' },
  }
  return { ...circuit }
}
