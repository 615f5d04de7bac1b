import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../core/json.ts'
import { decodeControlPairs, type ControlPair, decodeStatusReply } from '../wire/device.ts'
import { assignEventPagingNumbers, findEventsByIdOrName } from './event-search.ts'
import {
  buildHomeseerDeviceCatalog,
  groupDeviceRefsBy,
  listDevicesAndTheirChildren,
  listRefsSharingPhysicalDevice,
  type HomeseerDeviceCatalog,
} from './device-catalog-and-event-consequences.ts'

const SWITCH = [
  { Label: 'Off', ControlUse: 2, ControlValue: 0 },
  { Label: 'On', ControlUse: 1, ControlValue: 255 },
]

function catalogOf(...devices: readonly JsonObject[]): HomeseerDeviceCatalog {
  const status = decodeStatusReply({ Devices: devices })
  if (!status.ok) throw new Error(status.fault.detail)
  const records = status.value.devices
  return buildHomeseerDeviceCatalog(records, new Map(records.map(({ ref }) => [ref, []])))
}

const one = (record: JsonObject) => {
  const device = catalogOf({ ref: 1, ...record }).byRef.get(1)
  if (device === undefined) throw new Error('no device')
  return device
}

describe('device catalog', () => {
  const catalog = catalogOf(
    { ref: 410, name: 'Hall Lamp', relationship: 2, associated_devices: [412, 413], status: 'No Status' },
    { ref: 412, name: 'Hall Lamp', relationship: 4, associated_devices: [410], ControlPairs: SWITCH },
    { ref: 413, name: 'Battery', relationship: 0, status: '87%' },
    { ref: 500, name: 'Party Scene', relationship: 3, ControlPairs: SWITCH },
  )

  it('finds the parent from either side of the relation', () => {
    expect(catalog.byRef.get(412)).toMatchObject({ parentRef: 410, childRefs: [], wrapper: false })
    expect(catalog.byRef.get(413)).toMatchObject({ parentRef: 410 })
    expect(catalog.byRef.get(410)).toMatchObject({ parentRef: undefined, childRefs: [412, 413], wrapper: true })
  })

  it('treats scenes and masters as wrappers, even if they have controls', () => {
    expect(catalog.byRef.get(500)?.wrapper).toBe(true)
    expect(one({ name: 'Masterpiece', ControlPairs: SWITCH }).wrapper).toBe(false)
  })

  it('adds the children of requested devices, once each', () => {
    expect(listDevicesAndTheirChildren(catalog, [410, 412, 999]).map((device) => device.ref)).toEqual([410, 412, 413])
  })

  it('groups devices, largest group first', () => {
    expect(groupDeviceRefsBy(catalog, (device) => (device.wrapper ? 'wrapper' : 'rest'))).toEqual([
      { name: 'rest', refs: [412, 413] },
      { name: 'wrapper', refs: [410, 500] },
    ])
  })

  it('uses controls that were fetched separately, and marks devices without them as unknown', () => {
    const pairs = new Map<number, readonly ControlPair[]>([
      [7, decodeControlPairs({ ref: 7, ControlPairs: SWITCH }) ?? []],
    ])
    const status = decodeStatusReply({ Devices: [{ ref: 7 }, { ref: 8 }] })
    const fetched = buildHomeseerDeviceCatalog(status.ok ? status.value.devices : [], pairs)
    expect(fetched.byRef.get(7)).toMatchObject({ controlsKnown: true, capabilities: ['on_off'] })
    expect(fetched.byRef.get(8)).toMatchObject({ controlsKnown: false, controls: [], capabilities: [] })
  })
})

describe('capability of a device', () => {
  it('is derived from the control use', () => {
    const lock = [{ Label: 'Schließen', ControlUse: 18, ControlValue: 255 }]
    expect(one({ ControlPairs: lock }).capabilities).toEqual(['lock'])
    expect(one({ ControlPairs: [...SWITCH, { Label: 'Dim', ControlUse: 3 }] }).capabilities).toEqual([
      'on_off',
      'dimmer',
    ])
  })

  it('is derived from labels where a plug-in sets no use', () => {
    expect(one({ ControlPairs: [{ Label: 'Open' }, { Label: 'Closed' }] }).capabilities).toEqual(['cover'])
    expect(one({ ControlPairs: [{ Label: 'Unlock' }] }).capabilities).toEqual(['lock'])
    expect(one({ ControlPairs: [{ Label: 'Text', ControlType: 10 }] }).capabilities).toEqual(['text'])
  })

  it('is not derived from the status text', () => {
    expect(one({ name: 'Battery', status: '87%', device_type_string: 'Z-Wave Battery' }).capabilities).toEqual([
      'battery',
    ])
    expect(one({ name: 'Contact', status: 'Dim On Open Locked 50%' }).capabilities).toEqual(['sensor'])
  })
})

