/**
 * Device view: a device, its tools and its events as the lists show them. Untrusted text is cleaned first.
 *
 * Pure, given the running devices service.
 */
import type { Caller } from '../../bus/call.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { createToolArgumentSchema } from '../wire/tool-arguments.ts'
import type { DeviceTool } from '../wire/tool-list.ts'
import { computeWithheldToolsDigest } from './tool-pins.ts'
import type { RunningDevicesService } from './running-devices-service.ts'
import type { RosterDevice } from './device-roster.ts'
import { formatDeviceTarget } from './device-slug.ts'
import { listAdminOnlyRefusalReasons, maySeeDevice, maySeeUserTools } from './visibility.ts'
import { sanitizeLine } from '../../core/untrusted-text.ts'
import { formatIsoTimeOrNull } from '../../toolbox/iso-time.ts'
import { rebuildDeviceToolSchema } from './untrusted-tool-schema.ts'

export function isDeviceOnline({ gateway }: RunningDevicesService, { enrolled }: RosterDevice): boolean {
  return gateway.fleet.device(enrolled.deviceId)?.online ?? false
}

export function toDeviceSummaryJson({ gateway }: RunningDevicesService, device: RosterDevice): JsonObject {
  const { slug, enrolled, tools, withheld } = device
  const view = gateway.fleet.device(enrolled.deviceId)
  return {
    device: slug,
    id: enrolled.deviceId,
    name: sanitizeLine(enrolled.name, 64),
    online: view?.online ?? false,
    phase: view?.phase ?? 'asleep',
    transport: enrolled.transport,
    board: sanitizeLine(view?.info?.name || enrolled.board, 64),
    // The version from its last boot is never older than that from its last connection.
    firmware: sanitizeLine(enrolled.firmware || (view?.info?.version ?? ''), 64),
    tools: tools.length,
    withheld: withheld.length,
    queued: view?.queued ?? 0,
    last_seen: formatIsoTimeOrNull(view?.lastSeenMs),
  }
}

export function toDeviceDetailJson(service: RunningDevicesService, device: RosterDevice): JsonObject {
  const view = service.gateway.fleet.device(device.enrolled.deviceId)
  return {
    ...toDeviceSummaryJson(service, device),
    address: view?.remoteAddress ?? null,
    voice: voiceJson(service, device),
    enrolled_at: formatIsoTimeOrNull(device.enrolled.approvedAtMs),
    warnings: [...(view?.warnings ?? []), ...device.problems].map((warning) => sanitizeLine(warning, 200)),
  }
}

function voiceJson({ gateway }: RunningDevicesService, { enrolled: { deviceId } }: RosterDevice): JsonObject {
  const code = gateway.voice?.codeOf(deviceId)
  return {
    mode: gateway.voice === undefined ? 'none' : 'relay',
    ...(gateway.voice === undefined ? {} : { state: gateway.voice.stateOf(deviceId) ?? 'idle' }),
    ...(code === undefined ? {} : { activation_code: code }),
  }
}

export function toDeviceToolsJson(service: RunningDevicesService, device: RosterDevice, caller: Caller): JsonObject {
  const { slug, withheld, problems } = device
  const seesAll = maySeeUserTools(caller, formatDeviceTarget(slug))
  const decides = listAdminOnlyRefusalReasons(caller).length === 0
  return {
    device: slug,
    online: isDeviceOnline(service, device),
    tools: device.tools
      .filter(({ forPeople }) => seesAll || !forPeople)
      .map(({ tool, capability, effect }) => ({
        tool: sanitizeLine(tool.name, 256),
        capability,
        effect,
        ...definitionJson(tool),
      })),
    withheld: withheld
      .filter(({ pinned }) => decides || pinned !== undefined)
      .map(({ tool, pinned }) => ({
        tool: sanitizeLine(tool.name, 256),
        reason: pinned === undefined ? 'new' : 'changed',
        // Withheld definitions are withheld from models here, too; only callers who may decide about them can read
        // them.
        ...(decides ? { now: definitionJson(tool), was: pinned === undefined ? null : definitionJson(pinned) } : {}),
      })),
    digest: computeWithheldToolsDigest(withheld) ?? null,
    voice: voiceJson(service, device),
    problems: problems.map((problem) => sanitizeLine(problem, 200)),
  }
}

function definitionJson(tool: DeviceTool): JsonObject {
  return {
    description: sanitizeLine(tool.description, 1_024),
    input_schema: (rebuildDeviceToolSchema(createToolArgumentSchema(tool)) ?? {}) as Json,
    user_only: tool.userOnly,
  }
}

interface EventReference {
  readonly caller: Caller
  /** Events after this number; `undefined` for the newest. */
  readonly after: number | undefined
  readonly limit: number
  readonly only: string | undefined
}

export function toDeviceEventsJson(
  { roster, events }: RunningDevicesService,
  { caller, after, limit, only }: EventReference,
): JsonObject {
  const slugs = new Map(
    roster
      .devices()
      .filter(({ slug, enrolled }) =>
        only === undefined ? maySeeDevice(caller, formatDeviceTarget(slug)) : enrolled.deviceId === only,
      )
      .map(({ slug, enrolled }) => [enrolled.deviceId, slug]),
  )
  const wanted = events.list({ after: after ?? 0, isWanted: (device) => slugs.has(device) })
  const listed = after === undefined ? wanted.slice(-limit) : wanted.slice(0, limit)
  return {
    events: listed.map(({ seq, atMs, device, kind, details }) => ({
      seq,
      at: formatIsoTimeOrNull(atMs),
      device: slugs.get(device) ?? device,
      kind,
      details,
    })),
    last_seq: events.lastSeq,
  }
}
