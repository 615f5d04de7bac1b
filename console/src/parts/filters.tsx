/**
 * Filters: what narrows a table: a search and a few choices, kept in the address so that they can be linked to, and how
 * much is left.
 *
 * Does I/O: it writes the address.
 */
import type { ComponentChildren, JSX } from 'preact'
import { count } from '../core/format.ts'
import { route, setQuery } from '../core/route.ts'

export function Filters({
  placeholder,
  shown,
  of,
  children,
}: {
  readonly placeholder: string
  readonly shown: number
  readonly of: number
  /** Further choices, beside the search. */
  readonly children?: ComponentChildren
}): JSX.Element {
  return (
    <div class="filters" role="search">
      <label class="field">
        Search
        <input
          type="search"
          placeholder={placeholder}
          value={route.value.query.get('q') ?? ''}
          onInput={({ currentTarget }) => setQuery('q', currentTarget.value)}
        />
      </label>
      {children}
      <p class="aside" role="status">
        {count(shown)} of {count(of)}
      </p>
    </div>
  )
}

/** What is searched for, ready to be compared. */
export function searched(): string {
  return (route.value.query.get('q') ?? '').toLowerCase()
}

export function Choice({
  label,
  name,
  value,
  options,
}: {
  readonly label: string
  /** Of the choice in the address. */
  readonly name: string
  readonly value: string
  readonly options: readonly (readonly [value: string, text: string])[]
}): JSX.Element {
  return (
    <label class="field">
      {label}
      <select value={value} onChange={({ currentTarget }) => setQuery(name, currentTarget.value)}>
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}
