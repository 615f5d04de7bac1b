import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../core/json.ts'
import { buildHomeseerDeviceCatalog } from '../catalog/device-catalog-and-event-consequences.ts'
import { decodeStatusReply } from '../wire/device.ts'
import type { ReceivedEventRecord } from '../wire/event.ts'
import { parseConfiguredAliases, type Alias } from './alias.ts'
import {
  buildNameResolver,
  resolveCameras,
  resolveDevices,
  resolveEvents,
  warnAboutParentDevice,
  type NameResolver,
} from './name-resolver.ts'

const SWITCH = [
  { Label: 'Off', ControlUse: 2, ControlValue: 0 },
  { Label: 'On', ControlUse: 1, ControlValue: 255 },
]

const HOME: readonly JsonObject[] = [
  { ref: 100, name: 'Hall Lamp', location: 'Hall', relationship: 2, associated_devices: [101] },
  { ref: 101, name: 'Hall Lamp', location: 'Hall', relationship: 4, associated_devices: [100], ControlPairs: SWITCH },
  { ref: 110, name: 'Porch Master', location: 'Hall', relationship: 2 },
  { ref: 111, name: 'Porch', location: 'Garden', ControlPairs: SWITCH },
  { ref: 120, name: 'Lamp', location: 'Kitchen', location2: 'Ground', ControlPairs: SWITCH },
  { ref: 130, name: 'Gate', relationship: 2 },
  { ref: 190, name: 'Lamp', location: 'Bedroom', location2: 'First', ControlPairs: SWITCH },
  { ref: 191, name: 'Lamp', location: 'Bedroom', location2: 'Below', ControlPairs: SWITCH },
  { ref: 200, name: 'Attic', status: '20 C' },
  { ref: 201, name: 'Attic Fan', ControlPairs: SWITCH },
]

const event = (id: number, group: string, name: string): ReceivedEventRecord => ({
  id,
  group,
  name,
  voiceCommand: '',
  voiceEnabled: false,
  raw: {},
})

function resolverOf(devices: readonly JsonObject[] = HOME, aliases: readonly Alias[] = []): NameResolver {
  const status = decodeStatusReply({ Devices: devices })
  return buildNameResolver({
    devices: buildHomeseerDeviceCatalog(status.ok ? status.value.devices : [], new Map()),
    events: [event(31, 'Evening', 'Movie Night'), event(33, 'Weekend', 'Movie Night'), event(34, 'Evening', 'Away')],
    cameras: [{ camId: 1, name: 'Driveway', supportsPanTilt: true, raw: {} }],
    aliases,
  })
}

function resolved(query: string, resolver = resolverOf()) {
  const { candidates, verdict } = resolveDevices(resolver, query)
  return { refs: candidates.map((one) => one.target.ref), verdict, candidates }
}

