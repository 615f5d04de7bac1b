/**
 * Call tools: call a device's tool by name, on one device or on many.
 *
 *   devices.call ──forward──▶ device.<slug>.<tool>        guard, approval, lock and record are those of the tool itself
 *
 * For clients that do not want a tool for each tool of each device, and for callers who can wait for a device to wake.
 *
 * Pure, given the running devices service.
 */
import { z } from 'zod'
import type { ContentBlock, Outcome } from '../../bus/call.ts'
import type { Capability } from '../../bus/capability.ts'
import { DELEGATING_CHANGE_STEPS, defineChange } from '../../bus/capability-definition.ts'
import type { HandlerContext } from '../../bus/call-factory.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { isJsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import { resolveSpelledName } from '../../core/tool-name-spelling.ts'
import { mapDeviceFaultToCallFault } from './device-outcome.ts'
import { createToolWithheldFault } from './device-tool-caller.ts'
import { devicesFamilyEnvelope, toDeviceErrorJson } from './devices-envelope.ts'
import { deviceArgumentSchema } from './list-tools.ts'
import type { RunningDevicesService, RunningDevicesAccess } from './running-devices-service.ts'
import {
  removeRepeatedDevices,
  findVisibleDevice,
  withRunningDevicesService,
  createUnknownDeviceFault,
} from './running-devices-service.ts'
import type { RosterDevice, RosterTool } from './device-roster.ts'

const MAX_DEVICES = 64
const AT_ONCE = 16
/** Pictures of many devices in one answer, as base64. */
const MAX_MEDIA_CHARACTERS = 4 * 1_048_576
const MAX_WAIT_SECONDS = 3_600

const request = {
  tool: z.string().min(1).max(256).describe('What the device calls it, e.g. `self.audio_speaker.set_volume`.'),
  arguments: z.record(z.string(), z.json()).default({}),
  when_asleep: z
    .enum(['fail', 'queue'])
    .exactOptional()
    .describe('For a device that is not connected: fail at once, or wait until it is. By default as configured.'),
  wait_seconds: z.int().min(1).max(MAX_WAIT_SECONDS).default(60).describe('How long to wait for it at most.'),
}

const callInput = z.strictObject({ device: deviceArgumentSchema, ...request })

const common = {
  family: devicesFamilyEnvelope,
  effect: 'writes',
  timeoutSeconds: MAX_WAIT_SECONDS + 300,
  maxConcurrent: 256,
  ...DELEGATING_CHANGE_STEPS,
} as const

const devicesCall = {
  ...common,
  name: 'devices.call',
  title: 'Call a tool of a device',
  description:
    'Calls one tool of one device: exactly what calling `device.<device>.<tool>` does, with the same permissions. The answer is the device’s own; `false` means that it refused.',
  input: callInput,
  output: z.object({ device: z.string(), value: z.json(), images: z.int().optional() }),
} as const

const devicesCallMany = {
  ...common,
  name: 'devices.call_many',
  title: 'Call a tool on many devices',
  description: `Calls the same tool with the same arguments on up to ${MAX_DEVICES} devices and gives one answer for each, in the order asked. What one device does or refuses does not keep the others from it.`,
  input: z.strictObject({ devices: z.array(deviceArgumentSchema).min(1).max(MAX_DEVICES), ...request }),
  output: z.object({
    results: z.array(
      z.object({
        device: z.string(),
        ok: z.boolean(),
        value: z.json().optional(),
        images: z.int().optional(),
        error: z.record(z.string(), z.json()).optional(),
      }),
    ),
  }),
} as const

type CallInput = z.output<typeof callInput>

export function createDeviceCallTools(parts: RunningDevicesAccess): readonly Capability[] {
  const one = (input: CallInput, context: HandlerContext): Promise<Outcome> =>
    withRunningDevicesService(parts, (service) => callOne({ service, context }, input))
  return [
    defineChange({ ...devicesCall, act: (_plan, input, context) => one(input, context) }),
    defineChange({
      ...devicesCallMany,
      act: (_plan, { devices, ...input }, context) =>
        withRunningDevicesService(parts, async (service) => {
          const outcomes = await mapConcurrently(
            removeRepeatedDevices(service, devices, context.caller),
            AT_ONCE,
            async (device) => ({
              device,
              outcome: await one({ device, ...input }, context),
            }),
          )
          return ok({ data: { results: outcomes.map(resultJson) }, content: contentOf(outcomes) })
        }),
    }),
  ]
}

