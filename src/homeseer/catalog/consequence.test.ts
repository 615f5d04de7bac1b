import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../core/json.ts'
import {
  buildEventGraph,
  traceEventConsequences,
  type EventConsequences,
} from './device-catalog-and-event-consequences.ts'
import { decodeEventDefinitions } from './event-definition.ts'

const DEVICE_VALUE = 'Scheduler.Classes.EvTrig_DEVICE_VALUE, Scheduler'

function on(ref: number, more: JsonObject = {}): JsonObject {
  return { $type: DEVICE_VALUE, ev_trig_dvRef: ref, TriggerSubType: 7, mvarValue_or_Start: 255, ...more }
}

function sets(...refs: readonly number[]): JsonObject {
  const devices = Object.fromEntries(
    refs.map((ref) => [`K${ref}`, { dvRef: ref, ControlLabel: 'On', ControlValue: 1 }]),
  )
  return { $type: 'Scheduler.Classes.EvACT_DEVICE, Scheduler', delay: '00:00:00', devices }
}

function event(evRef: number, triggers: readonly Json[], actions: JsonObject, more: JsonObject = {}): JsonObject {
  return {
    evRef,
    Name: `E${evRef}`,
    mvarGroupRef: 1,
    Triggers: { TrigGroups: { K0: { $values: triggers } } },
    ConditionalActions: [{ mvarConditions: [], mvarActions: actions }],
    ...more,
  }
}

interface ChainStart {
  readonly refs?: readonly number[]
  readonly eventId?: number
  readonly groups?: Json
  readonly relatives?: readonly number[]
  readonly members?: readonly string[]
}

function follow(events: readonly Json[], start: ChainStart): EventConsequences {
  const decoded = decodeEventDefinitions(events, start.groups ?? [{ Group: 'Night', Ref: 1 }], start.members)
  if (!decoded.ok) throw new Error(decoded.fault.detail)
  const { definitions } = decoded.value
  const started = definitions.find(({ id }) => id === start.eventId)
  return traceEventConsequences(
    buildEventGraph(definitions),
    { ...(start.refs === undefined ? {} : { refs: start.refs }), ...(started === undefined ? {} : { event: started }) },
    () => start.relatives ?? [],
  )
}

