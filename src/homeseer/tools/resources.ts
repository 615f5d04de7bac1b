/**
 * Resources: the sixteen resources of the contract. Reading one is a call like any other: guarded, recorded, and
 * without code on HomeSeer's machine.
 *
 * Reads through the link.
 */
import { z } from 'zod'
import type { Call } from '../../bus/call.ts'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import type { Fault } from '../../core/fault.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { formatIsoTimeOrNull } from '../../toolbox/iso-time.ts'
import { DEVICE_CAPABILITIES } from '../catalog/device-capabilities.ts'
import { groupDeviceRefsBy } from '../catalog/device-catalog-and-event-consequences.ts'
import { toAliasProvenance, type Alias, type AliasTargetKind } from '../resolve/alias.ts'
import type { NameResolver } from '../resolve/name-resolver.ts'
import { createVersionRequest } from '../wire/json-requests.ts'
import { AGENT_CONTRACT_DOCUMENT } from './agent-contract.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { readDeviceStatusData } from './device-status-tool.ts'
import { toHomeseerAnswerOrFault, HOMESEER_READ_DEFAULTS } from './homeseer-envelope.ts'
import type { AuditAccessPredicate } from './homeseer-audit.ts'
import { toEventJson } from './event-read-tools.ts'
import { createHomeseerReadFault } from './faults.ts'
import {
  toUnknownControlsCountJson,
  readHomeseerDeviceCatalog,
  createDeviceViewWithLastCommand,
} from './catalog-reader.ts'
import { toTextOrEmpty } from './json-text.ts'
import { describeHomeseerPolicy } from './policy-description.ts'
import { readCurrentResolver, toResolverCoverageJson } from './resolve-tools.ts'
import { createTolerantInputSchema } from './homeseer-change.ts'

/** `path` is the part after `hs4://`. */
export interface HomeseerResourceDefinition {
  readonly path: string
  readonly title: string
  readonly description: string
  readonly read: (
    homeseer: HomeseerToolContext,
    call: Call,
    mayRead: AuditAccessPredicate,
  ) => Promise<Result<Json, Fault>>
}

/** The state of devices: announced whenever something changes. */
export const DEVICE_STATE_URIS = ['hs4://devices/status', 'hs4://devices/status/full', 'hs4://state/summary'] as const
/** What devices there are: announced when one comes, goes or is renamed. */
export const DEVICE_CATALOG_URIS = [
  'hs4://devices/catalog',
  'hs4://devices/catalog/full',
  'hs4://capabilities/matrix',
  'hs4://catalog/aliases',
  'hs4://admin/interfaces',
] as const

export function createHomeseerResource(
  homeseer: HomeseerToolContext,
  { path, title, description, read }: HomeseerResourceDefinition,
): Capability {
  const uri = `hs4://${path}`
  const tool = defineTool({
    ...HOMESEER_READ_DEFAULTS,
    // A resource is a capability under its own address, so that reading it takes the one way in like any call.
    name: uri,
    title,
    description,
    face: { kind: 'resource', uri, mimeType: 'application/json' },
    input: createTolerantInputSchema({}),
    output: z.looseObject({}),
  })
  return tool.handledBy(async (_, call) =>
    toHomeseerAnswerOrFault(
      await read(homeseer, call, (record) => homeseer.guard.mayRead(call.caller, record, tool.offer)),
    ),
  )
}

