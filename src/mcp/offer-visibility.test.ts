import { describe, expect, it } from 'vitest'
import { offer } from '../../test/mcp-house.ts'
import type { Effect } from '../bus/capability.ts'
import { isOfferVisible } from './offer-visibility.ts'
import type { ViewerRights } from './offer-visibility.ts'

const EFFECTS: readonly Effect[] = ['reads', 'records', 'writes', 'sensitive', 'admin']

function effectsSeenBy(standing: ViewerRights): readonly Effect[] {
  return EFFECTS.filter((effect) => isOfferVisible(offer({ name: 'a', effect }), standing))
}

describe('offer visibility', () => {
  it('shows each role only the tools that it could be allowed to call', () => {
    expect(effectsSeenBy({ role: 'observer' })).toEqual(['reads'])
    expect(effectsSeenBy({ role: 'approver' })).toEqual(['reads'])
    expect(effectsSeenBy({ role: 'agent' })).toEqual(EFFECTS)
    expect(effectsSeenBy({ role: 'admin' })).toEqual(EFFECTS)
  })

  it('shows a narrowed token only the tools with its effects', () => {
    expect(effectsSeenBy({ role: 'agent', restrictions: { effects: ['reads', 'writes'] } })).toEqual([
      'reads',
      'writes',
    ])
    expect(effectsSeenBy({ role: 'observer', restrictions: { effects: ['writes'] } })).toEqual([])
  })

  it('shows a token for devices their tools, and tools that name the device in each call', () => {
    const lamp = offer({ name: 'lamp.on', effect: 'writes', params: { device: 'lamp' } })
    const door = offer({ name: 'door.open', effect: 'writes', params: { device: 'door' } })
    const control = offer({ name: 'control', effect: 'writes' })
    const standing: ViewerRights = { role: 'agent', restrictions: { devices: ['la*'] } }
    expect([lamp, door, control].map((each) => isOfferVisible(each, standing))).toEqual([true, false, true])
  })

  it('hides user-only tools from all but an admin and a token for that device', () => {
    const reboot = offer({ name: 'reboot', effect: 'sensitive', params: { device: 'lamp', userOnly: true } })
    const seen = (standing: ViewerRights): boolean => isOfferVisible(reboot, standing)
    expect(seen({ role: 'agent' })).toBe(false)
    expect(seen({ role: 'agent', restrictions: { devices: ['door'] } })).toBe(false)
    expect(seen({ role: 'agent', restrictions: { devices: ['lamp'] } })).toBe(true)
    expect(seen({ role: 'admin' })).toBe(true)
  })

  it('shows services to no client', () => {
    expect(isOfferVisible(offer({ name: 'a', face: { kind: 'service' } }), { role: 'admin' })).toBe(false)
  })
})
