/** What a person at a terminal is shown of changes. */
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../core/json.ts'
import type { CallResultView } from '../web/api-requests.ts'
import { formatChanges, collectChanges, parseSince } from './changes.ts'

const NOW_MS = Date.UTC(2026, 0, 31, 12)
const AT = '2026-01-31T11:00:00.000Z'

describe('parsing the start time of a search', () => {
  it.each([
    ['90m', '2026-01-31T10:30:00.000Z'],
    ['12h', '2026-01-31T00:00:00.000Z'],
    ['7d', '2026-01-24T12:00:00.000Z'],
    ['2026-01-30T22:00:00+01:00', '2026-01-30T21:00:00.000Z'],
    ['2026-01-30', new Date(2026, 0, 30).toISOString()],
  ])('reads %s as %s', (text, expected) => {
    expect(parseSince(text, NOW_MS)).toBe(expected)
  })

  it.each(['yesterday', '12', '1w', '', '2026-02-01T00:00:00Z'])('%j is refused as a start time', (text) => {
    expect(() => parseSince(text, NOW_MS)).toThrow('an age such as 90m')
  })
})

function page(changes: Json, more: JsonObject = {}): CallResultView {
  return { outcome: 'ok', traceId: 'T', structured: { ok: true, data: { changes, ...more } } }
}

function shown(changes: Json, more: JsonObject = {}): readonly (readonly string[])[] {
  const { text } = formatChanges(page(changes, more), 2)
  return text.split('\n').map((line) => line.split(/ {2,}/))
}

describe('hearthbus changes', () => {
  it('lists changes in a table with caller, change, target, result and approval', () => {
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

  it('reports an empty result, and whether there are more', () => {
    const one = { log_index: 1, at: AT, caller: 'claude', title: 'Set a device', result: 'done' }
    const more = { next_cursor: 'x' }
    expect(shown([])).toEqual([['Nothing was changed.']])
    expect(shown([one, one], more).at(-1)).toEqual(['There is more: --limit shows up to 200.'])
    const further = 'was found in the part of the log that was searched; there may be earlier ones.'
    expect(shown([one], more).at(-1)).toEqual([`No other ${further}`])
    expect(shown([], more)).toEqual([[`No change ${further}`]])
  })

  it('fetches page after page until the limit is reached, including pages without a change', async () => {
    const pages = [page([], { next_cursor: 'a' }), page(['one'], { next_cursor: 'b' }), page(['two', 'three'])]
    const requested: JsonObject[] = []
    const answering = async (wanted: JsonObject): Promise<CallResultView | undefined> => {
      requested.push(wanted)
      return pages[requested.length - 1]
    }
    expect(await collectChanges(answering, { since: AT, limit: 5 })).toMatchObject({
      structured: { ok: true, data: { changes: ['one', 'two', 'three'] } },
    })
    expect(requested).toEqual([
      { since: AT, limit: 5 },
      { since: AT, limit: 5, cursor: 'a' },
      { since: AT, limit: 4, cursor: 'b' },
    ])
  })

  it('stops after twenty pages, and returns a refusal of the gateway', async () => {
    let questions = 0
    const endless = async (): Promise<CallResultView> => page([], { next_cursor: String(++questions) })
    expect(await collectChanges(endless, { limit: 5 })).toEqual(page([], { next_cursor: '20' }))
    const refused: CallResultView = { outcome: 'denied', traceId: 'T', structured: { ok: false } }
    const refusing = async (wanted: JsonObject): Promise<CallResultView> =>
      wanted['cursor'] === undefined ? page([], { next_cursor: 'a' }) : refused
    expect(await collectChanges(refusing, { limit: 5 })).toBe(refused)
  })
})
