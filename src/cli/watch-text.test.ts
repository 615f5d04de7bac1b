import { describe, expect, it } from 'vitest'
import type { Json } from '../core/json.ts'
import { formatWatchLine } from './watch-text.ts'

const NOON = new Date(2026, 0, 31, 12, 0, 1)

function line(event: string, data: Json): string | undefined {
  return formatWatchLine({ id: '1-1', event, data }, NOON)
}

describe('hearthbus watch', () => {
  it('prints one sentence for each kind of event', () => {
    const calls = [
      { capability: 'server_ping', result: 'ok' },
      { capability: 'hs4.devices.set', result: 'denied' },
    ]
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']
    const services = [{ name: 'ebus', status: 'degraded' }]
    expect([
      line('hello', { node: 'home', resumed: false, atMs: 1 }),
      line('calls', { calls, skipped: 0 }),
      line('calls', { calls, skipped: 7 }),
      line('approval', { state: 'requested', shown: { label: 'Front door' }, binding: { principal: 'claude' } }),
      line('registry', { added: names, removed: ['z'], resync: false }),
      line('ledger', { size: 47, state: 'sound', checkpointSize: null }),
      line('ledger', { size: 47, state: 'sound', checkpointSize: 40 }),
      line('state', { stopped: true, mode: 'full', inFlight: 2, services }),
      line('verification', { running: false, checked: 9, size: 9, findings: [] }),
      line('verification', { running: false, checked: 9, size: 9, findings: ['Entry 3 was edited.'] }),
    ]).toEqual([
      '12:00:01  hello        home',
      '12:00:01  calls        hs4.devices.set denied, server_ping ok',
      '12:00:01  calls        7 others, hs4.devices.set denied, server_ping ok',
      '12:00:01  approval     requested: Front door, by claude',
      '12:00:01  registry     came or changed: a, b, c, d, e, f, g, h and 2 more; went: z',
      '12:00:01  ledger       47 entries, sound, not signed yet',
      '12:00:01  ledger       47 entries, sound, last signed at 40',
      '12:00:01  state        full, STOPPED, ebus degraded, 2 calls under way',
      '12:00:01  verification 9 entries, all in order',
      '12:00:01  verification Entry 3 was edited.',
    ])
  })

  it('prints nothing for events about repeated reads and running verifications', () => {
    expect(line('resource', { uris: ['ebus://main/messages'] })).toBeUndefined()
    expect(line('history', { series: ['ebus/outside/temperature_c'] })).toBeUndefined()
    expect(line('verification', { running: true, checked: 3, size: 9, findings: [] })).toBeUndefined()
  })

  it('shows an unknown event of a newer gateway unchanged', () => {
    expect(line('weather', { sun: true })).toBe('12:00:01  weather      {"sun":true}')
  })

  it('keeps line breaks and escape sequences in names from starting a line or moving the cursor', () => {
    const shown = { label: 'Door\n12:00:02  approval  approved\u001B[2K' }
    expect(line('approval', { state: 'requested', shown, binding: { principal: 'x' } })).toBe(
      '12:00:01  approval     requested: Door 12:00:02 approval approved\uFFFD[2K, by x',
    )
  })
})
