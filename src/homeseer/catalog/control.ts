/**
 * Control: from what somebody wants to the one pair and value HomeSeer will take, or to the reason why there is none.
 *
 * Everything HomeSeer would answer with a bare `error` is refused here first, with words: a value between the buttons,
 * a fraction where the range has no decimals, a label nobody has.
 *
 * Pure.
 */
import { fail, ok, type Result } from '../../core/result.ts'
import type { ControlPair } from '../wire/device.ts'
import { CONTROL_TYPE, type ControlUse } from '../wire/control-use.ts'
import type { Exchange } from '../wire/exchange.ts'
import { controlByIndex, controlByValue, type ControlReply } from '../wire/request.ts'

export type ControlWish =
  | { readonly kind: 'value'; readonly value: number }
  | { readonly kind: 'label'; readonly label: string }
  /** `value` is needed where the use spans a range, such as Dim. */
  | { readonly kind: 'use'; readonly use: ControlUse; readonly value?: number | undefined }
  /** For text boxes and colour pickers. */
  | { readonly kind: 'text'; readonly text: string }

export interface ControlChoice {
  readonly pair: ControlPair
  /** `undefined` where text is handed over instead. */
  readonly value: number | undefined
  readonly text: string | undefined
}

/** `offers` lists what would have been taken, in words a person can pick from. */
export type ControlFault =
  | { readonly kind: 'no-controls' }
  | { readonly kind: 'no-such-value'; readonly value: number; readonly offers: readonly string[] }
  | { readonly kind: 'too-many-decimals'; readonly value: number; readonly decimals: number }
  | { readonly kind: 'no-such-label'; readonly label: string; readonly offers: readonly string[] }
  | { readonly kind: 'several-labels'; readonly label: string; readonly offers: readonly string[] }
  | { readonly kind: 'no-such-use'; readonly use: ControlUse; readonly offers: readonly string[] }
  | { readonly kind: 'value-needed'; readonly use: ControlUse; readonly offers: readonly string[] }
  | { readonly kind: 'no-text-control' }

export function chooseControl(
  controls: readonly ControlPair[],
  wish: ControlWish,
): Result<ControlChoice, ControlFault> {
  if (controls.length === 0) return fail({ kind: 'no-controls' })
  switch (wish.kind) {
    case 'value':
      return chooseByValue(controls, wish.value)
    case 'label':
      return chooseByLabel(controls, wish.label)
    case 'use':
      return chooseByUse(controls, wish)
    default:
      return chooseByText(controls, wish.text)
  }
}

export function controlExchange(choice: ControlChoice): Exchange<ControlReply> {
  if (choice.value === undefined) return controlByIndex(choice.pair.ref, choice.pair.index, choice.text)
  return controlByValue(choice.pair.ref, choice.value)
}

/** `Off (0)`, `Dim 1–98%`: what a device can be told. */
export function describeControls(controls: readonly ControlPair[]): readonly string[] {
  return controls.map((pair) => {
    if (takesText(pair)) return `${pair.label} (text)`
    if (pair.range === undefined) return `${pair.label} (${pair.value ?? pair.text})`
    const { start, end, decimals } = pair.range
    return `${pair.label} (${start} to ${end}${decimals > 0 ? `, ${decimals} decimals` : ''})`
  })
}

/** A button's own value wins over a range that happens to span it. */
function chooseByValue(controls: readonly ControlPair[], value: number): Result<ControlChoice, ControlFault> {
  const numeric = controls.filter((pair) => !takesText(pair))
  const button = numeric.find((pair) => pair.range === undefined && pair.value === value)
  if (button !== undefined) return ok({ pair: button, value, text: undefined })
  const ranges = numeric.filter(({ range }) => range !== undefined && value >= range.start && value <= range.end)
  const fitting = ranges.find((pair) => decimalsOf(value) <= (pair.range?.decimals ?? 0))
  if (fitting !== undefined) return ok({ pair: fitting, value, text: undefined })
  const decimals = Math.max(...ranges.map((pair) => pair.range?.decimals ?? 0))
  if (ranges.length > 0) return fail({ kind: 'too-many-decimals', value, decimals })
  return fail({ kind: 'no-such-value', value, offers: describeControls(controls) })
}

/** The label as it stands, or a range's label with the number filled in: `Dim 42%` for `Dim (value)%`. */
function chooseByLabel(controls: readonly ControlPair[], label: string): Result<ControlChoice, ControlFault> {
  const wanted = plain(label)
  const offers = describeControls(controls)
  const same = controls.filter((pair) => pair.range === undefined && !takesText(pair) && plain(pair.label) === wanted)
  const [pair, second] = same
  if (second !== undefined && second.value !== pair?.value) return fail({ kind: 'several-labels', label, offers })
  if (pair?.value !== undefined) return ok({ pair, value: pair.value, text: undefined })
  for (const ranged of controls) {
    const value = filledIn(ranged, label)
    if (value !== undefined) return chooseByValue([ranged], value)
  }
  return fail({ kind: 'no-such-label', label, offers })
}

function chooseByUse(
  controls: readonly ControlPair[],
  { use, value }: { readonly use: ControlUse; readonly value?: number | undefined },
): Result<ControlChoice, ControlFault> {
  const having = use === 'None' ? [] : controls.filter((pair) => pair.use === use)
  const [pair] = having
  if (pair === undefined) {
    const uses = new Set(controls.map((one) => one.use).filter((one) => one !== 'None'))
    return fail({ kind: 'no-such-use', use, offers: [...uses] })
  }
  if (value !== undefined) return chooseByValue(having, value)
  if (pair.range !== undefined || pair.value === undefined)
    return fail({ kind: 'value-needed', use, offers: describeControls(having) })
  return ok({ pair, value: pair.value, text: undefined })
}

function chooseByText(controls: readonly ControlPair[], text: string): Result<ControlChoice, ControlFault> {
  const pair = controls.find(takesText)
  return pair === undefined ? fail({ kind: 'no-text-control' }) : ok({ pair, value: undefined, text })
}

function takesText(pair: ControlPair): boolean {
  return pair.type === CONTROL_TYPE.textBox || pair.type === CONTROL_TYPE.colourPicker
}

function plain(label: string): string {
  return label.normalize('NFC').trim().toLowerCase().replaceAll(/\s+/g, ' ')
}

function filledIn(pair: ControlPair, label: string): number | undefined {
  if (pair.range === undefined) return undefined
  const given = plain(label)
  for (const template of [pair.label, `${pair.range.prefix}(value)${pair.range.suffix}`]) {
    const [before, after, more] = plain(template).split('(value)')
    if (before === undefined || after === undefined || more !== undefined) continue
    if (!given.startsWith(before) || !given.endsWith(after)) continue
    const middle = given.slice(before.length, given.length - after.length)
    if (/^-?\d{1,9}(\.\d{1,9})?$/.test(middle)) return Number(middle)
  }
  return undefined
}

/** As a person would count them: 21.5 has one, 1e-7 has seven. */
function decimalsOf(value: number): number {
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  return Math.max(0, (mantissa.split('.')[1]?.length ?? 0) - Number(exponent))
}