interface CallScope {
  readonly service: RunningDevicesService
  readonly context: HandlerContext
}

async function callOne({ service, context }: CallScope, input: CallInput): Promise<Outcome> {
  const device = findVisibleDevice(service, input.device, context.caller)
  if (device === undefined) return fail(createUnknownDeviceFault(input.device))
  const away = await awaken({ service, context }, device, input)
  if (away !== undefined) return fail(away)
  // Looked up only now, because a device that has just woken may have other tools than before.
  const found = findTool(findVisibleDevice(service, device.slug, context.caller) ?? device, input.tool)
  if ('kind' in found) return fail(found)
  return context.call(found.capability, input.arguments, { isLocal: true })
}

async function awaken(
  { service, context }: CallScope,
  { slug, enrolled }: RosterDevice,
  { when_asleep: wanted, wait_seconds: seconds }: CallInput,
): Promise<Fault | undefined> {
  const { deviceId } = enrolled
  const { calls, gateway } = service
  const isAsleep = (gateway.fleet.device(deviceId)?.phase ?? 'asleep') === 'asleep'
  if (wanted === undefined || !isAsleep) return undefined
  if (wanted === 'fail') return mapDeviceFaultToCallFault(calls.asleep(deviceId, slug), { slug, effect: 'reads' })
  const waited = await calls.untilReady(deviceId, seconds * 1_000, context)
  return waited === undefined ? undefined : mapDeviceFaultToCallFault(waited, { slug, effect: 'reads' })
}

function findTool({ slug, tools, withheld }: RosterDevice, name: string): RosterTool | Fault {
  const meant = resolveSpelledName(
    name,
    tools.map(({ capability }) => capability),
  )
  const found = tools.find(({ tool, capability }) => tool.name === name || capability === meant)
  if (found !== undefined) return found
  if (withheld.some(({ tool }) => tool.name === name)) return createToolWithheldFault(slug, name)
  return {
    kind: 'not-found',
    code: 'unknown_tool',
    message: `${slug} has no tool ${JSON.stringify(name.slice(0, 64))}. devices.tools.list says what it has.`,
  }
}

interface DeviceOutcome {
  readonly device: string
  readonly outcome: Outcome
}

function resultJson({ device, outcome }: DeviceOutcome): JsonObject {
  if (!outcome.ok) return { device, ok: false, error: toDeviceErrorJson(outcome.fault) }
  const { data } = outcome.value
  const { device: _, ...rest } = isJsonObject(data) ? data : { value: data }
  return { device, ok: true, ...rest }
}

/** One line per device, with its pictures as long as they fit. */
function contentOf(outcomes: readonly DeviceOutcome[]): readonly ContentBlock[] {
  let mediaBudget = MAX_MEDIA_CHARACTERS
  return outcomes.flatMap((result) => {
    const { device, outcome } = result
    const media = (outcome.ok ? (outcome.value.content ?? []) : []).filter(({ type }) => type !== 'text')
    const size = media.reduce((sum, { data }) => sum + (typeof data === 'string' ? data.length : 0), 0)
    const fits = size <= mediaBudget
    if (fits) mediaBudget -= size
    const line = text(`${device}: ${JSON.stringify(resultJson(result))}`)
    return fits ? [line, ...media] : [line, text(`${device}: its pictures are left out; call it alone to get them.`)]
  })
}

function text(words: string): ContentBlock {
  return { type: 'text', text: words }
}

/** Maps items in the given order, at most `width` at a time. */
export async function mapConcurrently<Item, Value>(
  items: readonly Item[],
  width: number,
  work: (item: Item) => Promise<Value>,
): Promise<readonly Value[]> {
  const results: Value[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) {
      const item = items[index]
      if (item !== undefined) results[index] = await work(item)
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker))
  return results
}
