import { describe, expect, it } from 'vitest'
import { toUtf8 } from '../core/bytes.ts'
import { readEntriesOfKinds } from './entries-by-kind.ts'

/** A log of texts, searched entry by entry. */
function logOf(...texts: readonly string[]) {
  return {
    *entriesMatching(pattern: RegExp) {
      for (const [seq, text] of texts.entries())
        if (pattern.test(Buffer.from(text).toString('latin1'))) yield { seq, bytes: toUtf8(text) }
    },
  }
}

function entry(seq: number, kind: string, more = ''): string {
  return `{"at":"2026-11-18T12:00:00.000Z","kind":"${kind}",${more}"seq":${seq},"v":1}`
}

function seqsOfKinds(log: ReturnType<typeof logOf>, ...kinds: readonly string[]): readonly number[] {
  return [...readEntriesOfKinds(log, new Set(kinds))].map(({ seq }) => seq)
}

describe('entries by kind', () => {
  it('reads the entries of the wanted kinds, in order', () => {
    const log = logOf(entry(0, 'call.enter'), entry(1, 'token.made'), entry(2, 'call.exit'), entry(3, 'grant.made'))
    expect(seqsOfKinds(log, 'grant.made', 'token.made')).toEqual([1, 3])
  })

  it('matches a dot in a kind literally', () => {
    expect(seqsOfKinds(logOf(entry(0, 'token-made')), 'token.made')).toEqual([])
  })

  it('ignores a kind field in a nested object', () => {
    const log = logOf(entry(0, 'call.enter', '"note":{"kind":"token.made"},'))
    expect(seqsOfKinds(log, 'token.made')).toEqual([])
  })

  it('finds an entry whose other fields contain non-ASCII text', () => {
    expect(seqsOfKinds(logOf(entry(0, 'token.made', '"name":"Küche 厨房",')), 'token.made')).toEqual([0])
  })

  it('skips entries that are not canonical JSON', () => {
    expect(seqsOfKinds(logOf('{"kind":"token.made", "v":1}'), 'token.made')).toEqual([])
  })
})
