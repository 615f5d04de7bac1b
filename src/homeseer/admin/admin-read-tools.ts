/**
 * Admin read tools: list users, plug-ins, interfaces, settings, cameras and categories.
 *
 * All but one use HomeSeer's own requests. The list of users is only available from the adapter, and a request to the
 * adapter runs a script: it therefore passes the gates of administration and the owner's list of scripts.
 */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { defineChange, defineTool } from '../../bus/capability-definition.ts'
import type { Fault, PolicyReason } from '../../core/fault.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { hideSecretsInJson } from '../../guard/redaction.ts'
import { formatIsoTimeOrNull } from '../../toolbox/iso-time.ts'
import { groupDeviceRefsBy } from '../catalog/device-catalog-and-event-consequences.ts'
import type { HomeseerToolContext } from '../tools/homeseer-tool-context.ts'
import {
  createHomeseerOutcome,
  toHomeseerAnswerOrFault,
  homeseerFamilyEnvelope,
  HOMESEER_READ_DEFAULTS,
} from '../tools/homeseer-envelope.ts'
import { createHs4Fault, createHomeseerReadFault } from '../tools/faults.ts'
import { readHomeseerDeviceCatalog, readMirroredDevice } from '../tools/catalog-reader.ts'
import { describeHomeseerPolicy } from '../tools/policy-description.ts'
import { listHomeseerPolicyRefusals } from '../tools/change-policy.ts'
import { createVersionRequest } from '../wire/json-requests.ts'
import { ADMIN_ADAPTER_SCRIPT_FILE_NAME } from '../wire/admin-adapter.ts'
import { readFromAdminAdapter } from './admin-execute-client.ts'
import { createTolerantInputSchema } from '../tools/homeseer-change.ts'

/** A caller may pass the guard's arguments to a read; they are accepted and ignored. */
const SPARE = {
  ...Object.fromEntries(['confirm', 'dryRun'].map((name) => [name, z.boolean().exactOptional()])),
  ...Object.fromEntries(
    ['intent', 'reason', 'operationTier', 'domain', 'changeTicket', 'maintenanceWindowId', 'riskLevel'].map((name) => [
      name,
      z.string().exactOptional(),
    ]),
  ),
}

/** The last list of users, for the resource, which must not run code. */
/** Kept in memory only: it is a list of the people in the house, which should not be on the disk. */
export interface LastUserListCache {
  readonly last: () => { readonly users: readonly JsonObject[]; readonly atMs: number } | undefined
  readonly note: (users: readonly JsonObject[]) => void
}

export function createAdminReadTools(homeseer: HomeseerToolContext, seen: LastUserListCache): readonly Capability[] {
  return [
    usersList(homeseer, seen),
    read(homeseer, {
      name: 'hs4.admin.plugins.catalog.get',
      title: 'Plug-in catalogue',
      description: 'The installed plug-ins, their versions and instances.',
      data: readInstalledPlugins,
      raw: true,
    }),
    read(homeseer, {
      name: 'hs4.admin.interfaces.list',
      title: 'List interfaces',
      description: 'The interfaces that devices belong to, with their devices.',
      data: readHomeseerInterfaces,
      refs: true,
    }),
    diagnostics(homeseer),
    systemConfig(homeseer),
    read(homeseer, {
      name: 'hs4.admin.cameras.config.list',
      title: 'List camera configurations',
      description: 'The cameras as HomeSeer has them configured.',
      data: readCameraConfigs,
      raw: true,
    }),
    read(homeseer, {
      name: 'hs4.admin.config.categories.list',
      title: 'List categories',
      description: 'Rooms and floors as categories, with their devices.',
      data: categoryList,
      refs: true,
    }),
  ]
}

interface ReadTool {
  readonly name: string
  readonly title: string
  readonly description: string
  /** `more` is `includeRaw` or `includeRefs`, whichever the tool has. */
  readonly data: (homeseer: HomeseerToolContext, more: boolean) => Promise<Result<Json, Fault>>
  readonly raw?: boolean
  readonly refs?: boolean
}

function read(homeseer: HomeseerToolContext, { data, raw, refs, ...words }: ReadTool): Capability {
  return defineTool({
    ...HOMESEER_READ_DEFAULTS,
    ...words,
    input: createTolerantInputSchema({
      ...(raw === true ? { includeRaw: z.boolean().default(false) } : {}),
      ...(refs === true ? { includeRefs: z.boolean().default(true) } : {}),
      ...SPARE,
      // The shape depends on two flags, which the type of a Zod object cannot follow.
    }) as unknown as z.ZodType<JsonObject, unknown>,
    output: z.looseObject({}),
  }).handledBy(async (input) => {
    const more = raw === true ? input['includeRaw'] : input['includeRefs']
    return toHomeseerAnswerOrFault(await data(homeseer, more === true))
  })
}

