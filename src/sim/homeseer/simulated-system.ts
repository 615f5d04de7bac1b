/**
 * Simulated system: everything of a HomeSeer that is not a device: users, automations, cameras, plug-ins, interfaces,
 * settings, and a list of what was done to it.
 *
 * Pure: plain data.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import type { CameraRecord } from '../../homeseer/wire/camera.ts'
import type { PluginRecord } from '../../homeseer/wire/plugin.ts'
import type { SimulatedTrigger } from './trigger.ts'

/** Rights are bits: guest 1, admin 2, local 4, normal 8. */
export interface SimulatedUser {
  readonly id: string
  readonly username: string
  readonly password: string
  readonly displayName: string
  readonly email: string
  readonly rights: number
  readonly enabled: boolean
}

export const USER_RIGHTS_CODES: Readonly<Record<string, number>> = { guest: 1, admin: 2, normal: 8 }

export interface SimulatedEvent {
  readonly id: number
  readonly group: string
  readonly name: string
  readonly voiceCommand: string
  readonly enabled: boolean
  readonly security: boolean
  /** Alternatives; within one, the first trigger starts the event and the others are conditions. */
  readonly triggers: readonly (readonly SimulatedTrigger[])[]
  readonly actions: readonly { readonly ref: number; readonly value: number; readonly label: string }[]
  /** Other events that it runs. */
  readonly runs: readonly number[]
  readonly script: string | undefined
  /** Further members of its record in the file, as other versions write them. */
  readonly members?: JsonObject
}

export interface SimulatedCamera extends CameraRecord {
  readonly streamUrl: string
  readonly profile: string
  readonly recording: { readonly enabled: boolean; readonly retentionDays: number }
  /** The position in blocks, which determines the picture. */
  readonly pan: { readonly x: number; readonly y: number }
}

export interface SimulatedPlugin extends PluginRecord {
  readonly enabled: boolean
  readonly restarts: number
}

export interface SimulatedHomeseerInterface {
  readonly id: string
  readonly type: string
  readonly name: string
  readonly settings: Json
  readonly restarts: number
}

/** One attempt to change something, whether it was permitted or not. */
export type AttemptedSimulatedChange =
  | {
      readonly kind: 'control' | 'store'
      readonly ref: number
      readonly value?: number
      readonly text?: string
      readonly done: boolean
    }
  | { readonly kind: 'property'; readonly ref: number; readonly property: string; readonly done: boolean }
  | { readonly kind: 'event'; readonly id: number; readonly done: boolean }
  | { readonly kind: 'script'; readonly command: string; readonly done: boolean }
  | { readonly kind: 'plugin-function'; readonly plugin: string; readonly functionName: string; readonly done: boolean }
  | { readonly kind: 'pan'; readonly camId: number; readonly direction: string; readonly done: boolean }
  | { readonly kind: 'speak'; readonly phrase: string; readonly done: boolean }
  | { readonly kind: 'backup'; readonly done: boolean }
  | { readonly kind: 'admin'; readonly op: string; readonly done: boolean }

export interface SimulatedHomeseerSystem {
  version: string
  /** The time zone in which times are written. */
  readonly zone: string
  /** Whether clients in the own subnet may connect without a login. */
  passwordRequired: boolean
  users: readonly SimulatedUser[]
  events: readonly SimulatedEvent[]
  readonly groupRefs: Map<string, number>
  cameras: readonly SimulatedCamera[]
  plugins: readonly SimulatedPlugin[]
  interfaces: readonly SimulatedHomeseerInterface[]
  categories: readonly { readonly category: string; readonly rooms: readonly string[] }[]
  readonly settings: Map<string, string | number | boolean>
  readonly counters: Map<string, number>
  backups: readonly { readonly id: string; readonly label: string; readonly madeMs: number }[]
  /** Scripts the runscript page finds. */
  readonly scripts: Set<string>
  /** The key with which the adapter on this HomeSeer requires signatures; `undefined`: none. */
  adapterKey: string | undefined
  running: 'running' | 'restarting' | 'shut down'
  readonly deeds: AttemptedSimulatedChange[]
}

/** Large enough for a load test to read its changes, and small enough for a demo that runs for a week. */
const MAX_DEEDS = 10_000

/** Returns `done`, so that it can be called where the outcome is used. */
export function recordSimulatedChangeAttempt(system: SimulatedHomeseerSystem, deed: AttemptedSimulatedChange): boolean {
  if (system.deeds.length >= MAX_DEEDS) system.deeds.shift()
  system.deeds.push(deed)
  return deed.done
}

