/** Plane reader: values for one semantic plane, each remembered with where it came from and when. */
import type { Json } from '../../core/json.ts'
import type { BoilerRegister } from './boiler-register-map.ts'
import { decodeBoilerValue } from './boiler-register-map.ts'
import type { RegisterReadKey } from './read-key.ts'
import { toBoilerReadKey, toRegisterReadKey } from './read-key.ts'
import { computeStaleAfterMs } from './read-plan.ts'
import type { FreshnessClass, RegulatorRegister, DecodedRegisterValue } from './register.ts'
import { decodeRegisterValue, extractRegisterBytes } from './register.ts'
import type { RegisterShadow, ValueSource } from './register-shadow.ts'
import type { HeatingTopology } from './topology.ts'

export interface FieldFreshness {
  readonly source: ValueSource
  /** Wall clock. */
  readonly atMs: number
  readonly staleAfterMs: number
  /** Whether it was changed since, and not read again yet. */
  readonly invalidated: boolean
  /** The read key, if our own tables read it. */
  readonly key?: RegisterReadKey
  /** Circuit and name of the message, if a definition read it. */
  readonly message?: string
}

/** Values of an earlier run always count as stale. */
export function isReadingStale({ invalidated, source, atMs, staleAfterMs }: FieldFreshness, nowMs: number): boolean {
  return invalidated || source === 'cache' || nowMs - atMs > staleAfterMs
}

export interface FieldValueWithFreshness<Value = DecodedRegisterValue> extends FieldFreshness {
  readonly value: Value
}

/** A plane at present. `data` is `null` until a value is known. */
export interface SemanticPlane {
  readonly data: Json
  readonly fields: ReadonlyMap<string, FieldFreshness>
}

export interface PlaneSources {
  readonly shadow: RegisterShadow
  readonly topology: HeatingTopology
  readonly pollMs: number
  /** The value that a definition reads in an answer, if that differs from our own tables. */
  readonly definedReading?: (key: RegisterReadKey, payload: Uint8Array) => number | undefined
}

/** One per build of one plane: it collects the sources of that plane's fields. */
export class PlaneFieldReader {
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

  /** Notes the source of a field's value, and returns the value. */
  take<Value>(path: string, reading: FieldValueWithFreshness<Value> | undefined): Value | undefined {
    if (reading === undefined) return undefined
    const { value, ...freshness } = reading
    this.#fields.set(path, freshness)
    return value
  }

  /** A register's value; notes nothing. */
  reading(register: RegulatorRegister, instance = 0): FieldValueWithFreshness | undefined {
    const address = this.topology.regulator?.address
    if (address === undefined) return undefined
    return this.readingOf(toRegisterReadKey(address, register, instance), register.freshness, (payload) =>
      decodeRegisterValue(register.type, extractRegisterBytes(payload)),
    )
  }

  boilerReading(register: BoilerRegister): FieldValueWithFreshness | undefined {
    const boiler = this.topology.boiler
    if (boiler?.registers !== 'bai') return undefined
    const read = (number: number): FieldValueWithFreshness | undefined =>
      this.readingOf(toBoilerReadKey(boiler.address, number), register.freshness, (payload) =>
        decodeBoilerValue(register, payload),
      )
    return read(register.number) ?? (register.fallback === undefined ? undefined : read(register.fallback))
  }

  readingOf<Value>(
    key: RegisterReadKey,
    freshness: FreshnessClass,
    decode: (payload: Uint8Array) => Value | undefined,
  ): FieldValueWithFreshness<Value> | undefined {
    const entry = this.shadow.get(key)
    if (entry === undefined || entry.state === 'tombstone') return undefined
    const ours = decode(entry.payload)
    const defined = this.#parts.definedReading?.(key, entry.payload)
    // Converted to the type of our own value, so that a switch stays one.
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

  /** A value that is only needed to find another one. */
  peek(register: RegulatorRegister, instance = 0): number | undefined {
    return numberOf(this.reading(register, instance)?.value)
  }

  isKnown(register: RegulatorRegister, instance = 0): boolean {
    const address = this.topology.regulator?.address
    return address !== undefined && this.shadow.get(toRegisterReadKey(address, register, instance)) !== undefined
  }
}

/** The reading that was seen last. */
export function pickNewestReading<Value>(
  ...readings: readonly (FieldValueWithFreshness<Value> | undefined)[]
): FieldValueWithFreshness<Value> | undefined {
  return readings
    .filter((reading) => reading !== undefined)
    .toSorted((left, right) => right.atMs - left.atMs)
    .at(0)
}

function numberOf(value: DecodedRegisterValue | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined
}
