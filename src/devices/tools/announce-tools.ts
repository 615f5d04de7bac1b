/**
 * Announce tools: show or speak a message to people through devices.
 *
 *   alert    every firmware that speaks MCP: shown on the screen, with a sound
 *   notify   firmware after 2.4.2, while the device is idle: spoken from an Ogg Opus file at an allowed address
 *
 * For several devices it makes one call per device, so that the guard decides about each separately.
 *
 * Pure, given the running devices service.
 */
import { z } from 'zod'
import type { Call, Outcome } from '../../bus/call.ts'
import type { CallAssessment, Capability } from '../../bus/capability.ts'
import { defineChange } from '../../bus/capability-definition.ts'
import type { HandlerContext } from '../../bus/call-factory.ts'
import type { Fault, PolicyReason } from '../../core/fault.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import type { AnnouncementToPerson } from '../wire/device-frame.ts'
import { mapDeviceFaultToCallFault } from './device-outcome.ts'
import { mapConcurrently } from './call-tools.ts'
import { listForbiddenUrlReasons } from './device-capability.ts'
import { devicesFamilyEnvelope, toDeviceErrorJson } from './devices-envelope.ts'
import { deviceArgumentSchema } from './list-tools.ts'
import type { RunningDevicesAccess } from './running-devices-service.ts'
import {
  DEVICES_CLOSED_FAULT,
  removeRepeatedDevices,
  findVisibleDevice,
  withRunningDevicesService,
  createUnknownDeviceFault,
} from './running-devices-service.ts'
import type { RosterDevice } from './device-roster.ts'
import { formatDeviceTarget } from './device-slug.ts'
import { sanitizeLine } from '../../core/untrusted-text.ts'
import { sanitizeDeviceName } from './tool-description.ts'
import type { UrlRule } from './url-rule.ts'

const NAME = 'devices.announce'
const MAX_DEVICES = 64
const AT_ONCE = 16

const input = z.strictObject({
  devices: z.array(deviceArgumentSchema).min(1).max(MAX_DEVICES),
  message: z.string().min(1).max(500).describe('What is shown; with `audio_url`, the subtitle.'),
  title: z.string().min(1).max(64).default('Hearthbus').describe('Shown above the message.'),
  emotion: z.string().min(1).max(32).default('neutral').describe('The face that goes with it, e.g. happy.'),
  audio_url: z
    .string()
    .max(1_024)
    .exactOptional()
    .describe('A mono Ogg Opus file to be played, at an address that the owner allows. Newest firmware only.'),
})

type Input = z.output<typeof input>

export function createDeviceAnnounceTools(
  parts: RunningDevicesAccess,
  urls: readonly UrlRule[],
): readonly Capability[] {
  const announce = defineChange({
    name: NAME,
    title: 'Announce',
    description:
      'Shows a message on the screens of devices, with a sound; with `audio_url` it is spoken instead. Devices do not confirm: the answer says only to whom it was sent. A device that is asleep gets nothing.',
    family: devicesFamilyEnvelope,
    effect: 'writes',
    maxConcurrent: 256,
    input,
    output: z.object({
      results: z.array(
        z.object({ device: z.string(), ok: z.boolean(), error: z.record(z.string(), z.json()).optional() }),
      ),
    }),
    plan: (wanted, call) => plan(wanted, call, parts),
    assess: ({ device }, wanted) => assess(device, wanted, urls),
    assessMistake: (wanted) => ({ reasons: reasonsAgainst(wanted, urls) }),
    act: ({ device }, wanted, call) =>
      device === undefined ? announceToEach(wanted, call, parts) : announceTo(device, wanted, parts),
  })
  return [announce]
}

/** A plan without a device is for several, each of which gets a call of its own. */
interface AnnouncePlan {
  readonly device?: RosterDevice
}

function plan({ devices }: Input, { caller }: Call, { service }: RunningDevicesAccess): Result<AnnouncePlan, Fault> {
  const [only] = devices
  if (devices.length > 1 || only === undefined) return ok({})
  const open = service()
  if (open === undefined) return fail(DEVICES_CLOSED_FAULT)
  const device = findVisibleDevice(open, only, caller)
  return device === undefined ? fail(createUnknownDeviceFault(only)) : ok({ device })
}

function assess(device: RosterDevice | undefined, wanted: Input, urls: readonly UrlRule[]): CallAssessment {
  const reasons = reasonsAgainst(wanted, urls)
  // Making further calls changes nothing by itself; the guard decides about each of them.
  if (device === undefined) return { effect: 'reads', reasons }
  const label = `announcement on ${sanitizeDeviceName(device.enrolled.name, device.slug)}`
  const target = formatDeviceTarget(device.slug)
  return { effect: 'writes', reasons, target, actuator: `${target}/announce`, label }
}

function reasonsAgainst({ audio_url: url }: Input, urls: readonly UrlRule[]): readonly PolicyReason[] {
  return url === undefined ? [] : listForbiddenUrlReasons({ audio_url: url }, urls)
}

function announceToEach(wanted: Input, context: HandlerContext, parts: RunningDevicesAccess): Promise<Outcome> {
  return withRunningDevicesService(parts, async (service) => {
    const results = await mapConcurrently(
      removeRepeatedDevices(service, wanted.devices, context.caller),
      AT_ONCE,
      async (name) => {
        const outcome = await context.call(NAME, { ...wanted, devices: [name] }, { isLocal: true })
        return outcome.ok
          ? { device: name, ok: true }
          : { device: name, ok: false, error: toDeviceErrorJson(outcome.fault) }
      },
    )
    return ok({ data: { results } })
  })
}

function announceTo({ enrolled, slug }: RosterDevice, wanted: Input, parts: RunningDevicesAccess): Promise<Outcome> {
  return withRunningDevicesService(parts, (service) => {
    const sent = service.gateway.fleet.announce(enrolled.deviceId, announcementOf(wanted))
    // Nothing was sent: the device was absent, or its firmware is too old.
    if (!sent.ok) return fail(mapDeviceFaultToCallFault(named(sent.fault, slug), { slug, effect: 'reads' }))
    return ok({ data: { results: [{ device: slug, ok: true }] } })
  })
}

function named<Named extends { readonly kind: string }>(fault: Named, slug: string): Named {
  return 'device' in fault ? { ...fault, device: slug } : fault
}

function announcementOf({ message, title, emotion, audio_url: audioUrl }: Input): AnnouncementToPerson {
  const text = sanitizeLine(message, 500)
  if (audioUrl === undefined) return { kind: 'alert', status: sanitizeLine(title, 64), message: text, emotion }
  return { kind: 'notify', audioUrl, subtitles: [{ startMs: 0, text }] }
}