function usersList(homeseer: HomeseerToolContext, seen: LastUserListCache): Capability {
  return defineChange({
    family: homeseerFamilyEnvelope,
    // It runs the adapter's script on HomeSeer's machine.
    effect: 'admin',
    idempotent: true,
    name: 'hs4.admin.users.list',
    title: 'List users',
    description:
      'Lists the users of HomeSeer, without passwords. HomeSeer shows them only to its own scripts, so this runs the admin adapter there and passes the gates of administration.',
    input: createTolerantInputSchema({
      includeDisabled: z.boolean().default(true),
      limit: z.int().min(1).max(5_000).default(200),
      ...SPARE,
    }),
    output: z.looseObject({ users: z.array(z.looseObject({})) }),
    plan: () => ok(undefined),
    assess: () => ({
      effect: 'admin',
      target: 'homeseer:users',
      label: 'Users of HomeSeer',
      reasons: codeReasons(homeseer),
    }),
    act: async (_plan, { includeDisabled, limit }, call) => {
      const data = await readFromAdminAdapter(homeseer, 'users.list', call.signal)
      if (!data.ok) return data
      // An adapter is a script that the owner may have edited, so items that are not records of users are left out, and
      // so are passwords.
      const all = listOf(hideSecretsInJson(data.value['users'] ?? [])).filter(isJsonObject)
      seen.note(all)
      const users = all.filter((user) => includeDisabled || user['enabled'] !== false)
      return createHomeseerOutcome({
        total: users.length,
        returned: Math.min(limit, users.length),
        users: users.slice(0, limit),
      })
    },
  })
}

function listOf(value: Json): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : []
}

/** A read through a script changes nothing but runs code, so all gates apply except those about changes. */
function codeReasons({ rules }: HomeseerToolContext): readonly PolicyReason[] {
  // Without confirm, intent and reason, ticket and window: these are about changes, and this call makes none.
  const about = new Set(['safe-mode', 'script-list', 'admin-enabled', 'admin-domain'])
  const confirmed = { confirm: true, intent: 'list users', reason: 'asked to', maintenanceWindowId: 'none' }
  return listHomeseerPolicyRefusals({ ...rules, defaultDryRun: false }, confirmed, {
    scriptId: ADMIN_ADAPTER_SCRIPT_FILE_NAME,
    domain: 'users',
  }).filter(({ rule }) => about.has(rule))
}

export async function readInstalledPlugins(
  { catalog }: HomeseerToolContext,
  includeRaw: boolean,
): Promise<Result<Json, Fault>> {
  const plugins = await catalog.plugins()
  if (!plugins.ok) return fail(createHomeseerReadFault(plugins.fault, 'reading the plug-ins'))
  const shown = plugins.value.map(({ raw, ...plugin }) => ({ ...plugin, ...(includeRaw ? { raw } : {}) }))
  return ok({ total: shown.length, plugins: shown })
}

/** HomeSeer has no list of interfaces, so those that devices name are listed. */
export async function readHomeseerInterfaces(
  homeseer: HomeseerToolContext,
  includeRefs: boolean,
): Promise<Result<Json, Fault>> {
  const deviceCatalog = await readHomeseerDeviceCatalog(homeseer)
  if (!deviceCatalog.ok) return deviceCatalog
  const groups = groupDeviceRefsBy(deviceCatalog.value, (device) => device.interfaceName)
  return ok({
    total: groups.length,
    interfaces: groups.map(({ name, refs }) => ({
      interfaceName: name,
      deviceCount: refs.length,
      ...(includeRefs ? { refs: [...refs] } : {}),
    })),
  })
}

export async function readCameraConfigs(
  { catalog }: HomeseerToolContext,
  includeRaw: boolean,
): Promise<Result<Json, Fault>> {
  const cameras = await catalog.cameras()
  if (!cameras.ok) return fail(createHomeseerReadFault(cameras.fault, 'reading the cameras'))
  return ok({
    total: cameras.value.length,
    cameras: cameras.value.map(({ raw, ...camera }) => ({ ...camera, ...(includeRaw ? { raw } : {}) })),
  })
}