describe('sensitivity of a device', () => {
  const reasons = (record: JsonObject) => one(record).sensitivity

  it('is set for locks, doors, gates, alarms, confirmations and scripts', () => {
    expect(reasons({ name: 'Back', ControlPairs: [{ Label: 'x', ControlUse: 18 }] })).toEqual(['lock'])
    expect(reasons({ name: 'Garage Door', ControlPairs: [{ Label: 'Open', ControlUse: 1 }] })).toEqual(['door-or-gate'])
    expect(reasons({ name: 'Opener', location: 'Garage', ControlPairs: SWITCH })).toEqual(['door-or-gate'])
    expect(reasons({ name: 'Türschloss', ControlPairs: SWITCH })).toEqual(['lock'])
    expect(reasons({ name: 'Alarm Panel' })).toEqual(['alarm'])
    expect(reasons({ name: 'Gate2', ControlPairs: SWITCH })).toEqual(['door-or-gate'])
    expect(reasons({ name: 'Lock1', ControlPairs: SWITCH })).toEqual(['lock'])
    expect(reasons({ name: '2ndDoor', ControlPairs: SWITCH })).toEqual(['door-or-gate'])
    expect(reasons({ name: 'Lamp', misc: 0x400 })).toEqual(['voice-confirm'])
    expect(reasons({ name: 'Run', ControlPairs: [{ Label: 'Start', ControlType: 12 }] })).toEqual(['runs-script'])
  })

  it('is not set for lamps, clocks and sensors near them', () => {
    for (const name of ['Garage Light', 'Door Lamp', 'Doorbell', 'Clock', 'Security Light', 'Indoor Plug'])
      expect(reasons({ name, ControlPairs: SWITCH })).toEqual([])
    expect(reasons({ name: 'Garage Door Sensor' })).toEqual([])
  })

  it('is assumed for all members of a device with unknown controls', () => {
    const status = decodeStatusReply({
      Devices: [
        { ref: 1, name: 'Front', relationship: 2, associated_devices: [2, 3] },
        { ref: 2, name: 'Motor', relationship: 4, associated_devices: [1] },
        { ref: 3, name: 'Button', relationship: 4, associated_devices: [1] },
        { ref: 4, name: 'Lamp', relationship: 3 },
      ],
    })
    const known = new Map([1, 3, 4].map((ref) => [ref, []]))
    const catalog = buildHomeseerDeviceCatalog(status.ok ? status.value.devices : [], known)
    expect(catalog.devices.map((device) => device.sensitivity)).toEqual([
      ['relative'],
      ['controls-unknown'],
      ['relative'],
      [],
    ])
    expect(listRefsSharingPhysicalDevice(catalog, [3, 4, 9])).toEqual([1, 2, 3, 4])
    expect(listRefsSharingPhysicalDevice(catalog, [4])).toEqual([4])
  })

  it('is shared by all members of one physical device', () => {
    const catalog = catalogOf(
      { ref: 1, name: 'Front', relationship: 2, associated_devices: [2, 3], misc: 0x400 },
      {
        ref: 2,
        name: 'Bolt',
        relationship: 4,
        associated_devices: [1],
        ControlPairs: [{ Label: 'x', ControlUse: 18 }],
      },
      { ref: 3, name: 'Button', relationship: 4, associated_devices: [1], ControlPairs: SWITCH },
      { ref: 4, name: 'Lamp', relationship: 3, ControlPairs: SWITCH },
    )
    expect(catalog.devices.map((device) => device.sensitivity)).toEqual([['voice-confirm'], ['lock'], ['relative'], []])
  })
})

describe('HomeSeer event', () => {
  const event = (name: string) => ({ id: 1, group: 'G', name, voiceCommand: '', voiceEnabled: false, raw: {} })

  it('is found by id, or by group and name ignoring case', () => {
    const events = [event('A'), { ...event('B'), id: 2 }, { ...event('b '), id: 3 }]
    expect(findEventsByIdOrName(events, { id: 2 }).map((one) => one.name)).toEqual(['B'])
    expect(findEventsByIdOrName(events, { group: 'g', name: 'b' }).map((one) => one.id)).toEqual([2, 3])
  })

  it('has a distinct paging number in every list, with or without an id', () => {
    const [first, second, third] = [
      { ...event('A'), id: undefined },
      { ...event('B'), id: 0 },
      { ...event('C'), id: undefined },
    ]
    expect([...assignEventPagingNumbers([first, second, third]).values()]).toEqual([-2, 0, -1])
  })
})
