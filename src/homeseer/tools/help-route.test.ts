import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { DELEGATING_CHANGE_STEPS, defineChange, defineTool } from '../../bus/capability-definition.ts'
import { ok } from '../../core/result.ts'
import { buildHomeseerDeviceCatalog } from '../catalog/device-catalog-and-event-consequences.ts'
import { buildNameResolver } from '../resolve/name-resolver.ts'
import { decodeStatusReply } from '../wire/device.ts'
import { homeseerFamilyEnvelope } from './homeseer-envelope.ts'
import { BASE_GUARD_ARGUMENT_SCHEMAS } from './homeseer-change.ts'
import { rankHelpRoutes } from './help-route.ts'

const button = (Ref: number, CCIndex: number, Label: string, ControlValue: number, ControlUse: number) => ({
  Ref,
  CCIndex,
  Label,
  ControlValue,
  ControlUse,
  ControlType: 5,
})
const status = decodeStatusReply({
  Devices: [
    { ref: 1, name: 'Desk Lamp', ControlPairs: [button(1, 0, 'Off', 0, 2), button(1, 1, 'On', 255, 1)] },
    { ref: 2, name: 'Front Lock', ControlPairs: [button(2, 0, 'Unlock', 0, 19), button(2, 1, 'Lock', 255, 18)] },
  ],
})
const catalog = buildHomeseerDeviceCatalog(status.ok ? status.value.devices : [], new Map())
const event = { id: 9, group: 'Evening', name: 'Film', voiceCommand: '', voiceEnabled: false, raw: {} }
const camera = { camId: 4, name: 'Drive', supportsPanTilt: true, raw: {} }
const resolver = buildNameResolver({ devices: catalog, events: [event], cameras: [camera], aliases: [] })

const common = { family: homeseerFamilyEnvelope, description: '', output: z.looseObject({}) } as const
const answered = async () => ok({ data: {} })
const offers = [
  defineChange({
    ...common,
    name: 'hs4.admin.plugins.restart',
    title: 'Restart a plug-in',
    input: z.strictObject({
      pluginId: z.string(),
      changeTicket: z.string().exactOptional(),
      ...BASE_GUARD_ARGUMENT_SCHEMAS,
    }),
    effect: 'admin',
    ...DELEGATING_CHANGE_STEPS,
    act: answered,
  }).offer,
  defineChange({
    ...common,
    name: 'hs4.admin.cameras.recording.set',
    title: 'Switch recording',
    input: z.strictObject({
      camId: z.int(),
      enabled: z.boolean(),
      profile: z.enum(['low', 'high']),
      ...BASE_GUARD_ARGUMENT_SCHEMAS,
    }),
    effect: 'admin',
    ...DELEGATING_CHANGE_STEPS,
    act: answered,
  }).offer,
  defineTool({
    ...common,
    name: 'hs4.events.get',
    title: 'Get an event',
    input: z.strictObject({ id: z.int().exactOptional(), group: z.string().exactOptional() }),
    effect: 'reads',
  }).handledBy(answered).offer,
  defineTool({
    ...common,
    name: 'hs4.resolve.devices',
    title: 'Find devices',
    input: z.strictObject({ query: z.string() }),
    effect: 'reads',
  }).handledBy(answered).offer,
]
const plugins = ['Hue', 'Hue Sync', 'Z-Wave']

const top = (goal: string, mode: 'read_only' | 'dry_run' | 'mutate' = 'mutate') =>
  rankHelpRoutes({ goal, mode, resolver, offers, plugins })[0]