async function categoryList(homeseer: HomeseerToolContext, includeRefs: boolean): Promise<Result<Json, Fault>> {
  const deviceCatalog = await readHomeseerDeviceCatalog(homeseer)
  if (!deviceCatalog.ok) return deviceCatalog
  // HomeSeer has no categories: its first location serves as the category, and its second as the room (contract 1.x).
  const rooms = (category: string): readonly string[] => [
    ...new Set(
      deviceCatalog.value.devices.filter(({ location }) => location === category).map(({ location2 }) => location2),
    ),
  ]
  const groups = groupDeviceRefsBy(deviceCatalog.value, (device) => device.location)
  return ok({
    total: groups.length,
    categories: groups.map(({ name, refs }) => ({
      category: name,
      rooms: [...rooms(name)],
      deviceCount: refs.length,
      ...(includeRefs ? { refs: [...refs] } : {}),
    })),
  })
}

function diagnostics(homeseer: HomeseerToolContext): Capability {
  return defineTool({
    ...HOMESEER_READ_DEFAULTS,
    name: 'hs4.admin.interfaces.diagnostics',
    title: 'Diagnose interfaces',
    description:
      'The devices of each interface: how many, when one last changed, which report nothing. Runs no code on HomeSeer.',
    input: createTolerantInputSchema({
      interfaceId: z.string().min(1).max(200).exactOptional().describe('Name of one interface.'),
      level: z.enum(['basic', 'full']).default('basic').describe('`full` names the devices.'),
      ...SPARE,
    }),
    output: z.looseObject({ interfaces: z.array(z.looseObject({})) }),
  }).handledBy(async ({ interfaceId, level }) => {
    const deviceCatalog = await readHomeseerDeviceCatalog(homeseer)
    if (!deviceCatalog.ok) return deviceCatalog
    const groups = groupDeviceRefsBy(deviceCatalog.value, (device) => device.interfaceName).filter(
      ({ name }) => interfaceId === undefined || name.toLowerCase() === interfaceId.toLowerCase(),
    )
    if (interfaceId !== undefined && groups.length === 0)
      return fail(
        createHs4Fault('NOT_FOUND', `No device belongs to an interface ${interfaceId}.`, {
          next: [{ name: 'hs4.admin.interfaces.list', args: { includeRefs: false } }],
        }),
      )
    return createHomeseerOutcome({
      level,
      interfaces: groups.map(({ name, refs }) => {
        const live = refs.map((ref) => ({ ref, live: readMirroredDevice(homeseer, ref)?.live }))
        // From the mirror, which may be seconds old; that is accurate enough for the time of the last report.
        const changes = live.map((one) => one.live?.lastChangeMs).filter((ms) => ms !== undefined)
        const silent = live.filter((one) => one.live?.lastChangeMs === undefined).map(({ ref }) => ref)
        return {
          interfaceName: name,
          deviceCount: refs.length,
          lastChange: formatIsoTimeOrNull(changes.length === 0 ? undefined : Math.max(...changes)),
          neverChanged: silent.length,
          ...(level === 'full' ? { refs: [...refs], neverChangedRefs: silent } : {}),
        }
      }),
    })
  })
}

/** The gates are those of this gateway; HomeSeer is only asked for its version. */
function systemConfig(homeseer: HomeseerToolContext): Capability {
  return defineTool({
    ...HOMESEER_READ_DEFAULTS,
    name: 'hs4.admin.system.config.get',
    title: 'Get the configuration',
    description: 'HomeSeer’s version, what is switched on for changing it, and a summary of its state.',
    input: createTolerantInputSchema({ includeStatusSummary: z.boolean().default(true), ...SPARE }),
    output: z.looseObject({ hs4Version: z.string(), policy: z.looseObject({}) }),
  }).handledBy(async ({ includeStatusSummary }, call) => {
    const version = await homeseer.link.json.call(createVersionRequest(), call.signal)
    if (!version.ok) return fail(createHomeseerReadFault(version.fault, 'asking for the version'))
    const deviceCatalog = includeStatusSummary ? await readHomeseerDeviceCatalog(homeseer) : undefined
    return createHomeseerOutcome({
      hs4Version: version.value,
      policy: describeHomeseerPolicy(homeseer),
      ...(deviceCatalog?.ok === true
        ? {
            statusSummary: {
              devices: deviceCatalog.value.devices.length,
              sensitive: deviceCatalog.value.devices.filter(({ sensitivity }) => sensitivity.length > 0).length,
              push: homeseer.link.mirror.pushUp ? 'up' : 'off',
            },
          }
        : {}),
    })
  })
}