/** Eleven resources; the other five are about administration and are in admin/admin-resources.ts. */
export const HOMESEER_RESOURCES: readonly HomeseerResourceDefinition[] = [
  {
    path: 'devices/catalog',
    title: 'Devices',
    description: 'All devices with their present state.',
    read: (homeseer) => catalogJson(homeseer, false),
  },
  {
    path: 'devices/catalog/full',
    title: 'Devices, in full',
    description: 'All devices with control pairs and HomeSeer’s own fields. Large.',
    read: (homeseer) => catalogJson(homeseer, true),
  },
  {
    path: 'devices/status',
    title: 'Status',
    description: 'The state of all devices. Subscribers hear of every change.',
    read: (homeseer) => statusJson(homeseer, false),
  },
  {
    path: 'devices/status/full',
    title: 'Status, in full',
    description: 'The state of all devices with HomeSeer’s own fields. Large.',
    read: (homeseer) => statusJson(homeseer, true),
  },
  {
    path: 'events/catalog',
    title: 'Events',
    description: 'All events of HomeSeer.',
    read: async ({ catalog, clock }) => {
      const events = await catalog.events()
      if (!events.ok) return fail(createHomeseerReadFault(events.fault, 'reading the events'))
      return ok({
        generatedAt: formatIsoTimeOrNull(clock.now()),
        total: events.value.length,
        events: events.value.map(toEventJson),
      })
    },
  },
  {
    path: 'capabilities/matrix',
    title: 'Capabilities',
    description: 'Which devices can do or report what, by capability.',
    read: async (homeseer) => {
      const deviceCatalog = await readHomeseerDeviceCatalog(homeseer)
      if (!deviceCatalog.ok) return deviceCatalog
      const matrix = DEVICE_CAPABILITIES.map((capability) => {
        const able = deviceCatalog.value.devices.filter(({ capabilities }) => capabilities.includes(capability))
        return [capability, able.map(({ ref }) => ref)] as const
      })
      return ok({
        generatedAt: formatIsoTimeOrNull(homeseer.clock.now()),
        ...toUnknownControlsCountJson(deviceCatalog.value),
        matrix: Object.fromEntries(matrix.filter(([, refs]) => refs.length > 0)),
      })
    },
  },
  {
    path: 'audit/recent',
    title: 'Recent calls',
    description: 'The last 200 calls of the HomeSeer tools.',
    read: async ({ audit }, _call, mayRead) =>
      ok({ entries: [...(await audit.query({ limit: 200 }, mayRead)).entries] }),
  },
  {
    path: 'state/summary',
    title: 'Summary',
    description: 'The house in a few numbers, for a model with a small context.',
    read: (homeseer, _call, mayRead) => summaryJson(homeseer, mayRead),
  },
  {
    path: 'catalog/aliases',
    title: 'Names',
    description: 'Names that the owner wrote down, that people confirmed, and that follow from HomeSeer.',
    read: aliasesJson,
  },
  {
    path: 'agent/contract',
    title: 'Rules for agents',
    description: 'How to work with these tools safely.',
    read: async ({ clock }) => ok({ generatedAt: formatIsoTimeOrNull(clock.now()), ...AGENT_CONTRACT_DOCUMENT }),
  },
  {
    path: 'admin/audit/diff',
    title: 'Recent acts of administration',
    description: 'What acts of administration changed lately: before, after, difference.',
    read: async ({ audit }, _call, mayRead) => {
      const { entries } = await audit.query({ limit: 500 }, mayRead)
      const changes = entries.filter(
        (one) => toTextOrEmpty(one['tool']).startsWith('hs4.admin.') && one['diff'] !== undefined,
      )
      return ok({ entries: [...changes] })
    },
  },
]

/** Where the rest of a large house can be read: a resource must not fill a model's context. */
const MORE = 'hs4.devices.list pages over all devices (`cursor`).'

async function catalogJson(homeseer: HomeseerToolContext, full: boolean): Promise<Result<Json, Fault>> {
  const deviceCatalog = await readHomeseerDeviceCatalog(homeseer, full)
  if (!deviceCatalog.ok) return deviceCatalog
  const options = { includeControls: full, includeRaw: full }
  const { devices } = deviceCatalog.value
  const { maxDevices } = homeseer.config
  return ok({
    generatedAt: formatIsoTimeOrNull(homeseer.clock.now()),
    total: devices.length,
    truncated: devices.length > maxDevices,
    ...(devices.length > maxDevices ? { more: MORE } : {}),
    devices: devices.slice(0, maxDevices).map((device) => createDeviceViewWithLastCommand(homeseer, device, options)),
  })
}

async function statusJson(homeseer: HomeseerToolContext, full: boolean): Promise<Result<Json, Fault>> {
  return readDeviceStatusData(homeseer, {
    // The mirror answers the short variant, and HomeSeer the full one (spec 4, Resource behavior).
    compress: !full,
    everything: full,
    voiceonly: false,
    excludeevents: true,
    includeRaw: full,
    fresh: false,
  })
}

/** Spec 4: "optimized for low-token context loading". */
const TOP = 10
const RECENT = 50