describe('consequences of a change through events', () => {
  it('follow a trigger to what its event sets, and on from there', () => {
    const events = [event(60, [on(199)], { K0: sets(198) }), event(61, [on(198)], { K0: sets(141) })]
    expect(follow(events, { refs: [199] })).toMatchObject({ refs: [198, 141], eventIds: [60, 61], doubts: [] })
    expect(follow(events, { refs: [5] })).toMatchObject({ refs: [], eventIds: [] })
    expect(follow(events, { eventId: 60 })).toMatchObject({ refs: [198, 141], eventIds: [60, 61] })
  })

  it.each<[kind: string, trigger: JsonObject]>([
    ['another value', on(199, { mvarValue_or_Start: 0 })],
    ['a range', on(199, { TriggerSubType: 3, ValEnd_Spec: 50 })],
    ['any value', on(199, { AnyValue: true })],
    ['a kind of comparison that nobody documents', on(199, { TriggerSubType: 4_711 })],
    ['any device', { $type: DEVICE_VALUE, AnyDevice: true }],
    ['a plug-in’s trigger', { $type: 'Scheduler.Classes.EvTrig_PLUGIN, Scheduler', DataIn: 'AAEAAAD' }],
    ['a condition on another device', on(199, { Condition: true })],
    ['a list of devices in a member that nobody knows', on(7, { mvarOthers: [3, 199] })],
    ['any device, said by a number', on(7, { AnyDevice: 1 })],
    ['any device, said by a word', on(7, { AnyDevice: 'yes' })],
    ['a clock that watches a device', { $type: 'Scheduler.Classes.EvTrig_RECURRING, Scheduler', WhileDevice: 199 }],
  ])('include an event with %s', (_, trigger) => {
    expect(follow([event(60, [trigger], { K0: sets(141) })], { refs: [199] }).refs).toEqual([141])
  })

  it.each<[where: string, more: JsonObject]>([
    ['in another member', { Triggers: { TrigGroups: {} }, mvarOthers: [{ ev_trig_dvRef: 199 }] }],
    ['in a list as the plug-in SDK names it', { Triggers: null, Trigger_Groups: [{ Triggers: 'AAEAAAD' }] }],
  ])('include an event whose trigger is %s', (_, more) => {
    expect(follow([event(60, [], { K0: sets(141) }, more)], { refs: [199] }).refs).toEqual([141])
  })

  it('include events with conditions and disabled events', () => {
    const conditioned = event(60, [on(199), on(170, { Condition: true })], { K0: sets(141) }, { Flag_Enabled: false })
    expect(follow([conditioned], { refs: [199] }).refs).toEqual([141])
  })

  it('do not include events that only the clock triggers', () => {
    const clock = { $type: 'Scheduler.Classes.EvTrig_TIME, Scheduler', mvarTime: '07:00' }
    expect(follow([event(60, [clock], { K0: sets(141) })], { refs: [199] }).eventIds).toEqual([])
  })

  it('start from every member of the physical device', () => {
    expect(follow([event(60, [on(12)], { K0: sets(141) })], { refs: [11], relatives: [10, 11, 12] }).refs).toEqual([
      141,
    ])
  })

  it('terminate where events trigger each other, and stop at a limit', () => {
    const ring = [event(60, [on(1)], { K0: sets(2) }), event(61, [on(2)], { K0: sets(1) })]
    expect(follow(ring, { refs: [1] })).toMatchObject({ refs: [2], eventIds: [60, 61] })
    const chain = Array.from({ length: 400 }, (_, index) => event(index + 1, [on(index)], { K0: sets(index + 1) }))
    expect(follow(chain, { refs: [0] }).doubts).toEqual(['too-far'])
  })

  it.each<[what: string, broken: JsonObject]>([
    ['an action of another kind', event(60, [on(199)], { K0: { $type: 'EvACT_EVENT', mvarEventRef: 61 } })],
    ['a second list of actions', event(60, [on(199)], { K0: sets(1) }, { ElseActions: { K0: sets(141) } })],
    ['one more member of an action', event(60, [on(199)], { K0: { ...sets(1), Also: { dvRef: 141 } } })],
    ['one more member of a device', event(60, [on(199)], { K0: { $type: 'x', devices: { K1: { Then: 141 } } } })],
    ['devices under another key', event(60, [on(199)], { K0: { $type: 'x', devices: { a: { dvRef: 141 } } } })],
    ['actions as a list', event(60, [on(199)], { $values: [sets(141)] })],
    ['a list beside its devices', event(60, [on(199)], { K0: { ...sets(1), $values: [{ dvRef: 141 }] } })],
    ['a key for another device', event(60, [on(199)], { K0: { $type: 'x', devices: { K141: { dvRef: 1 } } } })],
    ['actions under the name of a flag', event(60, [on(199)], { K0: sets(1) }, { Flag_Else: { K0: sets(141) } })],
    ['the number of an event under that of a flag', event(60, [on(199)], { K0: sets(1) }, { Flag_RunsNext: 61 })],
    ['a group that the file lacks', event(60, [on(199)], { K0: sets(1) }, { mvarGroupRef: 9 })],
    ['no list of actions', { evRef: 60, Triggers: { TrigGroups: { K0: { $values: [on(199)] } } } }],
  ])('report unknown-action for %s', (_, broken) => {
    expect(follow([broken], { refs: [199] }).doubts).toEqual(['unknown-action'])
  })

  it('report doubts for actions of a group and for scripts', () => {
    const plain = event(60, [on(199)], { K0: sets(1) })
    const groups = [{ Group: 'Night', Ref: 1, Global_Actions: [{ K0: sets(141) }] }]
    expect(follow([plain], { refs: [199], groups }).doubts).toEqual(['unknown-action'])
    const script = event(60, [on(199)], { K0: { $type: 'EvACT_SCRIPT', mvarScript: 'open.vb' } })
    expect(follow([script], { refs: [199] }).doubts).toEqual(['runs-script'])
    const condition = { $type: 'Scheduler.Classes.EvCond_SCRIPT, Scheduler', mvarScript: 'open.vb' }
    const blocks = { ConditionalActions: [{ mvarConditions: [condition], mvarActions: { K0: sets(1) } }] }
    expect(follow([event(60, [on(199)], {}, blocks)], { refs: [199] }).doubts).toEqual(['runs-script'])
  })

  it('include events that an action of an unknown kind names', () => {
    const running = event(60, [on(199)], { K0: { $type: 'EvACT_EVENT', mvarEventRef: 61 } })
    expect(follow([running, event(61, [], { K0: sets(141) })], { refs: [199] })).toMatchObject({
      refs: [141],
      eventIds: [60, 61],
      doubts: ['unknown-action'],
    })
  })

  it('ignore members that are empty, flags, or listed by the owner', () => {
    const more = { Flag_Priority_Event: true, mvarNothing: {}, mvarNone: null, mvarList: { $type: 'x', $values: [] } }
    expect(follow([event(60, [on(199)], { K0: sets(1) }, more)], { refs: [199] }).doubts).toEqual([])
    const unknown = event(60, [on(199)], { K0: sets(1) }, { mvarColour: 'red' })
    expect(follow([unknown], { refs: [199] }).doubts).toEqual(['unknown-action'])
    expect(follow([unknown], { refs: [199], members: ['mvarColour'] }).doubts).toEqual([])
  })
})
