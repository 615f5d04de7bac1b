import { describe, expect, it } from 'vitest'
import { createNoHomeseerFaults } from './simulated-faults.ts'
import { createHardCaseDevices, HARD_CASE_DEVICE_REFS } from './hard-case-devices.ts'
import { createManySensors } from './many-sensors.ts'
import { SimulatedHomeseerDevices, type SimulatedDeviceChange } from './simulated-devices.ts'

const T = 1_767_225_600_000
const by = { user: 'default', nowMs: T }

function home() {
  const faults = createNoHomeseerFaults()
  const house = new SimulatedHomeseerDevices(createHardCaseDevices(), faults)
  const changes: SimulatedDeviceChange[] = []
  house.onChange((change) => changes.push(change))
  return { house, faults, changes }
}

describe('simulated devices', () => {
  it('move the hardware on control, and show it a little later', () => {
    const { house, changes } = home()
    expect(house.controlByValue(HARD_CASE_DEVICE_REFS.kitchenSwitch, 255, by)).toBe(true)
    house.advance(T)
    expect(house.hardware(120)?.value).toBe(255)
    expect(house.record(120)).toMatchObject({ value: 0, status: 'Off' })
    house.advance(T + 10)
    expect(house.record(120)).toMatchObject({ value: 255, status: 'On', lastChangeMs: T + 10 })
    expect(changes).toEqual([{ ref: 120, value: 255, previous: 0 }])
  })

  it('keep the stored value apart from the hardware', () => {
    const { house, changes } = home()
    expect(house.store(HARD_CASE_DEVICE_REFS.kitchenSwitch, { value: 255 }, T)).toBe(true)
    house.advance(T + 1_000)
    expect(house.stored(120)?.value).toBe(255)
    expect(house.hardware(120)?.value).toBe(0)
    expect(changes).toEqual([{ ref: 120, value: 255, previous: 0 }])
    house.store(120, { text: 'Broken' }, T)
    expect(house.record(120)).toMatchObject({ value: 255, status: 'Broken' })
  })

  it('refuse values that no control pair has', () => {
    const { house } = home()
    expect(house.controlByValue(HARD_CASE_DEVICE_REFS.diningDimmer, 100, by)).toBe(false)
    expect(house.controlByValue(HARD_CASE_DEVICE_REFS.diningDimmer, 42.5, by)).toBe(false)
    expect(house.controlByValue(HARD_CASE_DEVICE_REFS.heatSetpoint, 21.5, by)).toBe(true)
    expect(house.controlByValue(HARD_CASE_DEVICE_REFS.heatSetpoint, 21.55, by)).toBe(false)
    expect(house.controlByValue(HARD_CASE_DEVICE_REFS.hallLampRoot, 1, by)).toBe(false)
    expect(house.controlByValue(HARD_CASE_DEVICE_REFS.windowContact, 0, by)).toBe(false)
    expect(house.controlByValue(9_999, 0, by)).toBe(false)
  })

  it('return to the last level on "On Last Level"', () => {
    const { house } = home()
    const lamp = HARD_CASE_DEVICE_REFS.hallLamp
    house.controlByLabel(lamp, 'off', by)
    house.advance(T)
    house.controlByLabel(lamp, 'On Last Level', by)
    house.advance(T)
    expect(house.hardware(lamp)?.value).toBe(35)
  })

  it('are controlled by use through the root only', () => {
    const { house } = home()
    const dim = { use: 'Dim', value: 30, text: undefined } as const
    expect(house.controlByUse(HARD_CASE_DEVICE_REFS.hallLampRoot, dim, by)).toBe(true)
    expect(house.controlByUse(HARD_CASE_DEVICE_REFS.hallLamp, dim, by)).toBe(false)
    house.advance(T)
    expect(house.hardware(HARD_CASE_DEVICE_REFS.hallLamp)?.value).toBe(30)
  })

  it('let a lock pass through 254', () => {
    const { house, changes } = home()
    house.controlByValue(HARD_CASE_DEVICE_REFS.frontDoorLock, 0, by)
    house.advance(T + 20)
    expect(house.record(141)?.value).toBe(254)
    house.advance(T + 100)
    expect(house.record(141)).toMatchObject({ value: 0, status: 'Unlocked' })
    expect(changes.map((change) => change.value)).toEqual([254, 0])
  })

  it('include devices that are stuck, slow or fall back', () => {
    const { house } = home()
    for (const ref of [
      HARD_CASE_DEVICE_REFS.stuckLamp,
      HARD_CASE_DEVICE_REFS.slowBlind,
      HARD_CASE_DEVICE_REFS.flappingPlug,
    ])
      expect(house.controlByValue(ref, 255, by)).toBe(true)
    house.advance(T + 50)
    expect([195, 196, 197].map((ref) => house.hardware(ref)?.value)).toEqual([0, 0, 255])
    house.advance(T + 4_000)
    expect([195, 196, 197].map((ref) => house.stored(ref)?.value)).toEqual([0, 255, 0])
    expect(house.nextDueMs).toBe(Number.POSITIVE_INFINITY)
  })

  it('obey only the user that a device belongs to', () => {
    const { house } = home()
    expect(house.controlByValue(HARD_CASE_DEVICE_REFS.officeHeater, 255, by)).toBe(false)
    expect(house.controlByValue(HARD_CASE_DEVICE_REFS.officeHeater, 255, { ...by, user: 'anna' })).toBe(true)
  })

  it('pass text to text boxes and colour pickers', () => {
    const { house } = home()
    expect(house.controlByIndex(HARD_CASE_DEVICE_REFS.messageBoard, { index: 0, text: 'Hello' }, by)).toBe(true)
    expect(house.controlByIndex(HARD_CASE_DEVICE_REFS.messageBoard, { index: 0, text: undefined }, by)).toBe(false)
    expect(house.controlByValue(HARD_CASE_DEVICE_REFS.messageBoard, 0, by)).toBe(false)
    house.advance(T + 10)
    expect(house.record(HARD_CASE_DEVICE_REFS.messageBoard)?.status).toBe('Hello')
  })

  it('include the requested number of sensors, with distinct refs and names', () => {
    const sensors = createManySensors(2_500)
    expect(new Set(sensors.map(({ record }) => record.ref)).size).toBe(2_500)
    expect(new Set(sensors.map(({ record }) => record.name)).size).toBe(2_500)
    expect(sensors.every(({ pairs }) => pairs.length === 0)).toBe(true)
  })
})
