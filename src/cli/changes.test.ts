/** What a person at a terminal is shown of changes. */
import { describe, expect, it } from 'vitest'
import type { Json } from '../core/json.ts'
import { changesAnswer, sinceTime } from './changes.ts'

const NOW_MS = Date.UTC(2026, 0, 31, 12)
const AT = '2026-01-31T11:00:00.000Z'

describe('the beginning of a search', () => {
  it.each([
    ['90m', '2026-01-31T10:30:00.000Z'],
    ['12h', '2026-01-31T00:00:00.000Z'],
    ['7d', '2026-01-24T12:00:00.000Z'],
    ['2026-01-30T22:00:00+01:00', '2026-01-30T21:00:00.000Z'],
    ['2026-01-30', new Date(2026, 0, 30).toISOString()],
  ])('%s is %s', (text, expected) => {
    expect(sinceTime(text, NOW_MS)).toBe(expected)
  })

  it.each(['yesterday', '12', '1w', '', '2026-02-01T00:00:00Z'])('%j is none', (text) => {
    expect(() => sinceTime(text, NOW_MS)).toThrow('an age such as 90m')
  })
})

function shown(changes: Json, more: object = {}): readonly (readonly string[])[] {
  const { text } = changesAnswer({ outcome: 'ok', traceId: 'T', structured: { ok: true, data: { changes, ...more } } })
  return text.split('\n').map((line) => line.split(/ {2,}/))
}

describe('changes', () => {
  it('are a table of who did what to what, how it ended, and what a person said', () => {
    const done = { log_index: 7, at: AT, caller: 'claude', title: 'Set a device', target: 'homeseer:ref:1' }
    const approval = (state: string, by?: string) => ({ approval: { id: '01K', state, ...(by && { by }) } })
    const rows = shown([
      { ...done, label: 'Desk lamp', result: 'done', ...approval('used', 'anna') },
      { ...done, result: 'asked', ...approval('requested') },
      { ...done, result: 'asked', ...approval('expired') },
      { ...done, result: 'done', grant: { id: '01K', by: 'anna' } },
      {
        ...done,
        caller: 'peer:ed25519:k/claude',
        node: 'kitchen',
        actor: 'claude',
        result: 'refused',
        code: 'offline',
      },
    ])
    expect(rows).toEqual([
      ['entry', 'when', 'who', 'what', 'on', 'result', 'a person'],
      ['7', AT, 'claude', 'Set a device', 'Desk lamp', 'done', 'approved by anna'],
      ['7', AT, 'claude', 'Set a device', 'homeseer:ref:1', 'asked', 'is asked: hearthbus approvals'],
      ['7', AT, 'claude', 'Set a device', 'homeseer:ref:1', 'asked', 'expired'],
      ['7', AT, 'claude', 'Set a device', 'homeseer:ref:1', 'done', 'granted by anna'],
      ['7', AT, 'claude, says the node kitchen', 'Set a device', 'homeseer:ref:1', 'refused (offline)', '–'],
    ])
  })

  it('that are none are said to be none, and more to be more', () => {
    expect(shown([], { next_cursor: 'x' })).toEqual([
      ['Nothing was changed.'],
      ['There is more: --limit shows up to 200.'],
    ])
  })
})
