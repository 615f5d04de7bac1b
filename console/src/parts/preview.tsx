/**
 * Preview: what a call would change, before and after, as the family foresees it.
 *
 * Pure.
 */
import type { JSX } from 'preact'
import { isObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { nameText, valueText } from '../core/text.ts'
import { Facts } from './frame.tsx'
import { JsonTree } from './json-tree.tsx'

export function Preview({ preview }: { readonly preview: JsonObject }): JSX.Element {
  const { before, after } = preview
  if (before === undefined && after === undefined) {
    return (
      <div class="preview">
        <h4>What it would do</h4>
        <JsonTree value={preview} />
      </div>
    )
  }
  const rows = rowsOf(before ?? null, after ?? null)
  const changes = rows.filter(({ was }) => was !== undefined)
  const beside = rows.filter(({ was }) => was === undefined)
  return (
    <div class="preview">
      <h4>What it would change</h4>
      {changes.length === 0 ? null : (
        <table>
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col">Now</th>
              <th scope="col">Then</th>
            </tr>
          </thead>
          <tbody>
            {changes.map(({ name, was, will }) => (
              <tr key={name} class={was === will || will === undefined ? undefined : 'changes'}>
                <th scope="row">
                  <bdi>{nameText(name)}</bdi>
                </th>
                <td>
                  <bdi>{was}</bdi>
                </td>
                <td>
                  <bdi>{will ?? 'not said'}</bdi>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {beside.length === 0 ? null : (
        <Facts of={beside.map(({ name, will }) => [nameText(name), <bdi key={name}>{will}</bdi>])} small />
      )}
    </div>
  )
}

/** `undefined`: that side does not say. */
interface Row {
  readonly name: string
  readonly was: string | undefined
  readonly will: string | undefined
}

function rowsOf(before: Json, after: Json): readonly Row[] {
  if (!isObject(before) && !isObject(after)) return [{ name: 'value', was: valueText(before), will: valueText(after) }]
  const [was, will] = [isObject(before) ? before : {}, isObject(after) ? after : {}]
  const names = [...new Set([...Object.keys(was), ...Object.keys(will)])].slice(0, 40)
  return names.map((name) => ({
    name,
    was: Object.hasOwn(was, name) ? valueText(was[name]) : undefined,
    will: Object.hasOwn(will, name) ? valueText(will[name]) : undefined,
  }))
}
