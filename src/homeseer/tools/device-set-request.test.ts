import { describe, expect, it } from 'vitest'
import { buildHomeseerDeviceCatalog } from '../catalog/device-catalog-and-event-consequences.ts'
import { decodeStatusReply, decodeControlPairs } from '../wire/device.ts'
import { chooseDeviceSetMethod, findUnambiguousControl, type DeviceSetRequest } from './device-set-request.ts'

const PAIRS = [
  { Ref: 5, CCIndex: 0, Label: 'Off', ControlUse: 2, ControlValue: 0, ControlType: 5 },
  {
    Ref: 5,
    CCIndex: 1,
    Label: 'Dim (value)%',
    ControlUse: 3,
    ControlValue: 1,
    ControlType: 7,
    Range: { RangeStart: 1, RangeEnd: 98, RangeStatusDecimals: 0, RangeStatusPrefix: 'Dim ', RangeStatusSuffix: '%' },
  },
  { Ref: 5, CCIndex: 2, Label: 'On', ControlUse: 1, ControlValue: 99, ControlType: 5 },
]

const status = decodeStatusReply({ Devices: [{ ref: 5, name: 'Lamp', ControlPairs: PAIRS }] })
const device = status.ok ? buildHomeseerDeviceCatalog(status.value.devices, new Map()).byRef.get(5) : undefined
const pairs = decodeControlPairs({ ref: 5, ControlPairs: PAIRS }) ?? []

function path(request: DeviceSetRequest): unknown {
  if (device === undefined) throw new Error('no device')
  const chosen = chooseDeviceSetMethod(device, pairs, request)
  if (!chosen.ok) return chosen.fault.details?.['issues']
  const { value } = chosen
  return value.kind === 'store'
    ? ['store', value.value, value.text]
    : ['control', value.choice.value, value.autoSwitch !== undefined]
}

describe('hs4.devices.set request', () => {
  it.each<[DeviceSetRequest, unknown]>([
    [{ mode: 'control_value', value: 99 }, ['control', 99, false]],
    [{ mode: 'control_value', label: 'dim 40%' }, ['control', 40, false]],
    [{ mode: 'control_value', controlUse: 'dim', value: 7 }, ['control', 7, false]],
    [{ mode: 'control_value', statusText: 'On' }, ['control', 99, false]],
    [{ mode: 'set_status', value: 99 }, ['control', 99, true]],
    [{ mode: 'set_status', statusText: 'Off' }, ['control', 0, true]],
    [{ mode: 'set_status', value: 99, statusText: 'On' }, ['control', 99, true]],
    [{ mode: 'set_status', value: 0, statusText: 'On' }, ['store', 0, 'On']],
    [{ mode: 'set_status', value: 100 }, ['store', 100, undefined]],
    [{ mode: 'set_status', statusText: 'Sleeping' }, ['store', undefined, 'Sleeping']],
  ])('%j takes the path %j', (request, expected) => {
    expect(path(request)).toEqual(expected)
  })

  it.each<[DeviceSetRequest, string]>([
    [{ mode: 'control_value', value: 100 }, 'value'],
    [{ mode: 'control_value', value: 1.5 }, 'value'],
    [{ mode: 'control_value' }, 'value'],
    [{ mode: 'control_value', label: 'On', controlUse: 'On' }, 'value'],
    [{ mode: 'set_status', controlUse: 'On' }, 'mode'],
    [{ mode: 'set_status' }, 'value'],
  ])('%j is refused because of %s', (request, argument) => {
    expect(path(request)).toMatchObject([{ path: [argument] }])
  })

  it('chooses a control only if exactly one is meant', () => {
    expect(findUnambiguousControl(pairs, 99, undefined)?.value).toBe(99)
    expect(findUnambiguousControl(pairs, 99, 'Off')).toBeUndefined()
    expect(findUnambiguousControl([], 99, undefined)).toBeUndefined()
  })
})
