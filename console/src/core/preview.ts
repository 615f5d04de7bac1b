/** Preview: what a call would change, as rows of what is now and what is then. */
import { isObject } from './json.ts'
import type { Json } from './json.ts'
import { nameText, valueText } from './text.ts'

export interface Preview {
  /** What both sides speak of. */
  readonly changes: readonly { readonly name: string; readonly was: string; readonly will: string }[]
  /** What only one of them speaks of. */
  readonly beside: readonly { readonly name: string; readonly value: string }[]
}

const MAX_ROWS = 40

export function previewOf(before: Json, after: Json): Preview {
  if (!isObject(before) && !isObject(after))
    return { changes: [{ name: 'value', was: valueText(before), will: valueText(after) }], beside: [] }
  const was = isObject(before) ? before : {}
  const will = isObject(after) ? told(after, 'status' in was) : {}
  const names = [...new Set([...Object.keys(was), ...Object.keys(will)])].slice(0, MAX_ROWS)
  const inBoth = (name: string): boolean => Object.hasOwn(was, name) && Object.hasOwn(will, name)
  return {
    changes: names
      .filter(inBoth)
      .map((name) => ({ name: nameText(name), was: valueText(was[name]), will: valueText(will[name]) })),
    beside: names
      .filter((name) => !inBoth(name))
      .map((name) =>
        Object.hasOwn(was, name)
          ? { name: `${nameText(name)} now`, value: valueText(was[name]) }
          : { name: nameText(name), value: valueText(will[name]) },
      ),
  }
}

/** HomeSeer says in words what a device shows, but of what is to come only what it is told: `Locked` and `Unlock`. */
function told(after: Readonly<Record<string, Json>>, hasStatus: boolean): Readonly<Record<string, Json>> {
  const { label, ...others } = after
  return hasStatus && typeof label === 'string' && !('status' in after) ? { status: label, ...others } : after
}
