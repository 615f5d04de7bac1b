/** What is read, when, and how often: topology, plan and scheduler. */
import { describe, expect, it } from 'vitest'
import { fromHex } from '../../core/bytes.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { BusDeviceRegistry } from '../registry/device-registry.ts'
import type { RegisterReadKey } from './read-key.ts'
import { toRegisterReadKey } from './read-key.ts'
import { computePollIntervalMs, findNextDueRead, planReads, computeStaleAfterMs } from './read-plan.ts'
import type { RegisterReadFault } from './register-reader.ts'
import { RegisterReader } from './register-reader.ts'
import {
  CIRCUIT_REGISTERS,
  HOT_WATER_REGISTERS,
  SYSTEM_REGISTERS,
  ZONE_REGISTERS,
  requireRemoteDeviceRegisters,
} from './regulator-register-map.ts'
import type { RegulatorRegister } from './register.ts'
import { RegisterShadow } from './register-shadow.ts'
import { HeatingTopology } from './topology.ts'

const AT = Date.UTC(2026, 0, 5)
const POLL_MS = 60_000
const KEY = toRegisterReadKey(0x15, SYSTEM_REGISTERS.outdoorTemperature)
const VALUE = fromHex('01007300 00507b41')

const answerOf = ({ group, number }: RegulatorRegister, value: string): Uint8Array =>
  Uint8Array.from([0x01, group, number & 0xff, number >> 8, ...fromHex(value)])

describe('heating topology', () => {
  const regulator = (address: number, topology: HeatingTopology, nowMs = 0): void =>
    topology.learn(toRegisterReadKey(address, SYSTEM_REGISTERS.outdoorTemperature), VALUE, nowMs)

  it('recognises a device with valid B524 answers as the regulator, and prefers address 15', () => {
    const topology = new HeatingTopology(new BusDeviceRegistry())
    topology.learn(toRegisterReadKey(0x26, SYSTEM_REGISTERS.outdoorTemperature), new Uint8Array(), 0)
    expect(topology.regulator).toBeUndefined()
    regulator(0x76, topology)
    expect(topology.regulator?.address).toBe(0x76)
    regulator(0x15, topology)
    expect(topology.regulator?.address).toBe(0x15)
    regulator(0x76, topology, 1_000)
    expect(topology.regulator?.address).toBe(0x15)
    // The one has been silent for five minutes, the other one not.
    regulator(0x76, topology, 300_000)
    expect(topology.regulator?.address).toBe(0x76)
  })

  it('derives zones, circuits and module slots from their registers', () => {
    const topology = new HeatingTopology(new BusDeviceRegistry())
    regulator(0x15, topology)
    for (const [instance, index] of ['00', '01', 'ff'].entries())
      topology.learn(toRegisterReadKey(0x15, ZONE_REGISTERS.index, instance), answerOf(ZONE_REGISTERS.index, index), 0)
    expect(topology.zonesKnown).toBe(true)
    expect(topology.zones()).toEqual([0, 1])
    for (const [instance, type] of ['0100', '0000', 'ffff'].entries())
      topology.learn(
        toRegisterReadKey(0x15, CIRCUIT_REGISTERS.type, instance),
        answerOf(CIRCUIT_REGISTERS.type, type),
        0,
      )
    expect(topology.circuits()).toEqual([0])
    const { connected } = requireRemoteDeviceRegisters(0x09)
    expect(topology.slotsToLookInto(0x09)).toEqual([0, 1, 2])
    topology.learn(toRegisterReadKey(0x15, connected, 1), answerOf(connected, '01'), 0)
    expect(topology.slotsToLookInto(0x09)).toEqual([0, 1, 2, 3, 4])
  })

  it('forgets the zones when another regulator is found', () => {
    const topology = new HeatingTopology(new BusDeviceRegistry())
    regulator(0x76, topology)
    topology.learn(toRegisterReadKey(0x76, ZONE_REGISTERS.index), answerOf(ZONE_REGISTERS.index, '00'), 0)
    expect(topology.zones()).toEqual([0])
    regulator(0x15, topology)
    expect(topology.zones()).toEqual([])
  })
})