/** As after the factory setup and some configuration by its owner. */
export function createSimulatedHomeseerSystem(
  events: readonly SimulatedEvent[] = createDemoEvents(),
): SimulatedHomeseerSystem {
  const groups = [...new Set(events.map((event) => event.group))]
  return {
    version: '4.2.22.4',
    zone: '+0100',
    passwordRequired: true,
    users: demoUsers(),
    events,
    groupRefs: new Map(groups.map((group, index) => [group, 880_011_223 + index])),
    cameras: demoCameras(),
    plugins: demoPlugins(),
    interfaces: [
      { id: 'zwave-1', type: 'Z-Wave', name: 'SmartStick+', settings: { port: '/dev/ttyACM0' }, restarts: 0 },
      { id: 'hue-1', type: 'Hue', name: 'Hue Bridge', settings: { address: '192.0.2.7' }, restarts: 0 },
    ],
    categories: [
      { category: 'Hall', rooms: ['Ground'] },
      { category: 'Garden', rooms: ['Outside'] },
    ],
    settings: new Map<string, string | number | boolean>([
      ['gLocLabel', 'Room'],
      ['gLocLabel2', 'Floor'],
      ['gNoPW192', false],
    ]),
    counters: new Map([['doorbell', 4]]),
    backups: [{ id: 'backup-1', label: 'Sunday', madeMs: Date.UTC(2026, 0, 4) }],
    scripts: new Set(['evening.vb', 'announce.vb']),
    adapterKey: undefined,
    running: 'running',
    deeds: [],
  }
}

/** An event that does nothing, and what is said of it beside. */
export function createSimulatedEvent(
  event: Partial<SimulatedEvent> & Pick<SimulatedEvent, 'id' | 'group' | 'name'>,
): SimulatedEvent {
  return {
    voiceCommand: '',
    enabled: true,
    security: false,
    triggers: [],
    actions: [],
    runs: [],
    script: undefined,
    ...event,
  }
}

/** The factory login, a member of the family, one whose heater nobody else may touch, and a guest. */
function demoUsers(): readonly SimulatedUser[] {
  const user = (username: string, password: string, rights: number) => ({
    id: username,
    username,
    password,
    displayName: username,
    email: `${username}@example.test`,
    rights,
    enabled: true,
  })
  return [
    user('default', 'default', 2),
    user('resident', 'r3s!dent', 8),
    user('anna', 'anna,pw', 8),
    user('guest', 'guest', 1),
  ]
}

/**
 * Cases 19 and 20: a group named like a device, an event named like a device, one name in two groups; a script, a
 * security flag, an event that is switched off.
 */
export function createDemoEvents(): readonly SimulatedEvent[] {
  const event = (id: number, group: string, name: string, more: Partial<SimulatedEvent> = {}) =>
    createSimulatedEvent({ id, group, name, ...more })
  return [
    event(31, 'Evening', 'Dim Ground Floor', {
      voiceCommand: 'dim downstairs',
      triggers: [[{ ref: 170, kind: 'equals', value: 0 }]],
      actions: [
        { ref: 101, value: 20, label: 'Dim 20%' },
        { ref: 131, value: 20, label: 'Dim 20%' },
      ],
    }),
    event(32, 'Evening', 'Movie Night', { actions: [{ ref: 101, value: 0, label: 'Off' }] }),
    event(33, 'Weekend', 'Movie Night', { actions: [{ ref: 131, value: 10, label: 'Dim 10%' }] }),
    event(34, 'Evening', 'Announce Dinner', { script: 'announce.vb' }),
    event(35, 'Security', 'Open Up', { security: true, actions: [{ ref: 141, value: 0, label: 'Unlock' }] }),
    event(36, 'Weekend', 'Sleep In', { enabled: false, actions: [{ ref: 120, value: 0, label: 'Off' }] }),
  ]
}

/** Case 21: one camera that turns and one that does not. */
function demoCameras(): readonly SimulatedCamera[] {
  const camera = (camId: number, name: string, supportsPanTilt: boolean) => ({
    camId,
    name,
    supportsPanTilt,
    streamUrl: `rtsp://192.0.2.${camId}/stream`,
    profile: 'main',
    recording: { enabled: false, retentionDays: 7 },
    pan: { x: 0, y: 0 },
  })
  return [camera(1, 'Driveway', true), camera(2, 'Front Door Camera', false)]
}

/** Case 22: an update that waits, and one plug-in running twice. */
function demoPlugins(): readonly SimulatedPlugin[] {
  const plugin = (id: string, version: string, more: Partial<SimulatedPlugin> = {}) => ({
    id,
    name: id,
    version,
    updateAvailable: false,
    instance: '',
    enabled: true,
    restarts: 0,
    ...more,
  })
  return [
    plugin('Z-Wave', '4.1.2.0', { updateAvailable: true }),
    plugin('Hue', '1.0.9.0', { instance: 'upstairs' }),
    plugin('Hue', '1.0.9.0', { instance: 'downstairs' }),
    plugin('EasyTrigger', '4.0.0.21'),
  ]
}
