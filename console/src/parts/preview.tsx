/**
 * Preview: what a call would change, before and after, as the family foresees it.
 *
 * Pure.
 */
import type { JSX } from 'preact'
import { isObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { line, textOf } from '../core/text.ts'
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
  return (
    <div class="preview">
      <h4>What it would change</h4>
      <table>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">Now</th>
            <th scope="col">Then</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, was, will }) => (
            <tr key={name} class={was === will ? undefined : 'changes'}>
              <th scope="row">
                <bdi>{line(name, 60)}</bdi>
              </th>
              <td>
                <bdi>{was}</bdi>
              </td>
              <td>
                <bdi>{will}</bdi>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface Row {
  readonly name: string
  readonly was: string
  readonly will: string
}

function rowsOf(before: Json, after: Json): readonly Row[] {
  if (!isObject(before) && !isObject(after))
    return [{ name: 'value', was: textOf(before, 200), will: textOf(after, 200) }]
  const [was, will] = [isObject(before) ? before : {}, isObject(after) ? after : {}]
  const names = [...new Set([...Object.keys(was), ...Object.keys(will)])].slice(0, 40)
  return names.map((name) => ({
    name,
    was: textOf(Object.hasOwn(was, name) ? was[name] : undefined, 200),
    will: textOf(Object.hasOwn(will, name) ? will[name] : undefined, 200),
  }))
}
