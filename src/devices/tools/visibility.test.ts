import { describe, expect, it } from 'vitest'
import type { Caller } from '../../bus/call.ts'
import { listAdminOnlyRefusalReasons, maySeeDevice, maySeeUserTools, listUserOnlyRefusalReasons } from './visibility.ts'

const agent: Caller = { kind: 'principal', id: 'local', role: 'agent' }
const admin: Caller = { kind: 'principal', id: 'owner', role: 'admin' }
const companion: Caller = { ...agent, restrictions: { devices: ['device:den'] } }
const peer: Caller = { kind: 'peer', id: 'n', level: 'anchor' }
const service: Caller = { kind: 'service', id: 'demo' }

describe('visibility of devices and tools', () => {
  it('shows user-only tools to people and services, and to a companion token for its own device', () => {
    const who = [agent, admin, companion, peer, service].map((caller) => maySeeUserTools(caller, 'device:den'))
    expect(who).toEqual([false, true, true, false, true])
    expect(maySeeUserTools(companion, 'device:attic')).toBe(false)
    expect(listUserOnlyRefusalReasons(agent, 'device:den')).toMatchObject([{ rule: 'user-only' }])
    expect(listUserOnlyRefusalReasons(companion, 'device:den')).toEqual([])
  })

  it('shows a narrowed token only the devices that it names', () => {
    expect(maySeeDevice(companion, 'device:den')).toBe(true)
    expect(maySeeDevice(companion, 'device:attic')).toBe(false)
    expect(maySeeDevice(agent, 'device:attic')).toBe(true)
  })

  it('lets only admins and services administer devices', () => {
    expect([admin, service].flatMap(listAdminOnlyRefusalReasons)).toEqual([])
    for (const caller of [agent, companion, peer])
      expect(listAdminOnlyRefusalReasons(caller)).toMatchObject([{ rule: 'admin-only' }])
  })
})
