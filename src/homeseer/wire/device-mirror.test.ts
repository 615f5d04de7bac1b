import { describe, expect, it } from 'vitest'
import type { Json } from '../../core/json.ts'
import { decodeStatusReply, type ReceivedDevice } from './device.ts'
import {
  newDeviceMirror,
  computeNextMirrorTickAtMs,
  stepDeviceMirror,
  type DeviceMirror,
  type DeviceMirrorEffect,
  type DeviceMirrorInput,
} from './device-mirror.ts'

const RULES = { pollMs: 5_000, resyncMs: 300_000 }

function devices(...records: readonly Json[]): readonly ReceivedDevice[] {
  const status = decodeStatusReply({ Devices: records })
  return status.ok ? status.value.devices : []
}

const lamp = (value: number, status: string, more: object = {}) => ({ ref: 412, name: 'Lamp', value, status, ...more })

function play(...inputs: readonly DeviceMirrorInput[]): {
  mirror: DeviceMirror
  effects: readonly (readonly DeviceMirrorEffect[])[]
} {
  let mirror = newDeviceMirror(RULES)
  const effects = inputs.map((input) => {
    const next = stepDeviceMirror(mirror, input)
    mirror = next.mirror
    return next.effects
  })
  return { mirror, effects }
}

const polled = (atMs: number, ...records: readonly Json[]): DeviceMirrorInput => ({
  kind: 'answered',
  source: 'poll',
  devices: devices(...records),
  requestedMs: atMs - 100,
  atMs,
})
const pushed = (atMs: number, value: number, ref = 412): DeviceMirrorInput => ({
  kind: 'pushed',
  source: 'ascii',
  changes: [{ ref, value }],
  atMs,
})

