/**
 * Telegram: what was heard on an eBUS, in words where somebody knows what it says, and in hex where nobody does.
 *
 *   {decoded: {name: 'zone.room_temperature', instance: 0, fields: [{value: 20.5, unit: '°C'}]}}  →  20.5 °C
 */
import { booleanAt, listAt, numberAt, stringAt } from './json.ts'
import type { Json } from './json.ts'
import { line } from './text.ts'

/** What a primary and a secondary command byte are about, for those that are known. */
const SERVICES: Readonly<Record<string, string>> = {
  '0700': 'date and time',
  '0704': 'who are you',
  '07fe': 'is anybody there',
  '07ff': 'sign of life',
  b504: 'operating data',
  b505: 'operating mode',
  b509: 'register of a device',
  b510: 'what the boiler shall do',
  b511: 'what the boiler does',
  b512: 'pumps and valves',
  b516: 'outside temperature, energy',
  b524: 'register of the regulator',
  b555: 'weekly program',
  fe01: 'error message',
}

export interface Telegram {
  readonly atMs: number
  readonly from: string
  readonly to: string
  readonly family: string
  readonly kind: string
  readonly outcome: string
  /** Whether somebody knows what it says; `undefined` of a piece that broke off. */
  readonly known: boolean | undefined
  /** What it is about, as far as that is known. */
  readonly about: string
  readonly act: string
  readonly fields: readonly { readonly name: string; readonly value: string }[]
  readonly request: string
  readonly response: string
}

export function telegramOf(item: Json): Telegram {
  const instance = numberAt(item, 'decoded', 'instance')
  const name = stringAt(item, 'decoded', 'name')
  const service = serviceText(numberAt(item, 'primary'), numberAt(item, 'secondary'))
  return {
    atMs: Date.parse(stringAt(item, 'observed_at') ?? ''),
    from: addressText(item, 'source_address'),
    to: addressText(item, 'target_address'),
    family: line(stringAt(item, 'family') ?? '', 20),
    kind: words(stringAt(item, 'frame_type') ?? ''),
    outcome: words(stringAt(item, 'outcome') ?? ''),
    known: booleanAt(item, 'known'),
    about: name === undefined ? service : `${words(name)}${instance === undefined ? '' : ` ${instance + 1}`}`,
    act: line(stringAt(item, 'decoded', 'act') ?? '', 20),
    fields: listAt(item, 'decoded', 'fields').map((field) => ({
      name: words(stringAt(field, 'name') ?? ''),
      value: valueText(field),
    })),
    request: hexText(stringAt(item, 'request_hex') ?? ''),
    response: hexText(stringAt(item, 'response_hex') ?? ''),
  }
}

/** All that a telegram says, on one line. */
export function saidText({ fields }: Pick<Telegram, 'fields'>): string {
  if (fields.length === 1) return fields[0]?.value ?? ''
  return fields.map(({ name, value }) => `${name} ${value}`).join(', ')
}

/** `15 08 b5 24 …`, as engineers write bytes. */
export function hexText(hex: string): string {
  return line(hex.replaceAll(/([0-9a-f]{2})(?=[0-9a-f])/gi, '$1 '), 400)
}

function serviceText(primary: number | undefined, secondary: number | undefined): string {
  if (primary === undefined || secondary === undefined) return ''
  const [first, second] = [primary, secondary].map((byte) => byte.toString(16).padStart(2, '0'))
  return SERVICES[`${first}${second}`] ?? `service ${first} ${second}`
}

function addressText(item: Json, field: string): string {
  const value = numberAt(item, field)
  return value === undefined ? '??' : value.toString(16).padStart(2, '0')
}

/** A device that has no value says so; it is not nought. */
function valueText(field: Json): string {
  const [number, text, flag] = [numberAt(field, 'value'), stringAt(field, 'value'), booleanAt(field, 'value')]
  const unit = stringAt(field, 'unit')
  const value = number === undefined ? (text ?? (flag === undefined ? undefined : flag ? 'yes' : 'no')) : round(number)
  if (value === undefined) return 'no value'
  return line(unit === undefined ? value : `${value} ${unit}`, 80)
}

function round(value: number): string {
  return String(Math.round(value * 1_000) / 1_000)
}

/** Registers are named after their unit, too; beside a value with its unit that is said twice. */
const UNIT = /_(?:c|bar|pct|rpm|lpm|ua|kw|hours)$/

function words(name: string): string {
  return line(name.replace(UNIT, '').replaceAll('_', ' ').replaceAll('.', ' '), 80)
}
