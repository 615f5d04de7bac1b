import { describe, expect, it } from 'vitest'
import type { HomeseerDeviceRecord } from '../../homeseer/wire/device.ts'
import { encodeSimulatedDevice, encodeSimulatedStatus } from './device-answer.ts'
import { parseQueryCaseInsensitively } from './query-parser.ts'

const KEYPAD: HomeseerDeviceRecord = {
  ref: 42,
  name: 'Side Gate - Button H',
  location: 'Living Room',
  location2: 'Main',
  value: 100,
  status: 'On',
  typeString: 'Dual-Band KeypadLinc Dimmer',
  lastChangeMs: 1_656_388_985_661,
  relationship: 4,
  hidden: false,
  associatedRefs: [173],
  deviceType: { api: 513, type: 0, subType: 0 },
  statusImage: '/images/HomeSeer/status/on.gif',
  userNote: '',
  userAccess: 'Any',
  voiceCommand: '',
  misc: 12_608,
  interfaceName: 'Insteon',
  controls: undefined,
}

describe('simulated HomeSeer device answer', () => {
  it('writes a device as an HS4 of 2022 does', () => {
    // A log line in marthoc/homeseer issue 72; JSON of the platform writes the slash of a date bare.
    expect(encodeSimulatedDevice(KEYPAD, { compress: false, zone: '-0400' })).toBe(
      '{"ref":42,"name":"Side Gate - Button H","location":"Living Room","location2":"Main","value":100.0,"status":"On",' +
        '"device_type_string":"Dual-Band KeypadLinc Dimmer","last_change":"/Date(1656388985661-0400)/","relationship":4,' +
        '"hide_from_view":false,"associated_devices":[173],"device_type":{"Device_API":513,' +
        '"Device_API_Description":"Undefined API=513","Device_Type":0,' +
        '"Device_Type_Description":"Undefined API 513, Type 0, SubType 0","Device_SubType":0,' +
        '"Device_SubType_Description":"Dual-Band KeypadLinc Dimmer"},"device_type_values":null,"UserNote":"",' +
        '"UserAccess":"Any","status_image":"/images/HomeSeer/status/on.gif","voice_command":"","misc":12608,' +
        '"interface_name":"Insteon"}',
    )
  })

  it('has the header of that HS4, and contains events only when everything is requested', () => {
    const form = { compress: false, zone: '-0400' }
    expect(encodeSimulatedStatus([], form)).toBe(
      '{"Name":"HomeSeer Devices","Version":"1.1","TempFormatF":false,"Devices":[]}',
    )
    expect(JSON.parse(encodeSimulatedStatus([], { ...form, events: [{ id: 1 }] }))).toMatchObject({
      Events: [{ id: 1 }],
    })
  })
})

describe('query of a HomeSeer request', () => {
  it('is parsed in the spellings that HomeSeer’s clients send', () => {
    // HomeSeer's Node-RED node, DJF3's Postman collection, URLSearchParams, encodeURIComponent.
    expect(parseQueryCaseInsensitively('label=Dim 20%').get('label')).toBe('Dim 20%')
    expect(parseQueryCaseInsensitively('ref=1&label=00%').get('label')).toBe('00%')
    expect(parseQueryCaseInsensitively('name=Movie+Night&GROUP=Evening').get('name')).toBe('Movie Night')
    expect(parseQueryCaseInsensitively('label=Dim%2020%25&x=a%2Bb').get('label')).toBe('Dim 20%')
    expect(parseQueryCaseInsensitively('x=a%2Bb').get('x')).toBe('a+b')
    expect(parseQueryCaseInsensitively('name=K%C3%BCche&name=Hall').get('name')).toBe('Küche')
    expect(parseQueryCaseInsensitively('name=Küche').get('name')).toBe('Küche')
  })
})
