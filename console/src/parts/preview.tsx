/** Preview: what a call would change, before and after, as the family foresees it. */
import type { JSX } from 'preact'
import type { JsonObject } from '../core/json.ts'
import { previewOf } from '../core/preview.ts'
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
  const { changes, beside } = previewOf(before ?? null, after ?? null)
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
              <tr key={name} class={was === will ? undefined : 'changes'}>
                <th scope="row">
                  <bdi>{name}</bdi>
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
      )}
      {beside.length === 0 ? null : (
        <Facts of={beside.map(({ name, value }) => [name, <bdi key={name}>{value}</bdi>])} small />
      )}
    </div>
  )
}