describe('read plan', () => {
  it('contains only the regulator search first, and then the registers of what was found', () => {
    const registry = new BusDeviceRegistry()
    const topology = new HeatingTopology(registry)
    const shadow = new RegisterShadow()
    expect(planReads(topology, shadow, 0).map(({ key }) => key)).toEqual([KEY])
    topology.learn(KEY, VALUE, 0)
    const plan = planReads(topology, shadow, 0)
    expect(plan.length).toBeGreaterThan(60)
    expect(new Set(plan.map(({ key }) => key)).size).toBe(plan.length)
    expect(plan.slice(0, 3).map(({ key }) => key)).toEqual([
      toRegisterReadKey(0x15, SYSTEM_REGISTERS.systemScheme),
      toRegisterReadKey(0x15, SYSTEM_REGISTERS.moduleConfiguration),
      toRegisterReadKey(0x15, ZONE_REGISTERS.index),
    ])
  })

  const plan = [
    { key: toRegisterReadKey(0x15, HOT_WATER_REGISTERS.current), freshness: 'state_fast' },
    { key: toRegisterReadKey(0x15, HOT_WATER_REGISTERS.holidayStart), freshness: 'config' },
  ] as const
  const due = (shadow: RegisterShadow, nowMs: number): RegisterReadKey | undefined =>
    findNextDueRead(plan, shadow, { pollMs: POLL_MS, nowMs, isOpen: () => false })?.key

  it('reads registers that were never read in order, then the most overdue one', () => {
    const shadow = new RegisterShadow()
    expect(due(shadow, AT)).toBe(plan[0].key)
    shadow.apply(plan[0].key, VALUE, { atMs: AT, source: 'poll' })
    expect(due(shadow, AT)).toBe(plan[1].key)
    shadow.apply(plan[1].key, VALUE, { atMs: AT, source: 'poll' })
    expect(due(shadow, AT + POLL_MS - 1)).toBeUndefined()
    expect(due(shadow, AT + POLL_MS)).toBe(plan[0].key)
    // Somebody else asked: that counts.
    shadow.apply(plan[0].key, VALUE, { atMs: AT + POLL_MS, source: 'passive' })
    expect(due(shadow, AT + POLL_MS)).toBeUndefined()
  })

  it('reads invalidated and cached values at once, and missing registers rarely', () => {
    const shadow = new RegisterShadow()
    for (const { key } of plan) shadow.apply(key, VALUE, { atMs: AT, source: 'poll' })
    shadow.invalidate(plan[1].key)
    expect(due(shadow, AT + 1)).toBe(plan[1].key)
    shadow.apply(plan[1].key, VALUE, { atMs: AT + 1, source: 'cache' })
    expect(due(shadow, AT + 2)).toBe(plan[1].key)
    shadow.apply(plan[1].key, VALUE, { atMs: AT + 2, source: 'poll' })
    shadow.apply(plan[0].key, new Uint8Array(), { atMs: AT + 2, source: 'poll' })
    expect(due(shadow, AT + 4 * POLL_MS)).toBeUndefined()
    shadow.apply(plan[1].key, VALUE, { atMs: AT + 9 * POLL_MS, source: 'poll' })
    expect(due(shadow, AT + 10 * POLL_MS + 2)).toBe(plan[0].key)
  })

  it('reads a value again whose time lies in the future', () => {
    const shadow = new RegisterShadow()
    for (const { key } of plan) shadow.apply(key, VALUE, { atMs: AT, source: 'poll' })
    expect(due(shadow, AT - 59_000)).toBeUndefined()
    expect(due(shadow, AT - 3_600_000)).toBe(plan[0].key)
  })

  it('counts a value as stale after three poll intervals', () => {
    expect(computePollIntervalMs('config', POLL_MS)).toBe(300_000)
    expect(computeStaleAfterMs('state_fast', POLL_MS)).toBe(180_000)
  })
})

interface Rig {
  readonly scheduler: RegisterReader
  readonly shadow: RegisterShadow
  readonly requested: RegisterReadKey[]
  answer: () => Promise<Result<Uint8Array, RegisterReadFault>>
  nowMs: number
}

function rig(): Rig {
  const shadow = new RegisterShadow()
  const parts: Rig = {
    shadow,
    requested: [],
    nowMs: 0,
    answer: async () => ok(VALUE),
    scheduler: new RegisterReader({
      shadow,
      fetch: (key) => {
        parts.requested.push(key)
        return parts.answer()
      },
      learn: (key, payload, how) =>
        ['changed', 'same'].includes(shadow.apply(key, payload, { atMs: AT + parts.nowMs, ...how })),
      pause: async (ms) => void (parts.nowMs += ms),
      now: () => AT + parts.nowMs,
      monotonic: () => parts.nowMs,
    }),
  }
  return parts
}

const OPTIONS = { maxAgeMs: 1_000, source: 'tool', deadlineMs: 2_000 } as const

