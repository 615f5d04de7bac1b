/**
 * Control pair: one thing a device can be told, as `getcontrol` and `getstatus&everything=true` describe it.
 *
 *   one ref    {"ControlPairs":[…],"ref":412,"name":…,"location":…,"location2":…}
 *   otherwise  {"Devices":[{"ref":412,…,"ControlPairs":[…]},…]}
 *
 * Pure.
 */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { controlUseNumber, controlUseOf, type ControlUse } from './control-use.ts'
import { numberField, objectField, objectsField, textField, textsField } from './field.ts'
import type { Malformed } from './reply.ts'

export interface ControlRange {
  readonly start: number
  readonly end: number
  /** HomeSeer refuses a value with more decimals than this. */
  readonly decimals: number
  readonly prefix: string
  readonly suffix: string
}

export interface ControlPair {
  readonly ref: number
  readonly index: number
  readonly label: string
  readonly use: ControlUse
  readonly type: number
  /** Start of the range where there is one; `undefined` where the wire holds no number (text boxes do that). */
  readonly value: number | undefined
  readonly range: ControlRange | undefined
  readonly text: string
  readonly choices: readonly string[]
}

/** More pairs than any real device has; what follows is ignored. */
const MAX_PAIRS = 512
const MAX_DECIMALS = 10

/** Both shapes of `getcontrol`, as ref → pairs. A device without pairs is in the map with none, or absent. */
export function decodeControls(value: Json): Result<ReadonlyMap<number, readonly ControlPair[]>, Malformed> {
  if (!isJsonObject(value)) return fail({ kind: 'malformed', detail: 'control information is not an object' })
  const records = objectsField(value, 'Devices') ?? [value]
  const controls = new Map<number, readonly ControlPair[]>()
  for (const record of records) {
    const pairs = decodePairs(record)
    const ref = numberField(record, 'ref', 'Ref') ?? pairs?.[0]?.ref
    if (ref !== undefined && pairs !== undefined) controls.set(ref, pairs)
  }
  if (controls.size === 0 && objectsField(value, 'Devices') === undefined)
    return fail({ kind: 'malformed', detail: 'control information names no device' })
  return ok(controls)
}

/** The pairs inside a device record; `undefined` when the record says nothing about control. */
export function decodePairs(record: JsonObject): readonly ControlPair[] | undefined {
  const pairs = objectsField(record, 'ControlPairs', 'controlPairs', 'control_pairs')
  const ref = numberField(record, 'ref', 'Ref')
  return pairs?.slice(0, MAX_PAIRS).map((pair, index) => decodePair(pair, { ref, index }))
}

function decodePair(
  pair: JsonObject,
  place: { readonly ref: number | undefined; readonly index: number },
): ControlPair {
  return {
    ref: numberField(pair, 'Ref', 'ref') ?? place.ref ?? 0,
    index: numberField(pair, 'CCIndex') ?? place.index,
    label: textField(pair, 'Label', 'label') ?? '',
    use: controlUseOf(numberField(pair, 'ControlUse')),
    type: numberField(pair, 'ControlType') ?? 1,
    value: numberField(pair, 'ControlValue', 'value'),
    range: decodeRange(objectField(pair, 'Range')),
    text: textField(pair, 'ControlString') ?? '',
    choices: textsField(pair, 'ControlStringList'),
  }
}

function decodeRange(range: JsonObject | undefined): ControlRange | undefined {
  if (range === undefined) return undefined
  const start = numberField(range, 'RangeStart')
  const end = numberField(range, 'RangeEnd')
  if (start === undefined || end === undefined) return undefined
  const decimals = Math.trunc(numberField(range, 'RangeStatusDecimals') ?? 0)
  return {
    start: Math.min(start, end),
    end: Math.max(start, end),
    decimals: Math.min(Math.max(decimals, 0), MAX_DECIMALS),
    prefix: textField(range, 'RangeStatusPrefix') ?? '',
    suffix: textField(range, 'RangeStatusSuffix') ?? '',
  }
}

export function encodePair(pair: ControlPair): JsonObject {
  const row = Math.floor(pair.index / 3) + 1
  const column = (pair.index % 3) + 1
  return {
    Do_Update: true,
    SingleRangeEntry: true,
    ControlButtonType: 0,
    ControlButtonCustom: '',
    CCIndex: pair.index,
    Range: pair.range === undefined ? null : encodeRange(pair.range),
    Ref: pair.ref,
    Label: pair.label,
    ControlType: pair.type,
    ControlLocation: { Row: row, Column: column, ColumnSpan: 0 },
    ControlLoc_Row: row,
    ControlLoc_Column: column,
    ControlLoc_ColumnSpan: 0,
    ControlUse: controlUseNumber(pair.use),
    ControlValue: pair.value ?? 0,
    ControlString: pair.text,
    ControlStringList: pair.choices.length === 0 ? null : pair.choices,
    ControlStringSelected: null,
    ControlFlag: false,
  }
}

function encodeRange(range: ControlRange): JsonObject {
  return {
    RangeStart: range.start,
    RangeEnd: range.end,
    RangeStatusDecimals: range.decimals,
    RangeStatusValueOffset: 0,
    RangeStatusDivisor: 0,
    ScaleReplace: '',
    HasScale: false,
    RangeStatusPrefix: range.prefix,
    RangeStatusSuffix: range.suffix,
  }
}
