/**
 * Names: the same tools spelt two ways. Canonical names have dots; several clients refuse dots and anything longer
 * than 64 characters, so there is a second spelling with underscores. A call is accepted under either.
 *
 *   ebus.v1.zones.get ◀──▶ ebus_v1_zones_get
 *
 * Two canonical names may want the same second spelling (`a.b_c`, `a_b.c`). Then every one of them gets a mark made
 * from its own name, so that a tool which arrives later never takes over the spelling of another.
 *
 * Pure.
 */
import { hash } from 'node:crypto'

export type NameStyle = 'dots' | 'underscore'

export interface NameBook {
  /** How a canonical name is listed. */
  readonly listed: (canonical: string, style: NameStyle) => string
  /** The canonical name behind either spelling. */
  readonly canonical: (given: string) => string | undefined
}

const MAX_UNDERSCORED = 64
const MARK_LENGTH = 6

export function nameBook(canonicalNames: readonly string[]): NameBook {
  const known = new Set(canonicalNames)
  const wanted = new Map<string, number>()
  for (const name of known) {
    const plain = underscored(name)
    wanted.set(plain, (wanted.get(plain) ?? 0) + 1)
  }
  const spelling = new Map<string, string>()
  const meaning = new Map<string, string>()
  for (const name of known) {
    const plain = underscored(name)
    // A name that needs no respelling keeps it, whoever else would like it.
    const contested = plain !== name && ((wanted.get(plain) ?? 0) > 1 || known.has(plain))
    const spelt = contested || plain.length > MAX_UNDERSCORED ? marked(plain, name) : plain
    spelling.set(name, spelt)
    meaning.set(spelt, name)
  }
  for (const name of known) meaning.set(name, name)
  return {
    listed: (canonical, style) => (style === 'dots' ? canonical : (spelling.get(canonical) ?? underscored(canonical))),
    canonical: (given) => meaning.get(given),
  }
}

function underscored(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, '_')
}

function marked(plain: string, canonical: string): string {
  const mark = hash('sha256', canonical, 'hex').slice(0, MARK_LENGTH)
  return `${plain.slice(0, MAX_UNDERSCORED - MARK_LENGTH - 1)}_${mark}`
}
