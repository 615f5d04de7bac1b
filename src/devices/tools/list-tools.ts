/**
 * List tools: who is there, what they can do, and what happened.
 *
 *   devices.list · devices.get · devices.tools.list · devices.events.list
 *
 * Pure, given the house.
 */
import { z } from 'zod'
import type { Caller } from '../../bus/call.ts'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/tool.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import { withheldDigest } from './definition.ts'
import { devicesFamily } from './envelope.ts'
import type { OpenHouse, ToolParts } from './open-house.ts'
import { findDevice, inHouse, unknownDevice } from './open-house.ts'
import type { RosterDevice } from './roster.ts'
import { targetOf } from './slug.ts'
import { seesDevice, seesUserTools } from './standing.ts'
import { visibleText } from './stranger-text.ts'
import { shownSchema } from './tool-schema.ts'

export const deviceArgument = z
  .string()
  .min(1)
  .max(64)
  .describe('The device: its short name as devices.list gives it, or its MAC address.')

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

const common = { family: devicesFamily, effect: 'reads' } as const

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
  description: 'Tells everything known about one device, also what its last listing complained about.',
  input: z.strictObject({ device: deviceArgument }),
  output: deviceView.extend({
    address: z.string().nullable(),
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
  input: z.strictObject({ device: deviceArgument }),
  output: z.object({
    device: z.string(),
    online: z.boolean(),
    tools: z.array(
      z.object({
        tool: z.string().describe('What the device calls it.'),
        capability: z.string().describe('What it is called here.'),
        description: z.string(),
        effect: z.string(),
        user_only: z.boolean(),
        input_schema: z.record(z.string(), z.json()),
      }),
    ),
    withheld: z.array(
      z.object({
        tool: z.string(),
        reason: z.enum(['new', 'changed']),
        description: z.string(),
        input_schema: z.record(z.string(), z.json()),
        was: z
          .object({ description: z.string(), input_schema: z.record(z.string(), z.json()), user_only: z.boolean() })
          .nullable(),
        user_only: z.boolean(),
      }),
    ),
    digest: z.string().nullable().describe('Names what is withheld, for whoever approves it.'),
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
    device: deviceArgument.exactOptional(),
    after: z.int().min(0).default(0).describe('Only events with a higher number.'),
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

export function listTools(parts: ToolParts): readonly Capability[] {
  return [
    devicesList.handledBy(({ online, limit, after = '' }, { caller }) =>
      inHouse(parts, (house) => {
        const all = house.roster
          .devices()
          .filter(({ slug }) => seesDevice(caller, targetOf(slug)))
          .filter((device) => online === undefined || isOnline(house, device) === online)
          .toSorted((left, right) => (left.slug < right.slug ? -1 : 1))
        const page = all.filter(({ slug }) => slug > after).slice(0, limit)
        const last = page.at(-1)?.slug
        const next = last !== undefined && last !== all.at(-1)?.slug ? last : null
        return ok({ data: { devices: page.map((device) => deviceJson(house, device)), total: all.length, next } })
      }),
    ),
    devicesGet.handledBy(({ device: name }, { caller }) =>
      inHouse(parts, (house) => {
        const device = findDevice(house, name, caller)
        return device === undefined ? fail(unknownDevice(name)) : ok({ data: fullJson(house, device) })
      }),
    ),
    toolsList.handledBy(({ device: name }, { caller }) =>
      inHouse(parts, (house) => {
        const device = findDevice(house, name, caller)
        return device === undefined ? fail(unknownDevice(name)) : ok({ data: toolsJson(house, device, caller) })
      }),
    ),
    eventsList.handledBy(({ device: name, after, limit }, { caller }) =>
      inHouse(parts, (house) => {
        const only = name === undefined ? undefined : findDevice(house, name, caller)
        if (name !== undefined && only === undefined) return fail(unknownDevice(name))
        return ok({ data: eventsJson(house, { caller, after, limit, only: only?.enrolled.deviceId }) })
      }),
    ),
  ]
}

function isOnline({ gateway }: OpenHouse, { enrolled }: RosterDevice): boolean {
  return gateway.fleet.device(enrolled.deviceId)?.online ?? false
}

export function deviceJson({ gateway }: OpenHouse, device: RosterDevice): JsonObject {
  const { slug, enrolled, tools, withheld } = device
  const view = gateway.fleet.device(enrolled.deviceId)
  return {
    device: slug,
    id: enrolled.deviceId,
    name: visibleText(enrolled.name, 64),
    online: view?.online ?? false,
    phase: view?.phase ?? 'asleep',
    transport: enrolled.transport,
    board: visibleText(view?.info?.name ?? enrolled.board, 64),
    firmware: visibleText(view?.info?.version ?? enrolled.firmware, 64),
    tools: tools.length,
    withheld: withheld.length,
    queued: view?.queued ?? 0,
    last_seen: isoTime(view?.lastSeenMs),
  }
}

function fullJson(house: OpenHouse, device: RosterDevice): JsonObject {
  const view = house.gateway.fleet.device(device.enrolled.deviceId)
  return {
    ...deviceJson(house, device),
    address: view?.remoteAddress ?? null,
    enrolled_at: isoTime(device.enrolled.approvedAtMs),
    warnings: [...(view?.warnings ?? []), ...device.problems].map((warning) => visibleText(warning, 200)),
  }
}

function toolsJson(house: OpenHouse, device: RosterDevice, caller: Caller): JsonObject {
  const { slug, withheld, problems } = device
  const seesAll = seesUserTools(caller, targetOf(slug))
  return {
    device: slug,
    online: isOnline(house, device),
    tools: device.tools
      .filter(({ forPeople }) => seesAll || !forPeople)
      .map(({ tool, capability, effect }) => ({
        tool: visibleText(tool.name, 256),
        capability,
        effect,
        ...definitionJson(tool),
      })),
    withheld: withheld
      .filter(({ tool }) => seesAll || !tool.userOnly)
      .map(({ tool, pinned }) => ({
        tool: visibleText(tool.name, 256),
        reason: pinned === undefined ? 'new' : 'changed',
        ...definitionJson(tool),
        was: pinned === undefined ? null : definitionJson(pinned),
      })),
    digest: withheldDigest(withheld) ?? null,
    problems: problems.map((problem) => visibleText(problem, 200)),
  }
}

function definitionJson(tool: { description: string; inputSchema: JsonObject; userOnly: boolean }): JsonObject {
  return {
    description: visibleText(tool.description, 1_024),
    input_schema: (shownSchema(tool.inputSchema) ?? {}) as Json,
    user_only: tool.userOnly,
  }
}

interface EventQuery {
  readonly caller: Caller
  readonly after: number
  readonly limit: number
  readonly only: string | undefined
}

function eventsJson({ roster, events }: OpenHouse, { caller, after, limit, only }: EventQuery): JsonObject {
  const slugs = new Map(
    roster
      .devices()
      .filter(({ slug, enrolled }) =>
        only === undefined ? seesDevice(caller, targetOf(slug)) : enrolled.deviceId === only,
      )
      .map(({ slug, enrolled }) => [enrolled.deviceId, slug]),
  )
  const listed = events.list({ after, isWanted: (device) => slugs.has(device) }).slice(0, limit)
  return {
    events: listed.map(({ seq, atMs, device, kind, details }) => ({
      seq,
      at: isoTime(atMs),
      device: slugs.get(device) ?? device,
      kind,
      details,
    })),
    last_seq: events.lastSeq,
  }
}

export function isoTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}
