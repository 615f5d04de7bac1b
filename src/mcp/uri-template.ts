/**
 * URI template: which resource a URI means, and with which variables. RFC 6570 in the direction that servers need.
 *
 *   hs4://devices/{ref}/history{?from,to}  ⊃  hs4://devices/4711/history?to=12  ─▶  { ref: '4711', to: '12' }
 *
 * Knows `{name}`, `{+name}` (may hold slashes) and `{?a,b}` (each optional, in any order). Values are percent-decoded.
 * Between two variables there is a slash, `?` or `#`, and behind `{+name}` there is none: so a URI can be read in one
 * way only. `{a}{b}{c}` could be read in thousands of ways, its regular expression would try them all, and other nodes
 * supply templates as well.
 */
export interface UriTemplate {
  readonly text: string
  /** `undefined` when the URI does not match this template. */
  readonly match: (uri: string) => Readonly<Record<string, string>> | undefined
}

const EXPRESSION = /\{([+?]?)([A-Za-z0-9_,]+)\}/g

export function isUriTemplate(uri: string): boolean {
  return uri.includes('{')
}

/** `undefined` for a template with unsupported syntax. */
export function parseUriTemplate(text: string): UriTemplate | undefined {
  if (/[{}]/.test(text.replaceAll(EXPRESSION, ''))) return undefined
  const names: string[] = []
  const query = new Set<string>()
  let pattern = ''
  let at = 0
  for (const { 0: whole, 1: operator, 2: list = '', index } of text.matchAll(EXPRESSION)) {
    pattern += escapeForRegExp(text.slice(at, index))
    at = index + whole.length
    if (operator === '?') {
      for (const name of list.split(',')) query.add(name)
      continue
    }
    if (isUnclear(operator, text.slice(at))) return undefined
    names.push(list)
    pattern += operator === '+' ? '(.+)' : '([^/?#]+)'
  }
  const expression = new RegExp(`^${pattern}${escapeForRegExp(text.slice(at))}$`, 'u')
  return { text, match: (uri) => match(uri, { expression, names, query }) }
}

/** Whether the end of a variable would be ambiguous. */
function isUnclear(operator: string | undefined, behind: string): boolean {
  const [literal = ''] = /^[^{]*/.exec(behind) ?? []
  const next = behind.slice(literal.length)
  return next !== '' && !next.startsWith('{?') && (operator === '+' || !/[/?#]/.test(literal))
}

interface Compiled {
  readonly expression: RegExp
  readonly names: readonly string[]
  readonly query: ReadonlySet<string>
}

function match(uri: string, { expression, names, query }: Compiled): Readonly<Record<string, string>> | undefined {
  const mark = query.size === 0 ? -1 : uri.indexOf('?')
  const found = expression.exec(mark === -1 ? uri : uri.slice(0, mark))
  if (found === null) return undefined
  const variables: [string, string][] = []
  for (const [index, name] of names.entries()) {
    const value = decoded(found[index + 1] ?? '')
    if (value === undefined) return undefined
    variables.push([name, value])
  }
  if (mark !== -1) {
    for (const [name, value] of new URLSearchParams(uri.slice(mark + 1))) {
      if (!query.has(name)) return undefined
      variables.push([name, value])
    }
  }
  return Object.fromEntries(variables)
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function escapeForRegExp(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`)
}
