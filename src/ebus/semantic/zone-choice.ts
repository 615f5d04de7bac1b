/**
 * Zone choice: the zone that somebody means, by its name, its id or its number.
 *
 *   Living   living room   zone-1   Zone 1   1      the first one, however it is said
 */
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { PlaneFieldReader } from './plane-reader.ts'
import { formatZoneId, readZoneName } from './zones-plane.ts'

/** From 0. The fault says which zones there are. */
export function resolveZoneNumber(
  reader: PlaneFieldReader,
  wanted: string | number | undefined,
): Result<number, string> {
  const zones = reader.topology.zones().map((instance) => ({ instance, name: readZoneName(reader, instance) }))
  const [only, ...others] = zones
  if (wanted === undefined)
    return only !== undefined && others.length === 0 ? ok(only.instance) : fail(`which of ${listOf(zones)}?`)
  const text = String(wanted).trim().toLowerCase()
  const found =
    zones.find(({ instance, name }) => text === name.toLowerCase() || text === formatZoneId(instance)) ??
    zones.find(({ instance }) => text.replace(/^zone[\s_-]*/, '') === String(instance + 1)) ??
    onlyOne(
      zones.filter(
        ({ name }) => text.length > 2 && (name.toLowerCase().startsWith(text) || text.startsWith(name.toLowerCase())),
      ),
    )
  return found === undefined
    ? fail(`there is no zone ${String(wanted)}; there is ${listOf(zones)}`)
    : ok(found.instance)
}

interface NamedZone {
  readonly instance: number
  readonly name: string
}

function onlyOne(zones: readonly NamedZone[]): NamedZone | undefined {
  return zones.length === 1 ? zones[0] : undefined
}

function listOf(zones: readonly NamedZone[]): string {
  return zones.length === 0
    ? 'none that was read yet'
    : zones.map(({ instance, name }) => `${name} (${formatZoneId(instance)})`).join(', ')
}
