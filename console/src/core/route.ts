/**
 * Route: where in the console one is, after the `#`.
 *
 *   #/calls/01K9Z3…?q=lamp   →   page `calls`, rest `01K9Z3…`, query
 *
 * Does I/O: it reads and writes the address.
 */
import { signal } from '@preact/signals'

export interface Route {
  readonly page: string
  readonly rest: string
  readonly query: URLSearchParams
}

export const route = signal<Route>(readRoute())

export function href(...parts: readonly string[]): string {
  return `#/${parts.map(encodeURIComponent).join('/')}`
}

/** Replaces what is behind the `?`, without a step in the browser's history. */
export function setQuery(name: string, value: string): void {
  const { page, rest, query } = route.peek()
  const next = new URLSearchParams(query)
  if (value === '') next.delete(name)
  else next.set(name, value)
  const text = next.toString()
  history.replaceState(null, '', `${href(page, ...(rest === '' ? [] : [rest]))}${text === '' ? '' : `?${text}`}`)
  route.value = readRoute()
}

function readRoute(): Route {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2)
  const [page = '', ...rest] = path.split('/').map(decode)
  return { page: page === '' ? 'house' : page, rest: rest.join('/'), query: new URLSearchParams(query) }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

addEventListener('hashchange', () => {
  route.value = readRoute()
})
