/** Spec 3's enrolment as a succession of entries: nobody connects who was not let in, and nothing is pinned twice. */
import { describe, expect, it } from 'vitest'
import type { LedgerEvent } from '../../ledger/entry.ts'
import { ProjectionRuleVerification } from '../../ledger/projection.ts'
import { deviceProjection } from './enrolled-device-state.ts'
import type { DeviceProjectionState } from './enrolled-device-state.ts'

const AT = '2026-01-01T00:00:00.000Z'
const lamp = { device_id: 'a0:b1:c2:d3:e4:f5' }
const approved: LedgerEvent = {
  kind: 'device.approved',
  ...lamp,
  client_id: 'uuid-1',
  transport: 'websocket',
  by: 'owner',
}
const booted = (hash: string, generation = 1): LedgerEvent => ({
  kind: 'device.booted',
  ...lamp,
  generation,
  token_hash: hash,
})
const used = (hash: string): LedgerEvent => ({ kind: 'device.token-used', ...lamp, token_hash: hash })
const named: LedgerEvent = { kind: 'device.named', ...lamp, device: 'den' }
const pinned: LedgerEvent = { kind: 'device.tools.pinned', ...lamp, device: 'den', client_id: 'uuid-1', pins: ['p1'] }
const withheld: LedgerEvent = { kind: 'device.tools.withheld', ...lamp, device: 'den', digest: 'd' }
const approvedTools = (digest: string): LedgerEvent => ({
  kind: 'device.tools.approved',
  ...lamp,
  device: 'den',
  digest,
  by: 'owner',
  pins: ['p1', 'p2'],
})

function read(events: readonly LedgerEvent[]): {
  readonly unlawful: readonly string[]
  readonly state: DeviceProjectionState
} {
  const audit = new ProjectionRuleVerification([deviceProjection])
  for (const [seq, event] of events.entries()) audit.read({ v: 1, seq, at: AT, ...event } as never)
  return { unlawful: audit.unlawful.map(({ why }) => why), state: audit.state(deviceProjection) }
}

describe('reading the recorded events of a device', () => {
  it('keeps at most the last four issued tokens, and drops those older than a used one', () => {
    const { unlawful, state } = read([approved, ...['1', '2', '3', '4', '5'].map((hash) => booted(hash)), used('4')])
    expect(unlawful).toEqual([])
    expect(state.devices.get(lamp.device_id)?.tokens).toEqual([
      { hash: '4', isUsed: true },
      { hash: '5', isUsed: false },
    ])
  })

  it('pins the first tool list, and later only approved tools', () => {
    const { unlawful, state } = read([approved, named, pinned, withheld, approvedTools('d')])
    expect(unlawful).toEqual([])
    expect(state.labels.get(lamp.device_id)).toMatchObject({ slug: 'den', pins: ['p1', 'p2'], withheld: undefined })
  })

  it.each<[string, readonly LedgerEvent[], string]>([
    ['a boot of a stranger', [booted('1')], 'no such device was let in'],
    [
      'a boot after it was turned away',
      [approved, { kind: 'device.revoked', ...lamp, by: 'owner' }, booted('1', 2)],
      'no such device was let in',
    ],
    [
      'a boot with credentials that had ended',
      [approved, { kind: 'device.rotated', ...lamp, by: 'owner' }, booted('1')],
      `the credentials of ${lamp.device_id} had ended`,
    ],
    ['a token that was never given out', [approved, used('1')], 'no such token was given out'],
    [
      'a token from before it was turned away',
      [approved, booted('1'), { kind: 'device.revoked', ...lamp, by: 'owner' }, used('1')],
      'no such token was given out',
    ],
    ['tools of a stranger', [pinned], 'no such device was let in'],
    [
      'tools that are pinned a second time',
      [approved, named, pinned, { ...pinned, pins: ['p9'] }],
      'the tools of den were pinned before',
    ],
    [
      'tools that nobody withheld',
      [approved, named, pinned, approvedTools('d')],
      'other tools of den were withheld than were approved',
    ],
    [
      'other tools than were withheld',
      [approved, named, pinned, withheld, approvedTools('e')],
      'other tools of den were withheld than were approved',
    ],
  ])('reports as unlawful: %s', (_, events, why) => {
    expect(read(events).unlawful).toEqual([why])
  })
})