describe('resolving devices by name', () => {
  it('acts on the only device of the name', () => {
    expect(resolved('kitchen lamp')).toMatchObject({ verdict: { kind: 'act' } })
    expect(resolved('turn on the kitchen lamp please').refs[0]).toBe(120)
    expect(resolved('turn on the kitchen lamp please').verdict).toEqual({ kind: 'act' })
    expect(resolved('device 190')).toMatchObject({ verdict: { kind: 'act' } })
  })

  it('prefers the feature to its root of the same name, without asking', () => {
    const { refs, verdict, candidates } = resolved('hall lamp')
    expect(refs.slice(0, 2)).toEqual([101, 100])
    expect(verdict).toEqual({ kind: 'act' })
    expect(candidates[0]?.actionability).toEqual({
      rank: 8,
      role: 'endpoint',
      relationship: 4,
      parentRef: 100,
      controlPairCount: 2,
    })
    expect(candidates[1]?.actionability).toMatchObject({ rank: -4, role: 'wrapper_or_master' })
  })

  it('prefers the feature to its master, unless the text names the master', () => {
    expect(resolved('porch').refs.slice(0, 2)).toEqual([111, 110])
    expect(resolved('porch').verdict).toEqual({ kind: 'act' })
    expect(resolved('porch master').refs[0]).toBe(110)
    expect(resolved('porch master').verdict).toEqual({ kind: 'act' })
  })

  it('asks when several devices have the name, and acts when other words single one out', () => {
    expect(resolved('bedroom lamp')).toMatchObject({ refs: expect.arrayContaining([190, 191]) })
    expect(resolved('bedroom lamp').verdict).toEqual({ kind: 'ask', reason: 'several-exact' })
    expect(resolved('lamp').verdict).toEqual({ kind: 'ask', reason: 'several-exact' })
    expect(resolved('bedroom below lamp')).toMatchObject({ verdict: { kind: 'act' } })
    expect(resolved('bedroom below lamp').refs[0]).toBe(191)
  })

  it('asks when the text is not exactly a name', () => {
    expect(resolved('kitchen light').verdict).toEqual({ kind: 'ask', reason: 'fuzzy' })
    expect(resolved('kitch').verdict).toEqual({ kind: 'ask', reason: 'fuzzy' })
    expect(resolved('kitchen lamp and porch').verdict).toMatchObject({ kind: 'ask' })
    expect(resolved('unobtainium').verdict).toEqual({ kind: 'none' })
    expect(resolved('').verdict).toEqual({ kind: 'none' })
  })

  it('asks before acting on a wrapper that the text does not name as such', () => {
    expect(resolved('gate')).toMatchObject({ refs: [130], verdict: { kind: 'ask', reason: 'wrapper' } })
  })

  it('ranks an exact name above a controllable device', () => {
    expect(resolved('attic').refs).toEqual([200, 201])
    expect(resolved('attic').verdict).toEqual({ kind: 'act' })
  })

  it('asks when a look-alike of the name exists, or was used in the text', () => {
    const spoofed = resolverOf([...HOME, { ref: 666, name: 'Kitсhen Lаmp', ControlPairs: SWITCH }])
    expect(resolved('kitchen lamp', spoofed).refs[0]).toBe(120)
    expect(resolved('kitchen lamp', spoofed).verdict).toEqual({ kind: 'ask', reason: 'look-alike' })
    expect(resolved('Kitсhen Lаmp').verdict).toEqual({ kind: 'ask', reason: 'look-alike' })
    expect(resolved('Kitсhen Lаmp').candidates[0]).toMatchObject({ match: 'fuzzy', confidence: 'medium' })
  })

  it('acts on a configured or confirmed alias, and reports its origin', () => {
    const aliases: readonly Alias[] = [
      ...parseConfiguredAliases({ 'device:120': ['cooking light'] }).aliases,
      { kind: 'device', id: 111, text: 'veranda', origin: 'confirmed' },
      { kind: 'device', id: 9_999, text: 'ghost', origin: 'configuration' },
    ]
    const resolver = resolverOf(HOME, aliases)
    expect(resolved('cooking light', resolver)).toMatchObject({
      verdict: { kind: 'act' },
    })
    expect(resolved('cooking light', resolver).candidates[0]).toMatchObject({
      target: { ref: 120 },
      evidence: { matchedAlias: 'cooking light', origin: 'configuration' },
    })
    expect(resolved('veranda', resolver)).toMatchObject({ verdict: { kind: 'act' } })
    expect(resolved('ghost', resolver).verdict).toEqual({ kind: 'none' })
  })

  it('warns when a wrapper is chosen although its endpoint is a candidate', () => {
    const { candidates } = resolved('hall lamp')
    const [endpoint, wrapper] = candidates
    if (endpoint === undefined || wrapper === undefined) throw new Error('two candidates expected')
    expect(warnAboutParentDevice(wrapper, candidates)).toMatchObject({
      code: 'PARENT_OR_WRAPPER_TARGET',
      resolvedRef: 100,
      suggestedRef: 101,
    })
    expect(warnAboutParentDevice(endpoint, candidates)).toBeUndefined()
  })

  it('ranks close scores by actionability, and distant ones by score', () => {
    const { candidates } = resolved('lamp of the hall')
    const bands = candidates.map((one) => [one.target.ref, one.actionability.rank])
    expect(bands[0]).toEqual([101, 8])
  })
})

describe('resolving events and cameras by name', () => {
  it('asks between events of one name, and uses the group as a hint', () => {
    const resolver = resolverOf()
    expect(resolveEvents(resolver, 'movie night').verdict).toEqual({ kind: 'ask', reason: 'several-exact' })
    expect(resolveEvents(resolver, 'weekend movie night')).toMatchObject({
      verdict: { kind: 'act' },
      candidates: [{ target: { id: 33 } }, {}],
    })
    expect(resolveEvents(resolver, 'movie night', 'WEEK')).toMatchObject({ verdict: { kind: 'act' } })
  })

  it('does not match an event by the name of its group', () => {
    const { candidates, verdict } = resolveEvents(resolverOf(), 'evening')
    expect(candidates.every((one) => one.match === 'fuzzy' && one.score < 1)).toBe(true)
    expect(verdict).toEqual({ kind: 'ask', reason: 'fuzzy' })
  })

  it('finds cameras by name and number', () => {
    expect(resolveCameras(resolverOf(), 'show the driveway')).toMatchObject({ candidates: [{ target: { camId: 1 } }] })
    expect(resolveCameras(resolverOf(), 'camera 1')).toMatchObject({ verdict: { kind: 'act' } })
  })
})
