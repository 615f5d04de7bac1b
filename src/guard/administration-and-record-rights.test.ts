import { describe, expect, it } from 'vitest'
import type { Caller, CredentialRestrictions, PrincipalRole } from '../bus/call.ts'
import type { Effect } from '../bus/capability.ts'
import {
  explainAdministrationRefusal,
  explainConsoleLinkRefusal,
  hasRestrictedCredential,
  mayViewStatus,
  mayReadRecord,
  mayAddToNodesOwnRecords,
  explainEmergencyStopActivationRefusal,
  explainTokenAdministrationRefusal,
} from './administration-and-record-rights.ts'

function principal(role: PrincipalRole, restrictions?: CredentialRestrictions): Caller {
  return { kind: 'principal', id: 'ada', role, ...(restrictions === undefined ? {} : { restrictions }) }
}

describe('caller authority', () => {
  it.each<[string, Caller, boolean, boolean]>([
    ['an admin', principal('admin'), true, true],
    [
      'an admin narrowed to effects with admin among them',
      principal('admin', { effects: ['reads', 'admin'] }),
      true,
      false,
    ],
    ['an admin narrowed to reads', principal('admin', { effects: ['reads'] }), false, false],
    ['an admin narrowed to a device', principal('admin', { devices: ['device:lamp'] }), false, false],
    ['an admin narrowed to a profile', principal('admin', { profiles: ['ebus'] }), false, false],
    ['an agent', principal('agent'), false, false],
    ['a service', { kind: 'service', id: 'console' }, false, false],
  ])('decides whether %s may administer the node and create a console link', (_, by, administers, letsIn) => {
    expect([explainAdministrationRefusal(by) === undefined, explainConsoleLinkRefusal(by) === undefined]).toEqual([
      administers,
      letsIn,
    ])
  })

  it.each<[CredentialRestrictions | undefined, CredentialRestrictions | undefined, boolean]>([
    [undefined, undefined, true],
    [undefined, { effects: [] }, true],
    [{ effects: ['admin', 'reads'] }, undefined, false],
    [{ effects: ['admin', 'reads'] }, { effects: ['reads'] }, true],
    [{ effects: ['admin', 'reads'] }, { effects: ['reads', 'writes'] }, false],
    [{ effects: ['reads'] }, { effects: ['reads'] }, false],
    [{ devices: ['device:lamp'] }, { effects: ['reads'] }, false],
    [{ devices: ['device:lamp'] }, { devices: ['device:lamp'] }, true],
    [{ devices: ['device:*'] }, { devices: ['device:lamp', 'device:tv*'] }, true],
    [{ devices: ['device:lamp'] }, { devices: ['device:lamp*'] }, false],
    [{ devices: ['device:lamp*'] }, { devices: ['*'] }, false],
    [{ profiles: ['ebus'] }, { profiles: ['ebus', 'homeseer'] }, false],
  ])('an admin narrowed to %j may create a token narrowed to %j: %s', (own, token, may) => {
    expect(explainTokenAdministrationRefusal(principal('admin', own), token) === undefined).toBe(may)
  })

  it.each<[string, Caller, boolean]>([
    ['an agent', principal('agent'), true],
    ['an approver', principal('approver'), true],
    ['an observer', principal('observer'), false],
    ['an agent narrowed to nothing', principal('agent', { effects: [] }), false],
    ['an agent narrowed to reads and records', principal('agent', { effects: ['reads', 'records'] }), false],
    ['an agent narrowed to writes', principal('agent', { effects: ['writes'] }), true],
    ['an agent narrowed to a lamp', principal('agent', { devices: ['device:lamp'] }), false],
    ['an agent narrowed to the tools that read', principal('agent', { profiles: ['read'] }), false],
    ['an admin narrowed to one family', principal('admin', { profiles: ['ebus'] }), false],
    ['another node', { kind: 'peer', id: 'n', level: 'anchor' }, false],
    ['a service', { kind: 'service', id: 's' }, true],
  ])('decides whether %s may engage the emergency stop', (_, by, may) => {
    expect(explainEmergencyStopActivationRefusal(by) === undefined).toBe(may)
  })

  it('refuses reading the status and signing records to credentials that do not cover it', () => {
    expect([mayViewStatus(principal('admin', { effects: [] })), mayViewStatus(principal('observer'))]).toEqual([
      false,
      true,
    ])
    const signers = (['observer', 'approver', 'agent', 'admin'] as const).map((role) =>
      mayAddToNodesOwnRecords(principal(role)),
    )
    expect(signers).toEqual([false, false, true, true])
    expect(mayAddToNodesOwnRecords(principal('agent', { effects: ['reads'] }))).toBe(false)
    for (const part of [{ devices: ['device:lamp'] }, { profiles: ['read'] }])
      expect(mayAddToNodesOwnRecords(principal('admin', part))).toBe(false)
    expect(mayAddToNodesOwnRecords({ kind: 'peer', id: 'n', level: 'anchor' })).toBe(false)
    expect(mayAddToNodesOwnRecords({ kind: 'service', id: 's' })).toBe(true)
  })

  const reading = { principal: 'bob', effect: 'reads', target: undefined, inProfile: true } as const
  const unlocking = { principal: 'bob', effect: 'sensitive', target: 'device:lock', inProfile: true } as const
  it.each<[string, Caller, boolean, boolean]>([
    ['an agent', principal('agent'), false, true],
    ['an observer', principal('observer'), true, true],
    ['an approver', principal('approver'), true, true],
    ['an admin', principal('admin'), true, true],
    ['an admin narrowed to nothing', principal('admin', { effects: [] }), false, false],
    ['an agent of that device', principal('agent', { devices: ['device:lo*'] }), false, true],
    ['an agent of another device', principal('agent', { devices: ['device:lamp'] }), false, false],
    ['an admin of another device', principal('admin', { devices: ['device:lamp'] }), false, false],
  ])('decides whether %s may read the requests and the acts of another caller', (_, by, asked, did) => {
    expect([mayReadRecord(by, reading), mayReadRecord(by, unlocking)]).toEqual([asked, did])
    expect(mayReadRecord(by, { ...reading, principal: 'ada' })).toBe(true)
  })

  it('hides from an agent what other callers read and recorded, unless it concerns a device', () => {
    const agent = principal('agent')
    const shown = (effect: Effect | undefined, target?: string) => mayReadRecord(agent, { ...reading, effect, target })
    expect([undefined, 'reads', 'records', 'writes'].map((effect) => shown(effect as Effect))).toEqual([
      false,
      false,
      false,
      true,
    ])
    expect([undefined, 'reads', 'records'].map((effect) => shown(effect as Effect, 'device:lock'))).toEqual([
      true,
      true,
      true,
    ])
  })

  it('allows an admin narrowed to profiles to create a token within the same profiles', () => {
    const admin = principal('admin', { profiles: ['ebus', 'homeseer'] })
    expect(explainTokenAdministrationRefusal(admin, { profiles: ['ebus'] })).toBeUndefined()
    expect(explainTokenAdministrationRefusal(admin, { profiles: ['ebus', 'devices'] })).toBeDefined()
    expect([hasRestrictedCredential(admin), hasRestrictedCredential(principal('admin'))]).toEqual([true, false])
    expect(hasRestrictedCredential({ kind: 'service', id: 's' })).toBe(false)
  })

  it("hides records of tools outside the reader's profiles", () => {
    expect(mayReadRecord(principal('admin', { profiles: ['ebus'] }), { ...unlocking, inProfile: false })).toBe(false)
  })
})