describe('hs4.help.route', () => {
  it('fills in the device and the control that the goal names', () => {
    const route = top('switch the desk lamp on')
    expect(route?.route).toBe('device_control')
    expect(route?.steps.at(-1)).toMatchObject({
      tool: 'hs4.devices.set',
      argsTemplate: { ref: 1, label: 'On', confirm: true },
    })
  })

  it('distinguishes unlock from lock', () => {
    expect(top('unlock the front lock')?.steps.at(-1)?.argsTemplate).toMatchObject({ ref: 2, label: 'Unlock' })
  })

  it('plans in dry_run mode, and only reads in read_only mode', () => {
    const tools = (mode: 'read_only' | 'dry_run') => top('desk lamp on', mode)?.steps.map(({ tool }) => tool)
    expect(tools('dry_run')?.slice(-2)).toEqual(['hs4.devices.set', 'hs4.change.prepare'])
    expect(tools('read_only')).toEqual(['hs4.resolve.devices', 'hs4.devices.get'])
  })

  it('finds events and cameras by their names', () => {
    expect(top('run the film scene')?.steps.at(-1)).toMatchObject({ tool: 'hs4.events.run', argsTemplate: { id: 9 } })
    expect(top('a picture from the drive camera')?.steps.at(-1)).toEqual({
      tool: 'hs4.cameras.snapshot.get',
      argsTemplate: { camId: 4 },
    })
  })

  it('pans a camera, except in read_only mode', () => {
    const tools = (mode: 'read_only' | 'dry_run') => top('pan the drive camera left', mode)?.steps.slice(2)
    expect(tools('dry_run')?.[0]).toEqual({
      tool: 'hs4.cameras.pan',
      argsTemplate: { camId: 4, direction: 'leftstart', dryRun: true },
    })
    expect(tools('read_only')).toEqual([])
  })

  it('fills in known arguments of any tool, and leaves a placeholder for the rest', () => {
    expect(top('restart the plug-in Hue Sync', 'dry_run')?.steps[0]).toEqual({
      tool: 'hs4.admin.plugins.restart',
      argsTemplate: { pluginId: 'Hue Sync', maintenanceWindowId: '<string>', changeTicket: '<string>', dryRun: true },
    })
    const goal = 'hs4.admin.cameras.recording.set disable it'
    expect(
      rankHelpRoutes({ goal, mode: 'mutate', resolver, offers, plugins })[0]?.steps.at(-1)?.argsTemplate,
    ).toMatchObject({
      camId: 4,
      enabled: false,
      profile: '<low | high>',
      confirm: true,
    })
  })

  it('lists the arguments of a tool that the goal names, without resolving the tool’s name', () => {
    expect(top('use hs4.events.get')?.steps).toEqual([{ tool: 'hs4.events.get', argsTemplate: { id: '<integer>' } }])
    expect(top('use hs4.resolve.devices')?.steps[0]?.argsTemplate).toEqual({ query: '<string>' })
  })

  it('names no tool that changes anything in read_only mode', () => {
    const routes = rankHelpRoutes({ goal: 'restart the plug-in Hue', mode: 'read_only', resolver, offers, plugins })
    expect(routes.map(({ route }) => route)).toEqual(['clarification', 'generic_diagnostics'])
  })

  it('does not select a tool that shares only short words with the goal', () => {
    const routes = rankHelpRoutes({ goal: 'show a picture of a plug', mode: 'mutate', resolver, offers, plugins })
    expect(routes.map(({ route }) => route).filter((route) => route.startsWith('tool:'))).toEqual([])
  })

  it('lists all devices of a kind when the goal names no device', () => {
    for (const goal of ['which lights are on', 'check if any lights are on'])
      expect(top(goal, 'read_only')).toEqual({
        route: 'device_overview',
        confidence: 0.95,
        steps: [{ tool: 'hs4.devices.list', argsTemplate: { capability: 'light' } }],
      })
  })

  it('falls back to diagnostics', () => {
    expect(top('why is it so dark')?.route).toBe('generic_diagnostics')
  })

  it('does not split a surrogate pair when it cuts the goal', () => {
    const goal = `desk lamp on ${'x'.repeat(186)}😀`
    expect(top(goal)?.steps[0]?.argsTemplate).toEqual({ query: `desk lamp on ${'x'.repeat(186)}\ufffd`, limit: 5 })
  })
})