async function summaryJson(homeseer: HomeseerToolContext, mayRead: AuditAccessPredicate): Promise<Result<Json, Fault>> {
  const { link, catalog, config, audit, clock } = homeseer
  // Each source may fail by itself: a summary without cameras is still useful, and `warnings` says what is missing.
  const [version, deviceCatalog, events, cameras] = await Promise.all([
    link.json.call(createVersionRequest()),
    readHomeseerDeviceCatalog(homeseer),
    catalog.events(),
    catalog.cameras(),
  ])
  const { entries: recent } = await audit.query({ limit: RECENT }, mayRead)
  const groups = deviceCatalog.ok
    ? (name: 'location' | 'interfaceName') => groupDeviceRefsBy(deviceCatalog.value, (one) => one[name])
    : () => []
  const top = (name: 'location' | 'interfaceName'): readonly JsonObject[] =>
    groups(name)
      .slice(0, TOP)
      // Counts instead of refs, which would be most of the text for a large house.
      .map((group) => ({ name: group.name, devices: group.refs.length }))
  const warnings = [
    ...(version.ok ? [] : [createHomeseerReadFault(version.fault, 'asking for the version').message]),
    ...(deviceCatalog.ok ? [] : [deviceCatalog.fault.message]),
    ...(events.ok ? [] : [createHomeseerReadFault(events.fault, 'reading the events').message]),
    ...(cameras.ok ? [] : [createHomeseerReadFault(cameras.fault, 'reading the cameras').message]),
  ]
  return ok({
    generatedAt: formatIsoTimeOrNull(clock.now()),
    hs4Version: version.ok ? version.value : null,
    safeMode: config.safeMode,
    policy: describeHomeseerPolicy(homeseer),
    totals: {
      devices: deviceCatalog.ok ? deviceCatalog.value.devices.length : null,
      events: events.ok ? events.value.length : null,
      cameras: cameras.ok ? cameras.value.length : null,
      categories: groups('location').length,
      interfaces: groups('interfaceName').length,
    },
    recentAudit: {
      entries: recent.length,
      errorOrBlockedCount: recent.filter(({ result }) => result === 'error' || result === 'blocked').length,
    },
    topCategories: [...top('location')],
    topInterfaces: [...top('interfaceName')],
    ...(warnings.length === 0 ? {} : { warnings }),
  })
}

/** Names that follow from HomeSeer's names are computed for this answer. */
async function aliasesJson(homeseer: HomeseerToolContext, call: Call): Promise<Result<Json, Fault>> {
  // With the caller's own names, but not those of other callers.
  const current = await readCurrentResolver(homeseer, call)
  if (!current.ok) return current
  const { resolver } = current.value
  const all = [...resolver.deviceNames.aliases, ...resolver.eventNames.aliases, ...resolver.cameraNames.aliases]
  // Configured and confirmed names come first; names that follow from HomeSeer can be found by searching.
  const isAssigned = ({ origin }: Alias): boolean => origin === 'configuration' || origin === 'confirmed'
  const assigned = all.filter(isAssigned)
  const derived = all.filter((alias) => !isAssigned(alias))
  const shown = [...assigned, ...derived].slice(
    0,
    Math.max(assigned.length, homeseer.config.maxDevices * NAMES_PER_DEVICE),
  )
  return ok({
    refresh: toResolverCoverageJson(current.value, homeseer),
    catalog: {
      generatedAt: formatIsoTimeOrNull(homeseer.clock.now()),
      total: all.length,
      truncated: shown.length < all.length,
      ...(shown.length < all.length ? { more: MORE_NAMES } : {}),
      entries: shown.map(({ kind, id, text, origin }) => ({
        key: `${kind}:${id}`,
        kind,
        targetId: id,
        canonicalName: canonicalName(resolver, kind, id),
        alias: text,
        provenance: toAliasProvenance(origin),
        origin,
      })),
    },
  })
}

const NAMES_PER_DEVICE = 4
const MORE_NAMES = 'hs4.resolve.devices, hs4.resolve.events and hs4.resolve.cameras find any name (`query`).'

function canonicalName(
  { devices: deviceCatalog, events, cameras }: NameResolver,
  kind: AliasTargetKind,
  id: number,
): string | null {
  if (kind === 'device') return deviceCatalog.byRef.get(id)?.name ?? null
  return (kind === 'event' ? events.get(id)?.name : cameras.get(id)?.name) ?? null
}