describe('device mirror', () => {
  it('polls all devices at once, and not again before the answer', () => {
    expect(play({ kind: 'tick', atMs: 1 }, { kind: 'tick', atMs: 60_000 }).effects).toEqual([[{ kind: 'poll' }], []])
  })

  it('polls often without push, and seldom with it', () => {
    const alone = play({ kind: 'tick', atMs: 0 }, polled(100)).mirror
    expect(computeNextMirrorTickAtMs(alone)).toBe(5_100)
    const listening = play({ kind: 'push-state', up: true, atMs: 0 }, polled(100)).mirror
    expect(computeNextMirrorTickAtMs(listening)).toBe(300_100)
    expect(
      computeNextMirrorTickAtMs(stepDeviceMirror(listening, { kind: 'push-state', up: false, atMs: 200 }).mirror),
    ).toBe(5_100)
  })

  it('polls all devices when push comes back', () => {
    const { effects } = play(
      polled(100, lamp(0, 'Off')),
      { kind: 'push-state', up: true, atMs: 200 },
      { kind: 'tick', atMs: 201 },
    )
    expect(effects[2]).toEqual([{ kind: 'poll' }])
  })

  it('reports a pushed value, and reads its status text', () => {
    const { mirror, effects } = play(polled(100, lamp(0, 'Off')), pushed(200, 99), { kind: 'tick', atMs: 250 })
    expect(mirror.entries.get(412)?.live).toEqual({
      value: 99,
      status: undefined,
      lastChangeMs: undefined,
      source: 'ascii',
      observedMs: 200,
    })
    expect(effects[1]).toMatchObject([
      { kind: 'changed', changes: [{ ref: 412, previous: { value: 0 }, live: { value: 99 } }] },
    ])
    expect(effects[2]).toEqual([{ kind: 'read', refs: [412] }])
  })

  it('takes the status text from a web hook without reading', () => {
    const { mirror, effects } = play(
      polled(100, lamp(0, 'Off')),
      {
        kind: 'pushed',
        source: 'webhook',
        changes: [{ ref: 412, value: 99, status: 'On', lastChangeMs: 7 }],
        atMs: 200,
      },
      { kind: 'tick', atMs: 300 },
    )
    expect(mirror.entries.get(412)?.live).toMatchObject({ status: 'On', lastChangeMs: 7, source: 'webhook' })
    expect(effects[2]).toEqual([])
  })

  it('does not let a late answer overwrite a value that was pushed after the request', () => {
    const { mirror, effects } = play(polled(100, lamp(0, 'Off')), pushed(950, 99), polled(1_000, lamp(0, 'Off')))
    expect(mirror.entries.get(412)?.live).toMatchObject({ value: 99, source: 'ascii' })
    expect(effects[2]).toEqual([])
    const later = stepDeviceMirror(mirror, polled(2_000, lamp(99, 'On')))
    expect(later.mirror.entries.get(412)?.live).toMatchObject({ value: 99, status: 'On', source: 'poll' })
    expect(later.mirror.unread.size).toBe(0)
  })

  it('forgets a requested device that is missing in the answer, unless it was pushed since', () => {
    const gone: DeviceMirrorInput = {
      kind: 'answered',
      source: 'read',
      devices: [],
      refs: [412],
      requestedMs: 150,
      atMs: 200,
    }
    const { mirror, effects } = play(polled(100, lamp(0, 'Off')), gone)
    expect(mirror.entries.size).toBe(0)
    expect(effects[1]).toEqual([{ kind: 'changed', changes: [] }])
    expect(play(polled(100, lamp(0, 'Off')), pushed(180, 1), gone).mirror.entries.size).toBe(1)
  })

  it('reports a renamed device even if its value is unchanged', () => {
    const { mirror, effects } = play(polled(100, lamp(0, 'Off')), polled(500, lamp(0, 'Off', { name: 'Lantern' })))
    expect(effects[1]).toEqual([{ kind: 'changed', changes: [] }])
    const spoken = stepDeviceMirror(mirror, polled(900, lamp(0, 'Off', { name: 'Lantern', voice_command: 'light' })))
    expect(spoken.mirror.structure).toBe(mirror.structure + 1)
  })

  it('reads a pushed device that it does not know, once', () => {
    const { effects, mirror } = play(
      polled(100),
      pushed(200, 1, 900),
      { kind: 'tick', atMs: 250 },
      { kind: 'answered', source: 'read', devices: [], requestedMs: 250, atMs: 260 },
      { kind: 'tick', atMs: 400 },
    )
    expect(effects[2]).toEqual([{ kind: 'read', refs: [900] }])
    expect(effects[4]).toEqual([])
    expect(mirror.entries.size).toBe(0)
  })

  it('polls all devices instead of reading a hundred single ones, and stays bounded', () => {
    const changes = Array.from({ length: 5_000 }, (_, index) => ({ ref: index, value: 1 }))
    const { mirror, effects } = play(
      polled(100),
      { kind: 'pushed', source: 'ascii', changes, atMs: 200 },
      { kind: 'tick', atMs: 201 },
    )
    expect(mirror.unread.size).toBe(0)
    expect(mirror.entries.size).toBe(0)
    expect(effects[2]).toEqual([{ kind: 'poll' }])
  })

  it('waits after a poll or read that was not answered', () => {
    const { mirror } = play({ kind: 'tick', atMs: 0 }, { kind: 'unanswered', source: 'poll', atMs: 10 })
    expect(computeNextMirrorTickAtMs(mirror)).toBe(5_010)
    const reading = play(
      polled(100, lamp(0, 'Off')),
      pushed(200, 9),
      { kind: 'tick', atMs: 250 },
      {
        kind: 'unanswered',
        source: 'read',
        atMs: 300,
      },
    )
    expect(reading.mirror.readDueMs).toBe(5_300)
  })

  it('increments its structure number for new, removed, renamed and moved devices, not for values', () => {
    const at = (...inputs: readonly DeviceMirrorInput[]) => play(...inputs).mirror.structure
    const first = polled(100, lamp(0, 'Off'))
    expect(at(first)).toBe(1)
    expect(at(first, polled(200, lamp(99, 'On')), pushed(300, 5))).toBe(1)
    expect(at(first, polled(200, lamp(0, 'Off', { name: 'Lampe' })))).toBe(2)
    expect(at(first, polled(200, lamp(0, 'Off', { associated_devices: [1] })))).toBe(2)
    expect(at(first, polled(200))).toBe(2)
    expect(at(first, { kind: 'answered', source: 'read', devices: [], requestedMs: 150, atMs: 200 })).toBe(1)
  })
})
