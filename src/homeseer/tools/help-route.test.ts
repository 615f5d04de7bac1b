import { describe, expect, it } from 'vitest'
import { buildHouse } from '../catalog/house.ts'
import { buildResolver } from '../resolve/resolve.ts'
import { decodeStatus } from '../wire/device.ts'
import { helpRoutes } from './help-route.ts'

const button = (Ref: number, CCIndex: number, Label: string, ControlValue: number, ControlUse: number) => ({
  Ref,
  CCIndex,
  Label,
  ControlValue,
  ControlUse,
  ControlType: 5,
})
const status = decodeStatus({
  Devices: [
    { ref: 1, name: 'Desk Lamp', ControlPairs: [button(1, 0, 'Off', 0, 2), button(1, 1, 'On', 255, 1)] },
    { ref: 2, name: 'Front Lock', ControlPairs: [button(2, 0, 'Unlock', 0, 19), button(2, 1, 'Lock', 255, 18)] },
  ],
})
const house = buildHouse(status.ok ? status.value.devices : [], new Map())
const event = { id: 9, group: 'Evening', name: 'Film', voiceCommand: '', voiceEnabled: false, raw: {} }
const camera = { camId: 4, name: 'Drive', supportsPanTilt: true, raw: {} }
const resolver = buildResolver({ house, events: [event], cameras: [camera], aliases: [] })

const top = (goal: string, mode: 'read_only' | 'dry_run' | 'mutate' = 'mutate') =>
  helpRoutes({ goal, mode, resolver, offers: [] })[0]

describe('help route', () => {
  it('fills in the device and the control that the words ask for', () => {
    const route = top('switch the desk lamp on')
    expect(route?.route).toBe('device_control')
    expect(route?.steps.at(-1)).toMatchObject({
      tool: 'hs4.devices.set',
      argsTemplate: { ref: 1, label: 'On', confirm: true },
    })
  })

  it('does not take unlock for lock', () => {
    expect(top('unlock the front lock')?.steps.at(-1)?.argsTemplate).toMatchObject({ ref: 2, label: 'Unlock' })
  })

  it('plans by default and only reads when told to', () => {
    const tools = (mode: 'read_only' | 'dry_run') => top('desk lamp on', mode)?.steps.map(({ tool }) => tool)
    expect(tools('dry_run')?.slice(-2)).toEqual(['hs4.devices.set', 'hs4.change.prepare'])
    expect(tools('read_only')).toEqual(['hs4.resolve.devices', 'hs4.devices.get'])
  })

  it('knows events and cameras by their names', () => {
    expect(top('run the film scene')?.steps.at(-1)).toMatchObject({ tool: 'hs4.events.run', argsTemplate: { id: 9 } })
    expect(top('a picture from the drive camera')?.steps.at(-1)).toEqual({
      tool: 'hs4.cameras.snapshot.get',
      argsTemplate: { camId: 4 },
    })
  })

  it('falls back to finding out what is wrong', () => {
    expect(top('why is it so dark')?.route).toBe('generic_diagnostics')
  })
})
