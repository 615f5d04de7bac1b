/**
 * Names: the same tools spelt two ways. Canonical names have dots; several clients refuse dots and anything longer
 * than 64 characters, so there is a second spelling with underscores. A call is accepted under either.
 *
 *   ebus.v1.zones.get ◀──▶ ebus_v1_zones_get
 *
 * Two canonical names may want the same spelling (`a.b_c`, `a_b.c`). Then every one of them gets a mark made from its
 * own name, so that a tool which arrives later never takes over the spelling of another.
 */
import { hash } from 'node:crypto'
import { NON_PLAIN_CHARACTER_PATTERN } from '../core/spelling.ts'

export type NameStyle = 'dots' | 'underscore'

export interface ToolNameMap {
  /** How a canonical name is listed. */
  readonly listed: (canonical: string, style: NameStyle) => string
  /** The canonical name behind either spelling. */
  readonly canonical: (given: string) => string | undefined
}

/** MCP, tool names: 1 to 128 of these. The bus also knows `/` and `:`. */
const ALPHABET: Readonly<Record<NameStyle, { readonly others: RegExp; readonly max: number }>> = {
  dots: { others: /[^A-Za-z0-9_.-]/g, max: 128 },
  underscore: { others: NON_PLAIN_CHARACTER_PATTERN, max: 64 },
}
const MARK_LENGTH = 6

export function createToolNameMap(canonicalNames: Iterable<string>): ToolNameMap {
  const names = new Set(canonicalNames)
  // Made when first asked for: a call under the canonical name, as most are, needs neither.
  const spellings: Partial<Record<NameStyle, ReadonlyMap<string, string>>> = {}
  let meanings: ReadonlyMap<string, string> | undefined
  const spelling = (style: NameStyle): ReadonlyMap<string, string> => (spellings[style] ??= spell(names, style))
  const meaningOf = (given: string): string | undefined => {
    meanings ??= new Map([...spelling('dots'), ...spelling('underscore')].map(([name, spelt]) => [spelt, name]))
    return meanings.get(given)
  }
  return {
    listed: (canonical, style) => spelling(style).get(canonical) ?? canonical,
    // First of all, a name means the tool that is really called so.
    canonical: (given) => (names.has(given) ? given : meaningOf(given)),
  }
}

function spell(names: ReadonlySet<string>, style: NameStyle): ReadonlyMap<string, string> {
  const { others, max } = ALPHABET[style]
  const wanted = new Map<string, number>()
  const plains = [...names].map((name) => {
    const plain = name.replaceAll(others, '_')
    wanted.set(plain, (wanted.get(plain) ?? 0) + 1)
    return [name, plain] as const
  })
  const spelt = (name: string, plain: string): string => {
    // A name that needs no respelling keeps it, whoever else would like it.
    const contested = plain !== name && (wanted.get(plain) ?? 0) > 1
    return contested || plain.length > max ? marked(plain, name, max) : plain
  }
  return new Map(plains.map(([name, plain]) => [name, spelt(name, plain)]))
}

function marked(plain: string, canonical: string, max: number): string {
  const mark = hash('sha256', canonical, 'hex').slice(0, MARK_LENGTH)
  return `${plain.slice(0, max - MARK_LENGTH - 1)}_${mark}`
}
