/** JSON tree: an answer of any shape, to be read and folded. Every string in it may be a stranger's. */
import type { JSX } from 'preact'
import { isObject } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { plain } from '../core/text.ts'

const MAX_ITEMS = 200
const MAX_DEPTH = 12

export function JsonTree({ value, depth = 0 }: { readonly value: Json; readonly depth?: number }): JSX.Element {
  if (typeof value === 'string')
    return (
      <span class="json-text">
        “<bdi>{plain(value, 4_000)}</bdi>”
      </span>
    )
  if (typeof value !== 'object' || value === null) return <span class="json-plain">{String(value)}</span>
  const entries: readonly (readonly [string, Json])[] = isObject(value)
    ? Object.entries(value)
    : value.map((item, index) => [String(index), item])
  if (entries.length === 0) return <span class="json-plain">{isObject(value) ? '{}' : '[]'}</span>
  if (depth >= MAX_DEPTH) return <span class="json-plain">…</span>
  const list = (
    <ul class="json">
      {entries.slice(0, MAX_ITEMS).map(([name, item]) => (
        <li key={name}>
          <span class="json-name">
            <bdi>{plain(name, 120)}</bdi>
          </span>{' '}
          <JsonTree value={item} depth={depth + 1} />
        </li>
      ))}
      {entries.length > MAX_ITEMS ? <li class="aside">… and {entries.length - MAX_ITEMS} more</li> : null}
    </ul>
  )
  if (depth < 2) return list
  return (
    <details>
      <summary>{isObject(value) ? `{ ${entries.length} }` : `[ ${entries.length} ]`}</summary>
      {list}
    </details>
  )
}
