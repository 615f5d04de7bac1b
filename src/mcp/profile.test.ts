import { describe, expect, it } from 'vitest'
import { offer, plainFamily } from '../../test/mcp-house.ts'
import { findMcpProfile, isOfferInProfile } from './profile.ts'
import type { McpProfilesByName } from './profile.ts'

const heating = { ...plainFamily, name: 'heating' }
const offers = [
  offer({ name: 'heat.get', family: heating }),
  offer({ name: 'heat.set', family: heating, effect: 'writes' }),
  offer({ name: 'light.get' }),
]
const families = new Set(['plain', 'heating'])
const configured: McpProfilesByName = {
  warm: { include: ['heat.*', 'light.get'], exclude: ['heat.s*'] },
  careful: { include: ['*'], exclude: [], effects: ['reads', 'records'] },
  read: { include: ['*'], exclude: [] },
}

function namesIn(profile: string): readonly string[] | undefined {
  const found = findMcpProfile(profile, configured, families)
  return found === undefined
    ? undefined
    : offers.filter((each) => isOfferInProfile(each, found)).map(({ name }) => name)
}

describe('MCP profile', () => {
  it('contains all tools, the reading ones, or those of one family', () => {
    expect(namesIn('all')).toEqual(['heat.get', 'heat.set', 'light.get'])
    expect(namesIn('read')).toEqual(['heat.get', 'light.get'])
    expect(namesIn('heating')).toEqual(['heat.get', 'heat.set'])
  })

  it('contains the configured inclusions without the exclusions', () => {
    expect(namesIn('warm')).toEqual(['heat.get', 'light.get'])
    expect(namesIn('careful')).toEqual(['heat.get', 'light.get'])
  })

  it('is unknown under any other name, including names of object properties', () => {
    expect(['cold', 'constructor', '__proto__', ''].map(namesIn)).toEqual([undefined, undefined, undefined, undefined])
  })
})