describe('read scheduler', () => {
  it('answers concurrent reads of a key with one request', async () => {
    const parts = rig()
    const { promise, resolve } = Promise.withResolvers<Result<Uint8Array, RegisterReadFault>>()
    parts.answer = () => promise
    const reads = [parts.scheduler.read(KEY, OPTIONS), parts.scheduler.read(KEY, { ...OPTIONS, maxAgeMs: 0 })]
    resolve(ok(VALUE))
    const served = await Promise.all(reads)
    expect(parts.requested).toHaveLength(1)
    expect(served.map((each) => each.ok && each.value.entry.payload)).toEqual([VALUE, VALUE])
  })

  it('serves a recent value from the cache, and reads otherwise', async () => {
    const parts = rig()
    await parts.scheduler.read(KEY, OPTIONS)
    parts.nowMs = 1_000
    expect(await parts.scheduler.read(KEY, OPTIONS)).toMatchObject({ value: { fromCache: true } })
    parts.nowMs = 1_001
    expect(await parts.scheduler.read(KEY, OPTIONS)).toMatchObject({ value: { fromCache: false } })
    expect(await parts.scheduler.read(KEY, { ...OPTIONS, maxAgeMs: 0 })).toMatchObject({ value: { fromCache: false } })
    parts.shadow.invalidate(KEY)
    expect(await parts.scheduler.read(KEY, OPTIONS)).toMatchObject({ value: { fromCache: false } })
    expect(parts.requested).toHaveLength(4)
  })

  it('does not serve a cached value whose time lies in the future after the clock went back', async () => {
    const parts = rig()
    parts.nowMs = 3_600_000
    await parts.scheduler.read(KEY, OPTIONS)
    parts.nowMs = 0
    expect(await parts.scheduler.read(KEY, OPTIONS)).toMatchObject({ value: { fromCache: false } })
  })

  it('returns the device’s answer although the value was invalidated meanwhile', async () => {
    const parts = rig()
    await parts.scheduler.read(KEY, OPTIONS)
    const changed = fromHex('01007300 0000ac41')
    parts.answer = async () => {
      parts.shadow.invalidate(KEY)
      return ok(changed)
    }
    const served = await parts.scheduler.read(KEY, { ...OPTIONS, maxAgeMs: 0 })
    expect(served).toMatchObject({ value: { entry: { payload: changed, state: 'present' }, fromCache: false } })
    expect(parts.shadow.get(KEY)).toMatchObject({ payload: VALUE, state: 'invalidated' })
  })

  it('accepts a new answer although the clock was set back a little', async () => {
    const parts = rig()
    parts.nowMs = 30_000
    await parts.scheduler.read(KEY, OPTIONS)
    parts.nowMs = 0
    const changed = fromHex('01007300 0000ac41')
    parts.answer = async () => ok(changed)
    expect(await parts.scheduler.read(KEY, { ...OPTIONS, maxAgeMs: 0 })).toMatchObject({
      value: { entry: { payload: changed } },
    })
    expect(parts.shadow.get(KEY)).toMatchObject({ payload: changed, atMs: AT })
  })

  it('tries three times on a garbled answer, and once on an absent device', async () => {
    const parts = rig()
    parts.answer = async () => fail({ kind: 'answer-garbled' })
    await parts.scheduler.read(KEY, OPTIONS)
    expect(parts.requested).toHaveLength(3)
    parts.answer = async () => fail({ kind: 'no-answer' })
    await parts.scheduler.read(toRegisterReadKey(0x77, SYSTEM_REGISTERS.outdoorTemperature), OPTIONS)
    expect(parts.requested).toHaveLength(4)
  })

  it('pauses a key that failed twice, still serves its fresh value, and retries later', async () => {
    const parts = rig()
    await parts.scheduler.read(KEY, OPTIONS)
    parts.answer = async () => fail({ kind: 'no-answer' })
    for (let round = 0; round < 2; round++) await parts.scheduler.read(KEY, { ...OPTIONS, maxAgeMs: 0 })
    expect(parts.scheduler.isResting(KEY)).toBe(true)
    expect(await parts.scheduler.read(KEY, { ...OPTIONS, maxAgeMs: 0 })).toEqual({
      ok: false,
      fault: { kind: 'resting', forMs: 15_000, because: 'no-answer' },
    })
    expect(await parts.scheduler.read(KEY, OPTIONS)).toMatchObject({ ok: true, value: { fromCache: true } })
    const before = parts.requested.length
    parts.nowMs = 15_000
    parts.answer = async () => ok(VALUE)
    expect(await parts.scheduler.read(KEY, { ...OPTIONS, maxAgeMs: 0 })).toMatchObject({ ok: true })
    expect(parts.requested).toHaveLength(before + 1)
    expect(parts.scheduler.isResting(KEY)).toBe(false)
  })

  it('does not pause a key when the bus is unavailable', async () => {
    const parts = rig()
    parts.answer = async () => fail({ kind: 'no-signal', phase: 'queued' })
    for (let round = 0; round < 5; round++) await parts.scheduler.read(KEY, OPTIONS)
    expect(parts.scheduler.isResting(KEY)).toBe(false)
  })

  it('stores a refusal as a missing register', async () => {
    const parts = rig()
    parts.answer = async () => fail({ kind: 'refused' })
    expect(await parts.scheduler.read(KEY, OPTIONS)).toEqual({ ok: false, fault: { kind: 'refused' } })
    expect(parts.shadow.get(KEY)?.state).toBe('tombstone')
  })

  it('returns at once when the caller cancels', async () => {
    const parts = rig()
    const { promise, resolve } = Promise.withResolvers<Result<Uint8Array, RegisterReadFault>>()
    parts.answer = () => promise
    const first = parts.scheduler.read(KEY, OPTIONS)
    const leaving = new AbortController()
    const second = parts.scheduler.read(KEY, { ...OPTIONS, signal: leaving.signal })
    leaving.abort()
    expect(await second).toEqual({ ok: false, fault: { kind: 'cancelled', phase: 'queued' } })
    resolve(ok(VALUE))
    expect(await first).toMatchObject({ ok: true })
  })
})
