import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../core/json.ts'
import { decodeStatusReply } from './device.ts'

const HALL_LAMP = {
  ref: 412,
  name: 'Hall Lamp Level',
  location: 'Hall',
  location2: 'Ground',
  value: 35,
  status: 'Dim 35%',
  device_type_string: 'Z-Wave Switch Multilevel',
  last_change: '/Date(1767225600000+0100)/',
  relationship: 4,
  hide_from_view: false,
  associated_devices: [410],
  device_type: {
    Device_API: 513,
    Device_API_Description: '',
    Device_Type: 0,
    Device_Type_Description: '',
    Device_SubType: 38,
    Device_SubType_Description: '',
  },
  device_type_values: null,
  UserNote: '',
  UserAccess: 'Any',
  status_image: '/images/HomeSeer/status/dim-30.gif',
  voice_command: 'hall lamp',
  misc: 24_576,
  interface_name: 'Z-Wave',
}

const reply = (...devices: readonly Json[]): Json => ({ Name: 'HomeSeer Devices', Version: '1.1', Devices: devices })

function onlyDevice(value: Json) {
  const status = decodeStatusReply(value)
  if (!status.ok) throw new Error(status.fault.detail)
  const [device] = status.value.devices
  if (device === undefined) throw new Error('no device')
  return device
}

describe('device record', () => {
  it('is decoded with all its fields', () => {
    expect(onlyDevice(reply(HALL_LAMP))).toMatchObject({
      ref: 412,
      name: 'Hall Lamp Level',
      value: 35,
      status: 'Dim 35%',
      lastChangeMs: 1_767_225_600_000,
      relationship: 4,
      associatedRefs: [410],
      deviceType: { api: 513, type: 0, subType: 38 },
      misc: 0x6000,
      interfaceName: 'Z-Wave',
      controls: undefined,
      raw: HALL_LAMP,
    })
  })

  it('is decoded in the spelling of older simulators', () => {
    const odd = { Ref: '7', Name: 'Lamp', Last_Change: '/Date(1410193983884)/', Interface_Name: 'Z-Wave' }
    expect(onlyDevice(reply(odd))).toMatchObject({ ref: 7, lastChangeMs: 1_410_193_983_884, interfaceName: 'Z-Wave' })
  })

  it('has name, location, type and status cut to a limit', () => {
    const long = 'Lamp '.repeat(400_000)
    const { name, location, location2, typeString, status } = onlyDevice(
      reply({ ref: 1, name: long, location: long, location2: long, device_type_string: long, status: long }),
    )
    expect([name, location, location2, typeString, status].map(({ length }) => length)).toEqual([
      512, 512, 512, 512, 4_096,
    ])
    expect(name.slice(-6)).toBe('amp L…')
  })

  it('without a usable ref is skipped and counted', () => {
    const status = decodeStatusReply(reply({ name: 'no ref' }, { ref: -1 }, { ref: 1.5 }, { ref: 3 }, null))
    expect(status).toMatchObject({ ok: true, value: { devices: [{ ref: 3 }], skipped: 3 } })
  })

  it('is refused in a reply without a list of devices', () => {
    expect(decodeStatusReply({ Response: 'x' })).toMatchObject({ ok: false, fault: { kind: 'malformed' } })
    expect(decodeStatusReply(null)).toMatchObject({ ok: false })
  })

  it('never makes the decoder throw', () => {
    const hostile = fc.dictionary(
      fc.constantFrom('ref', 'name', 'value', 'device_type', 'ControlPairs', 'associated_devices', 'last_change'),
      fc.jsonValue() as fc.Arbitrary<Json>,
    )
    fc.assert(
      fc.property(hostile, (device) => {
        expect(decodeStatusReply(reply(device)).ok).toBe(true)
      }),
    )
  })
})
