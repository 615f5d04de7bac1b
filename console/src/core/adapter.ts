/**
 * Adapter: what an eBUS adapter tells about itself, as pairs of words. Which fields there are depends on the adapter.
 *
 *   supply_voltage_mv: 5021  →  supply voltage · 5.02 V          is_wifi: true  →  wifi · yes
 */
import { objectAt } from './json.ts'
import type { Json } from './json.ts'
import { line, textOf } from './text.ts'

export interface AdapterFact {
  readonly name: string
  readonly text: string
  /** Set where the value is a moment. */
  readonly atMs: number | undefined
}

/** By the end of a field's name: its unit, and how many of it the field counts. */
const UNITS: readonly (readonly [ending: string, unit: string, factor: number])[] = [
  ['_mv', 'V', 0.001],
  ['_dv', 'V', 0.1],
  ['_dbm', 'dBm', 1],
  ['_c', '°C', 1],
]
const MOMENT = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/

export function adapterFacts(data: Json): readonly AdapterFact[] {
  return Object.entries(objectAt(data)).flatMap(([name, value]) =>
    value !== null && typeof value === 'object' ? [] : [factOf(name, value)],
  )
}

function factOf(name: string, value: Json): AdapterFact {
  const [ending = '', unit = '', factor = 1] = UNITS.find(([suffix]) => name.endsWith(suffix)) ?? []
  const shown = line(
    name
      .slice(0, name.length - ending.length)
      .replace(/^is_/, '')
      .replaceAll('_', ' '),
    40,
  )
  if (typeof value === 'string' && MOMENT.test(value)) return { name: shown, text: value, atMs: Date.parse(value) }
  const text =
    typeof value === 'boolean'
      ? value
        ? 'yes'
        : 'no'
      : typeof value === 'number' && unit !== ''
        ? `${Math.round(value * factor * 100) / 100} ${unit}`
        : value === null
          ? 'unknown'
          : textOf(value, 80).replaceAll('_', ' ')
  return { name: shown, text, atMs: undefined }
}
