/**
 * Names: the same tools spelt two ways. Canonical names have dots; several clients refuse dots and anything longer
 * than 64 characters, so there is a second spelling with underscores. A call is accepted under either.
 *
 *   ebus.v1.zones.get ◀──▶ ebus_v1_zones_get
 *
 * Two canonical names may want the same spelling (`a.b_c`, `a_b.c`). Then every one of them gets a mark made from its
 * own name, so that a tool which arrives later never takes over the spelling of another.
 *
 * Pure.
 */
import { hash } from 'node:crypto'
import { NOT_PLAIN } from '../core/spelling.ts'

export type NameStyle = 'dots' | 'underscore'

export interface NameBook {
  /** How a canonical name is listed. */
  readonly listed: (canonical: string, style: NameStyle) => string
  /** The canonical name behind either spelling. */
  readonly canonical: (given: string) => string | undefined
}

/** MCP, tool names: 1 to 128 of these. The bus also knows `/` and `:`. */
const ALPHABET: Readonly<Record<NameStyle, { readonly others: RegExp; readonly max: number }>> = {
  dots: { others: /[^A-Za-z0-9_.-]/g, max: 128 },
  underscore: { others: NOT_PLAIN, max: 64 },
}
const MARK_LENGTH = 6

export function nameBook(canonicalNames: readonly string[]): NameBook {
  const names = [...new Set(canonicalNames)]
  const spellings = { dots: spell(names, 'dots'), underscore: spell(names, 'underscore') }
  const meaning = new Map<string, string>()
  for (const spelling of Object.values(spellings)) for (const [name, spelt] of spelling) meaning.set(spelt, name)
  // Last, so that a name always means the tool that is really called so.
  for (const name of names) meaning.set(name, name)
  return {
    listed: (canonical, style) => spellings[style].get(canonical) ?? canonical,
    canonical: (given) => meaning.get(given),
  }
}

function spell(names: readonly string[], style: NameStyle): ReadonlyMap<string, string> {
  const { others, max } = ALPHABET[style]
  const wanted = new Map<string, number>()
  for (const name of names) {
    const plain = name.replaceAll(others, '_')
    wanted.set(plain, (wanted.get(plain) ?? 0) + 1)
  }
  const spelt = (name: string): string => {
    const plain = name.replaceAll(others, '_')
    // A name that needs no respelling keeps it, whoever else would like it.
    const contested = plain !== name && (wanted.get(plain) ?? 0) > 1
    return contested || plain.length > max ? marked(plain, name, max) : plain
  }
  return new Map(names.map((name) => [name, spelt(name)]))
}

function marked(plain: string, canonical: string, max: number): string {
  const mark = hash('sha256', canonical, 'hex').slice(0, MARK_LENGTH)
  return `${plain.slice(0, max - MARK_LENGTH - 1)}_${mark}`
}
