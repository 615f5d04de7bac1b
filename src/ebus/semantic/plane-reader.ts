/**
 * Plane reader: values for one semantic plane, each remembered with where it came from and when.
 *
 * Pure, but for the reader it is given.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import type { BoilerRegister } from './boiler-map.ts'
import { decodeBoilerValue } from './boiler-map.ts'
import type { RegisterReadKey } from './read-key.ts'
import { toBoilerReadKey, toRegisterReadKey } from './read-key.ts'
import { computeStaleAfterMs } from './read-plan.ts'
import type { FreshnessClass, RegulatorRegister, RegulatorValue } from './register.ts'
import { decodeRegisterValue, extractRegisterBytes } from './register.ts'
import type { RegisterShadow, ValueSource } from './register-shadow.ts'
import type { HeatingTopology } from './topology.ts'

export interface FieldFreshness {
  readonly source: ValueSource
  /** Wall clock. */
  readonly atMs: number
  readonly staleAfterMs: number
  /** Somebody changed it since, and nobody has read it yet. */
  readonly invalidated: boolean
  /** What it was read with, where our own tables did. */
  readonly key?: RegisterReadKey
  /** Circuit and name of the message, where a definition did. */
  readonly message?: string
}

/** What an earlier run left behind is old, whenever that was. */
export function isReadingStale({ invalidated, source, atMs, staleAfterMs }: FieldFreshness, nowMs: number): boolean {
  return invalidated || source === 'cache' || nowMs - atMs > staleAfterMs
}

export interface PlaneValueWithFreshness<Value = RegulatorValue> extends FieldFreshness {
  readonly value: Value
}

/** A plane as it is now. `data` is `null` until there is something to say. */
export interface SemanticPlane {
  readonly data: Json
  readonly fields: ReadonlyMap<string, FieldFreshness>
}

export interface PlaneSources {
  readonly shadow: RegisterShadow
  readonly topology: HeatingTopology
  readonly pollMs: number
  /** What a definition reads in an answer, where that is not what our own tables would. */
  readonly definedReading?: (key: RegisterReadKey, payload: Uint8Array) => number | undefined
}

/** One per look at one plane: it collects what the fields of that plane were made of. */
export class PlaneReader {
  readonly shadow: RegisterShadow
  readonly topology: HeatingTopology
  readonly #parts: PlaneSources
  readonly #pollMs: number
  readonly #fields = new Map<string, FieldFreshness>()

  constructor(parts: PlaneSources) {
    const { shadow, topology, pollMs } = parts
    this.#parts = parts
    this.shadow = shadow
    this.topology = topology
    this.#pollMs = pollMs
  }

  plane(data: Json): SemanticPlane {
    return { data, fields: this.#fields }
  }

  /** Notes where the value of a field came from, and hands it on. */
  take<Value>(path: string, reading: PlaneValueWithFreshness<Value> | undefined): Value | undefined {
    if (reading === undefined) return undefined
    const { value, ...freshness } = reading
    this.#fields.set(path, freshness)
    return value
  }

  /** Register, decoded; notes nothing. */
  reading(register: RegulatorRegister, instance = 0): PlaneValueWithFreshness | undefined {
    const address = this.topology.regulator?.address
    if (address === undefined) return undefined
    return this.readingOf(toRegisterReadKey(address, register, instance), register.freshness, (payload) =>
      decodeRegisterValue(register.type, extractRegisterBytes(payload)),
    )
  }

  boilerReading(register: BoilerRegister): PlaneValueWithFreshness | undefined {
    const boiler = this.topology.boiler
    if (boiler?.registers !== 'bai') return undefined
    const read = (number: number): PlaneValueWithFreshness | undefined =>
      this.readingOf(toBoilerReadKey(boiler.address, number), register.freshness, (payload) =>
        decodeBoilerValue(register, payload),
      )
    return read(register.number) ?? (register.fallback === undefined ? undefined : read(register.fallback))
  }

  readingOf<Value>(
    key: RegisterReadKey,
    freshness: FreshnessClass,
    decode: (payload: Uint8Array) => Value | undefined,
  ): PlaneValueWithFreshness<Value> | undefined {
    const entry = this.shadow.get(key)
    if (entry === undefined || entry.state === 'tombstone') return undefined
    const ours = decode(entry.payload)
    const defined = this.#parts.definedReading?.(key, entry.payload)
    // Of the same kind as ours, so that a switch remains one.
    const value = defined === undefined ? ours : ((typeof ours === 'boolean' ? defined !== 0 : defined) as Value)
    if (value === undefined) return undefined
    return {
      value,
      source: entry.source,
      atMs: entry.atMs,
      staleAfterMs: computeStaleAfterMs(freshness, this.#pollMs),
      invalidated: entry.state === 'invalidated',
      key,
    }
  }

  number(path: string, register: RegulatorRegister, instance = 0): number | undefined {
    return numberOf(this.take(path, this.reading(register, instance)))
  }

  flag(path: string, register: RegulatorRegister, instance = 0): boolean | undefined {
    const value = this.take(path, this.reading(register, instance))
    return typeof value === 'boolean' ? value : undefined
  }

  text(path: string, register: RegulatorRegister, instance = 0): string | undefined {
    const value = this.take(path, this.reading(register, instance))
    return typeof value === 'string' ? value : undefined
  }

  /** A value that only helps to find another one. */
  peek(register: RegulatorRegister, instance = 0): number | undefined {
    return numberOf(this.reading(register, instance)?.value)
  }

  isKnown(register: RegulatorRegister, instance = 0): boolean {
    const address = this.topology.regulator?.address
    return address !== undefined && this.shadow.get(toRegisterReadKey(address, register, instance)) !== undefined
  }
}

/** Whichever was seen last. */
export function pickNewestReading<Value>(
  ...readings: readonly (PlaneValueWithFreshness<Value> | undefined)[]
): PlaneValueWithFreshness<Value> | undefined {
  return readings
    .filter((reading) => reading !== undefined)
    .toSorted((left, right) => right.atMs - left.atMs)
    .at(0)
}

/** Without what is not known. */
export function omitUnknownFields(fields: Readonly<Record<string, Json | undefined>>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter((entry): entry is [string, Json] => entry[1] !== undefined))
}

function numberOf(value: RegulatorValue | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined
}
