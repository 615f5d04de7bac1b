import { describe, expect, it } from 'vitest'
import type { Caller } from '../bus/call.ts'
import type { Effect } from '../bus/capability.ts'
import { listCallerRefusalReasons } from './call-permission.ts'

const narrowed: Caller = { kind: 'principal', id: 'lamp-bot', role: 'agent', restrictions: { devices: ['lamp:*'] } }

function rules(caller: Caller, effect: Effect, target?: string): readonly string[] {
  return listCallerRefusalReasons(caller, { effect, trustRequired: 'member', target, inProfile: true }).map(
    ({ rule }) => rule,
  )
}

describe('a credential narrowed to devices', () => {
  it('covers a call that names no device only if it reads or records', () => {
    expect(rules(narrowed, 'reads')).toEqual([])
    expect(rules(narrowed, 'records')).toEqual([])
    for (const effect of ['writes', 'sensitive', 'admin'] as const)
      expect(rules(narrowed, effect)).toEqual(['token-devices'])
  })

  it('does not cover other devices that a call to a covered device reaches', () => {
    const standing = { effect: 'writes', trustRequired: 'member', target: 'lamp:1', inProfile: true } as const
    expect(listCallerRefusalReasons(narrowed, { ...standing, reached: ['lamp:2'] })).toEqual([])
    expect(listCallerRefusalReasons(narrowed, { ...standing, reached: ['lamp:2', 'lock:1'] })).toEqual([
      { rule: 'token-devices', message: 'This credential does not cover lock:1, which this reaches.' },
    ])
  })

  it('covers its devices and no others, also for reading', () => {
    expect(rules(narrowed, 'writes', 'lamp:1')).toEqual([])
    expect(rules(narrowed, 'reads', 'lock:1')).toEqual(['token-devices'])
  })
})

describe('a capability with trust level self', () => {
  it('is refused to every peer with that reason', () => {
    const anchor: Caller = { kind: 'peer', id: 'node-b', level: 'anchor' }
    const facts = { effect: 'reads', trustRequired: 'self', target: undefined, inProfile: true } as const
    expect(listCallerRefusalReasons(anchor, facts)).toEqual([
      { rule: 'trust', message: 'Only this node itself may call this.' },
    ])
  })
})

describe('a peer with too low a trust level', () => {
  // The order of the levels is that of docs/protocols/capability-bus.md: unknown, member, trusted, anchor.
  it('is told the level it needs: the higher one required by the tool and by its effect', () => {
    const peer: Caller = { kind: 'peer', id: 'node-b', level: 'unknown' }
    const said = (effect: Effect, trustRequired: 'member' | 'trusted' | 'anchor'): readonly string[] =>
      listCallerRefusalReasons(peer, { effect, trustRequired, target: undefined, inProfile: true }).map(
        ({ message }) => message,
      )
    const needs = (level: string) => [`A peer must be at least ${level} for this; the caller is unknown.`]
    expect(said('reads', 'member')).toEqual(needs('member'))
    expect(said('reads', 'trusted')).toEqual(needs('trusted'))
    expect(said('writes', 'member')).toEqual(needs('trusted'))
    expect(said('admin', 'member')).toEqual(needs('anchor'))
  })
})
