/**
 * Resources: the state of a bus under URIs of its own, for clients that subscribe to changes.
 *
 *   ebus://main/zones   ebus://main/settings   ebus://main/devices   ebus://main/bus   ebus://main/messages
 */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { ok } from '../../core/result.ts'
import type { HeatingBusClient } from '../heating-bus-client.ts'
import type { ChangedInstallationPart } from '../heating-installation.ts'
import type { SemanticPlaneName } from '../semantic/planes.ts'
import { SEMANTIC_PLANE_NAMES } from '../semantic/planes.ts'
import { listBusMessages } from './bus-traffic-tools.ts'
import { toBusDeviceJson } from './device-view.ts'
import { ebusFamilyEnvelope } from './ebus-envelope.ts'
import { createBusUnreachableFault } from './faults.ts'
import type { EbusToolContext } from './ebus-tool-context.ts'
import { toPlaneFreshnessJson, createLiveHeatingBusView, createLiveAnswerFields } from './ebus-tool-context.ts'
import { readMissingPlaneValues } from './missing-plane-values.ts'
import { SEMANTIC_PLANE_TOOL_DEFINITIONS } from './plane-tools.ts'
import { describeHolidayAndScheduleSettings, toResidentSettingJson } from './resident-setting-view.ts'
import type { EbusView } from './ebus-view.ts'

type Topic = (typeof SEMANTIC_PLANE_NAMES)[number] | 'settings' | 'devices' | 'bus' | 'messages'

const TOPICS: readonly Topic[] = [...SEMANTIC_PLANE_NAMES, 'settings', 'devices', 'bus', 'messages']
/** A resource has a fixed limit; the tool returns all messages. */
const SHOWN_MESSAGES = 64

export function formatEbusResourceUri(busId: string, topic: Topic): string {
  return `ebus://${busId}/${topic}`
}

/** The resources that a change affects. */
export function listChangedResourceUris(
  busId: string,
  change: ChangedInstallationPart | 'settings',
): readonly string[] {
  // The adapter's own state is in three resources.
  const topics: readonly Topic[] = change === 'bus' ? ['bus', 'runtime_status', 'adapter_info'] : [change]
  return topics.map((topic) => formatEbusResourceUri(busId, topic))
}

/** One set per bus, because the buses of a gateway do not change while it runs. */
export function createEbusResources(context: EbusToolContext): readonly Capability[] {
  return context.buses.flatMap((heating) => TOPICS.map((topic) => resource(context, heating, topic)))
}

function resource(context: EbusToolContext, heating: HeatingBusClient, topic: Topic): Capability {
  const words = wordsFor(topic)
  const tool = defineTool({
    name: `ebus.resource.${heating.id}.${topic}`,
    title: words.title,
    description: `${words.description} As the tools answer it, envelope included.`,
    input: z.strictObject({}),
    output: z.object({ meta: z.unknown(), data: z.unknown(), error: z.unknown() }),
    effect: 'reads',
    family: ebusFamilyEnvelope,
    face: { kind: 'resource', uri: formatEbusResourceUri(heating.id, topic), mimeType: 'application/json' },
  })
  return tool.handledBy(async (_, call) => {
    await readMissingPlaneValues(context, { planes: planesOf(topic), bus: heating.id }, call)
    const view = createLiveHeatingBusView(context, heating)
    const bus = context.buses.length > 1 ? heating.id : undefined
    const { data, beside } = show(view, { topic, bus }, context.clock.now())
    const away = data === null ? createBusUnreachableFault(view.reach) : undefined
    if (away !== undefined) return ok({ data: ebusFamilyEnvelope.failure(away, tool.offer).structured })
    // Always LIVE: a resource has no arguments to ask for a snapshot with.
    const answer = { data, ...createLiveAnswerFields(context, heating, view.atMs), ...beside }
    // A resource is read without an envelope of the face's making, so it brings its own.
    return ok({ data: ebusFamilyEnvelope.success(answer, tool.offer) })
  })
}

/** Planes that have to be known before a resource can be shown. */
function planesOf(topic: Topic): readonly SemanticPlaneName[] {
  if (topic === 'settings') return ['zones', 'dhw', 'system']
  return SEMANTIC_PLANE_NAMES.filter((plane) => plane === topic)
}

/** The same data as the tools'. */
function show(
  view: EbusView,
  { topic, bus }: { readonly topic: Topic; readonly bus: string | undefined },
  nowMs: number,
): { readonly data: Json; readonly beside: JsonObject } {
  if (topic === 'settings') {
    const settings = view.settings()
    return {
      data: [
        ...settings.map((each) => toResidentSettingJson(each, bus)),
        ...describeHolidayAndScheduleSettings(settings, bus),
      ],
      beside: {},
    }
  }
  if (topic === 'devices') return { data: view.devices().map((device) => toBusDeviceJson(device)), beside: {} }
  if (topic === 'bus') return { data: view.summary(), beside: {} }
  if (topic === 'messages')
    return { data: listBusMessages(view, { limit: SHOWN_MESSAGES, payload: false }), beside: {} }
  const plane = view.plane(topic)
  return { data: plane.data, beside: toPlaneFreshnessJson(plane, nowMs, { eachField: false }) }
}

function wordsFor(topic: Topic): { readonly title: string; readonly description: string } {
  if (topic === 'devices') return { title: 'Devices on the bus', description: 'Every device that was heard or asked.' }
  if (topic === 'settings')
    return {
      title: 'What can be set, and how',
      description:
        'Room setpoints, hot water temperature, modes and more of this house, each with its limits and the call that sets it.',
    }
  if (topic === 'bus') return { title: 'How the bus is doing', description: 'Traffic, trust in it, and what happened.' }
  if (topic === 'messages')
    return {
      title: 'Telegrams on the bus',
      description: `The newest ${SHOWN_MESSAGES}, decoded where that is known; announced at most once a second.`,
    }
  const tool = SEMANTIC_PLANE_TOOL_DEFINITIONS.find(({ plane }) => plane === topic)
  if (tool === undefined) throw new Error(`no words for ${topic}`)
  return tool
}
