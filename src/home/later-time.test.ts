/** Times as people say them; the calendar of November 2026 says which of them exist. */
import { describe, expect, it } from 'vitest'
import { parseDueTime } from './later-time.ts'

/** Wednesday, 18 November 2026, 07:30 where the test runs. */
const NOW_MS = new Date(2026, 10, 18, 7, 30).getTime()

function due(at: string): string {
  const dueMs = parseDueTime({ at }, NOW_MS)
  if (typeof dueMs === 'string') return 'refused'
  const date = new Date(dueMs)
  return `${date.getDate()} ${date.getHours()}:${String(date.getMinutes()).padStart(2, '0')}`
}

describe('parseDueTime of a later call', () => {
  it.each([
    ['18:30', '18 18:30'],
    ['07:00', '19 7:00'],
    ['7 am', '19 7:00'],
    ['11pm', '18 23:00'],
    ['12 am', '19 0:00'],
    ['12:15 p.m.', '18 12:15'],
    ['18 Uhr', '18 18:00'],
    ['tomorrow 06:00', '19 6:00'],
    ['morgen um 6 Uhr', '19 6:00'],
    ['heute 18:30', '18 18:30'],
    ['2026-11-20T10:00', '20 10:00'],
  ])('reads %s as %s', (at, expected) => {
    expect(due(at)).toBe(expected)
  })

  it.each([
    '7',
    '13 pm',
    '0 am',
    '25:00',
    '12:60',
    'today 07:00',
    '2026-11-31T10:00',
    '2026-11-18T24:00',
    '2026-11-17T10:00',
    'soon',
  ])('refuses %s', (at) => {
    expect(due(at)).toBe('refused')
  })
})
