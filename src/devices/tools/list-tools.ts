/**
 * List tools: list devices, their tools and their events.
 *
 *   devices.list · devices.get · devices.tools.list · devices.events.list
 *
 * Pure, given the running devices service.
 */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import { fail, ok } from '../../core/result.ts'
import {
  toDeviceSummaryJson,
  toDeviceEventsJson,
  toDeviceDetailJson,
  isDeviceOnline,
  toDeviceToolsJson,
} from './device-view.ts'
import { devicesFamilyEnvelope } from './devices-envelope.ts'
import type { RunningDevicesAccess } from './running-devices-service.ts'
import {
  findVisibleDevice,
  withRunningDevicesService,
  withVisibleDevice,
  createUnknownDeviceFault,
} from './running-devices-service.ts'
import { formatDeviceTarget } from './device-slug.ts'
import { maySeeDevice } from './visibility.ts'

export const deviceArgumentSchema = z
  .string()
  .min(1)
  .max(64)
  .describe('The device: its short name from devices.list, its MAC address, or its name.')

const deviceView = z.object({
  device: z.string().describe('Its short name: the middle of `device.<name>.<tool>`.'),
  id: z.string().describe('MAC address.'),
  name: z.string(),
  online: z.boolean(),
  phase: z.string().describe('asleep, greeting, initialising, listing or ready.'),
  transport: z.string(),
  board: z.string(),
  firmware: z.string(),
  tools: z.int().describe('How many it offers.'),
  withheld: z.int().describe('How many are new or changed and wait for a person.'),
  queued: z.int().describe('Calls that wait for it.'),
  last_seen: z.string().nullable(),
})

const voiceView = z.object({
  mode: z.enum(['none', 'relay']),
  state: z.enum(['idle', 'dialling', 'open', 'absent']).optional().describe('Of the way to the voice backend.'),
  activation_code: z.string().optional().describe('What the voice backend wants to be typed in at its own console.'),
})

const definitionView = z.object({
  description: z.string(),
  input_schema: z.record(z.string(), z.json()),
  user_only: z.boolean(),
})

const common = { family: devicesFamilyEnvelope, effect: 'reads' } as const

const devicesList = defineTool({
  ...common,
  name: 'devices.list',
  title: 'Devices',
  description:
    'Lists the ESP32 devices of this house: which are online, which are asleep, and how many tools each offers. A device that is asleep cannot be called until somebody wakes it, unless it connects over MQTT.',
  input: z.strictObject({
    online: z.boolean().exactOptional().describe('Only those that are, or are not, online.'),
    limit: z.int().min(1).max(500).default(100),
    after: z.string().max(64).exactOptional().describe('Begin after this short name: `next` of the page before.'),
  }),
  output: z.object({ devices: z.array(deviceView), total: z.int(), next: z.string().nullable() }),
})

const devicesGet = defineTool({
  ...common,
  name: 'devices.get',
  title: 'One device',
  description: 'Shows everything known about one device, including the problems of its last tool listing.',
  input: z.strictObject({ device: deviceArgumentSchema }),
  output: deviceView.extend({
    address: z.string().nullable(),
    voice: voiceView,
    enrolled_at: z.string(),
    warnings: z.array(z.string()),
  }),
})

const toolsList = defineTool({
  ...common,
  name: 'devices.tools.list',
  title: 'Tools of a device',
  description:
    'Lists what a device can do, with arguments and effect, and what of it is withheld because its description is new or has changed. Descriptions are the device’s own words.',
  input: z.strictObject({ device: deviceArgumentSchema }),
  output: z.object({
    device: z.string(),
    online: z.boolean(),
    tools: z.array(
      definitionView.extend({
        tool: z.string().describe('What the device calls it.'),
        capability: z.string().describe('What it is called here.'),
        effect: z.string(),
      }),
    ),
    withheld: z
      .array(
        z.object({
          tool: z.string(),
          reason: z.enum(['new', 'changed']),
          now: definitionView.optional(),
          was: definitionView.nullable().optional(),
        }),
      )
      .describe('Those that changed; an admin also sees the new ones, and what they say of themselves.'),
    digest: z.string().nullable().describe('Digest of what is withheld, for the person who approves it.'),
    voice: voiceView,
    problems: z.array(z.string()),
  }),
})

const eventsList = defineTool({
  ...common,
  name: 'devices.events.list',
  title: 'What devices said',
  description:
    'Lists what happened to devices lately, oldest first: coming and going, changed tools, and notifications that devices sent by themselves. Kept in memory, about a hundred for each device.',
  input: z.strictObject({
    device: deviceArgumentSchema.exactOptional(),
    after: z
      .int()
      .min(0)
      .exactOptional()
      .describe('Only events with a higher number, beginning there; without it the newest.'),
    limit: z.int().min(1).max(500).default(100),
  }),
  output: z.object({
    events: z.array(
      z.object({
        seq: z.int(),
        at: z.string(),
        device: z.string(),
        kind: z.string(),
        details: z.record(z.string(), z.json()),
      }),
    ),
    last_seq: z.int().describe('The newest event’s number, listed or not.'),
  }),
})

export function createDeviceListTools(parts: RunningDevicesAccess): readonly Capability[] {
  return [
    devicesList.handledBy(({ online, limit, after = '' }, { caller }) =>
      withRunningDevicesService(parts, (service) => {
        const all = service.roster
          .devices()
          .filter(({ slug }) => maySeeDevice(caller, formatDeviceTarget(slug)))
          .filter((device) => online === undefined || isDeviceOnline(service, device) === online)
          .toSorted((left, right) => (left.slug < right.slug ? -1 : 1))
        const page = all.filter(({ slug }) => slug > after).slice(0, limit)
        const last = page.at(-1)?.slug
        const next = last !== undefined && last !== all.at(-1)?.slug ? last : null
        return ok({
          data: { devices: page.map((device) => toDeviceSummaryJson(service, device)), total: all.length, next },
        })
      }),
    ),
    devicesGet.handledBy(({ device: name }, { caller }) =>
      withVisibleDevice(parts, { name, caller }, (service, device) =>
        ok({ data: toDeviceDetailJson(service, device) }),
      ),
    ),
    toolsList.handledBy(({ device: name }, { caller }) =>
      withVisibleDevice(parts, { name, caller }, (service, device) =>
        ok({ data: toDeviceToolsJson(service, device, caller) }),
      ),
    ),
    eventsList.handledBy(({ device: name, after, limit }, { caller }) =>
      withRunningDevicesService(parts, (service) => {
        const only = name === undefined ? undefined : findVisibleDevice(service, name, caller)
        if (name !== undefined && only === undefined) return fail(createUnknownDeviceFault(name))
        return ok({ data: toDeviceEventsJson(service, { caller, after, limit, only: only?.enrolled.deviceId }) })
      }),
    ),
  ]
}
