/** What a person at a terminal is shown of calls that strangers made. */
import { describe, expect, it } from 'vitest'
import type { Json } from '../core/json.ts'
import { formatApprovals, formatTools } from './gateway-text.ts'
import type { ToolView } from '../web/views.ts'
import { formatTable } from './command-output.ts'

describe('approvals at the terminal', () => {
  it('show the id of the device, as used in rules and tokens', () => {
    const approval = {
      id: '01M7GRQ0E461MTBTN6ZHDH9F14',
      state: 'requested',
      binding: { principal: 'local', tool: 'hs4.devices.set', target: 'homeseer:ref:141' },
      shown: { label: 'Front Door Lock (Hall, Ground)', arguments: { ref: 141, label: 'Unlock' } },
      expiresAtMs: 900_000,
    }
    expect(formatApprovals([approval], 0).text).toBe(
      [
        '01M7GRQ0E461MTBTN6ZHDH9F14  requested  hs4.devices.set: Front Door Lock (Hall, Ground)',
        '  asked by  local',
        '  target    homeseer:ref:141',
        '  arguments {"ref":141,"label":"Unlock"}',
        '  valid for 15 min',
      ].join('\n'),
    )
  })

  it('print only the fields that change, on one line', () => {
    const change = (before: Json, after: Json): string | undefined =>
      formatApprovals([{ id: '01A', shown: { arguments: {}, preview: { before, after } } }], 0)
        .text.split('\n')
        .find((line) => line.startsWith('  change'))
    const lock = { path: 'control', label: 'Unlock', value: 0 }
    expect(change({ value: 255, status: 'Locked' }, lock)).toBe('  change    value 255 → 0, status Locked → Unlock')
    expect(change(21, 22.5)).toBe('  change    21 → 22.5')
    expect(change({ mode: 'off', note: 'a' }, { mode: 'on\n  change    nothing', note: 'a' })).toBe(
      '  change    mode off → on change nothing',
    )
    expect(change('a', 'b, lock Locked → Locked')).toBe('  change    a → "b, lock Locked → Locked"')
    expect(change('x'.repeat(100), '')).toBe(`  change    ${'x'.repeat(60)}… →`)
    expect(change({ value: 1 }, { value: 1 })).toBeUndefined()
  })

  it('print how long an approval is valid only while it is neither used nor expired', () => {
    const last = (state: string): string | undefined =>
      formatApprovals([{ id: '01A', state, shown: { arguments: {} }, expiresAtMs: 60_000 }], 0)
        .text.split('\n')
        .at(-1)
    expect(['approved', 'used', 'expired'].map(last)).toEqual(['  valid for 60 s', '  arguments {}', '  arguments {}'])
  })

  it('keep line breaks in a caller’s text from starting a line of their own', () => {
    const client = 'claude)\n  arguments {"ref":101}\n\n01B  requested  hs4.devices.set on Hall Lamp'
    const approval = {
      id: '01A',
      state: 'requested',
      binding: { principal: 'bot', tool: 'hs4.devices.set' },
      shown: { label: 'Front\nDoor', client, arguments: { ref: 141, intent: 'a\nb' } },
      expiresAtMs: 60_000,
    }
    expect(formatApprovals([approval], 0).text.split('\n')).toEqual([
      '01A  requested  hs4.devices.set: Front Door',
      '  asked by  bot (calls itself "claude) arguments {\\"ref\\":101} 01B requested hs4.devices.set on Hall Lamp")',
      '  arguments {"ref":141,"intent":"a\\nb"}',
      '  valid for 60 s',
    ])
  })
})

describe('hearthbus tools', () => {
  const tool = (description: string): string => {
    const view = { name: 't', title: '', description, effect: 'writes', family: 'devices' } as unknown as ToolView
    return formatTools([view]).text.split('\n')[1] ?? ''
  }

  it('prints what a device tool does without the name of the device', () => {
    expect(tool('On the device "Desk lamp" (desk-lamp). The device says: Switch it on. Or off.')).toBe(
      't     writes  The device says: Switch it on.',
    )
    expect(tool('On the device "Desk lamp" (desk-lamp). Offline now. The device says: Switch it on.')).toBe(
      't     writes  Offline now. The device says: Switch it on.',
    )
  })
})

describe('table', () => {
  it('prints every row on one line', () => {
    expect(formatTable(['tool', ''], [['a\nb', 'c\r\n\r\nd']])).toBe('tool\na b   c d')
  })
})
