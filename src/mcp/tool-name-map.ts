/**
 * Tool name map: the same tools with two spellings of their names. Canonical names have dots; several clients refuse
 * dots and anything longer than 64 characters, so there is a second spelling with underscores. A call is accepted under
 * either.
 *
 *   ebus.v1.zones.get ◀──▶ ebus_v1_zones_get
 *
 * Two canonical names may want the same spelling (`a.b_c`, `a_b.c`). Then each of them gets a suffix derived from its
 * own name, so that a tool which is added later never takes over the spelling of another.
 */
import { hash } from 'node:crypto'
import { INVALID_UNDERSCORE_NAME_CHARACTERS } from '../core/tool-name-spelling.ts'

export type ToolNameStyle = 'dots' | 'underscore'

export interface ToolNameMap {
  /** The spelling in which a canonical name is listed. */
  readonly listed: (canonical: string, style: ToolNameStyle) => string
  /** The canonical name for either spelling. */
  readonly canonical: (given: string) => string | undefined
}

/** MCP, tool names: 1 to 128 of these. The bus also knows `/` and `:`. */
const ALPHABET: Readonly<Record<ToolNameStyle, { readonly others: RegExp; readonly max: number }>> = {
  dots: { others: /[^A-Za-z0-9_.-]/g, max: 128 },
  underscore: { others: INVALID_UNDERSCORE_NAME_CHARACTERS, max: 64 },
}
const MARK_LENGTH = 6

export function createToolNameMap(canonicalNames: Iterable<string>): ToolNameMap {
  const names = new Set(canonicalNames)
  // Created on the first request: most calls use the canonical name and need neither map.
  const spellings: Partial<Record<ToolNameStyle, ReadonlyMap<string, string>>> = {}
  let meanings: ReadonlyMap<string, string> | undefined
  const spelling = (style: ToolNameStyle): ReadonlyMap<string, string> => (spellings[style] ??= mapNames(names, style))
  const meaningOf = (given: string): string | undefined => {
    meanings ??= new Map(
      [...spelling('dots'), ...spelling('underscore')].map(([name, listedName]) => [listedName, name]),
    )
    return meanings.get(given)
  }
  return {
    listed: (canonical, style) => spelling(style).get(canonical) ?? canonical,
    // A name always means the tool that has exactly this name, if there is one.
    canonical: (given) => (names.has(given) ? given : meaningOf(given)),
  }
}

function mapNames(names: ReadonlySet<string>, style: ToolNameStyle): ReadonlyMap<string, string> {
  const { others, max } = ALPHABET[style]
  const wanted = new Map<string, number>()
  const plains = [...names].map((name) => {
    const plain = name.replaceAll(others, '_')
    wanted.set(plain, (wanted.get(plain) ?? 0) + 1)
    return [name, plain] as const
  })
  const toListedName = (name: string, plain: string): string => {
    // A name that needs no other spelling keeps it, whichever other tool would get it as well.
    const contested = plain !== name && (wanted.get(plain) ?? 0) > 1
    return contested || plain.length > max ? marked(plain, name, max) : plain
  }
  return new Map(plains.map(([name, plain]) => [name, toListedName(name, plain)]))
}

function marked(plain: string, canonical: string, max: number): string {
  const mark = hash('sha256', canonical, 'hex').slice(0, MARK_LENGTH)
  return `${plain.slice(0, max - MARK_LENGTH - 1)}_${mark}`
}
