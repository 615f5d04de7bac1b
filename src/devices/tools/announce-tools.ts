/**
 * Announce tools: words for people, shown or spoken by devices.
 *
 *   alert    every firmware that speaks MCP: shown on the screen, with a sound
 *   notify   firmware after 2.4.2, while the device is idle: spoken from an Ogg Opus file at an allowed address
 *
 * To several devices it is forwarded one by one, so that each is judged as if it were the only one.
 *
 * Pure, given the house.
 */
import { z } from 'zod'
import type { Call, Outcome } from '../../bus/call.ts'
import type { Assessment, Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/tool.ts'
import { fail, ok } from '../../core/result.ts'
import type { Announcement } from '../wire/envelope.ts'
import { faultOf } from './answer.ts'
import { inTurns } from './call-tools.ts'
import { urlReasons } from './device-capability.ts'
import { devicesFamily, errorJson } from './envelope.ts'
import { deviceArgument } from './list-tools.ts'
import type { ToolParts } from './open-house.ts'
import { eachOnce, findDevice, forward, inHouse, unknownDevice } from './open-house.ts'
import { targetOf } from './slug.ts'
import { visibleText } from '../../core/stranger-text.ts'
import { deviceName } from './tool-description.ts'
import type { UrlRule } from './url-rule.ts'

const NAME = 'devices.announce'
const MAX_DEVICES = 64
const AT_ONCE = 16

const input = z.strictObject({
  devices: z.array(deviceArgument).min(1).max(MAX_DEVICES),
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

export function announceTools(parts: ToolParts, urls: readonly UrlRule[]): readonly Capability[] {
  const announce = defineTool({
    name: NAME,
    title: 'Announce',
    description:
      'Shows a message on the screens of devices, with a sound; with `audio_url` it is spoken instead. Devices do not confirm: the answer says only to whom it was sent. A device that is asleep gets nothing.',
    family: devicesFamily,
    effect: 'writes',
    maxConcurrent: 256,
    input,
    output: z.object({
      results: z.array(
        z.object({ device: z.string(), ok: z.boolean(), error: z.record(z.string(), z.json()).optional() }),
      ),
    }),
    assess: (wanted, call) => assess(wanted, call, parts, urls),
  })
  return [announce.handledBy((wanted, call) => announced(wanted, call, parts))]
}

function assess({ devices, audio_url: url }: Input, { caller }: Call, { house }: ToolParts, urls: readonly UrlRule[]) {
  const reasons = url === undefined ? [] : urlReasons({ audio_url: url }, urls)
  const [only] = devices
  // Forwarding changes nothing; each device is judged by itself.
  if (devices.length > 1 || only === undefined) return { effect: 'reads', reasons } satisfies Assessment
  const open = house()
  const device = open === undefined ? undefined : findDevice(open, only, caller)
  if (device === undefined) return { effect: 'writes', reasons } satisfies Assessment
  const label = `announcement on ${deviceName(device.enrolled.name, device.slug)}`
  return { effect: 'writes', reasons, target: targetOf(device.slug), label } satisfies Assessment
}

async function announced(wanted: Input, call: Call, parts: ToolParts): Promise<Outcome> {
  if (call.rehearsal) return fail({ kind: 'unsupported', message: 'A device cannot rehearse.' })
  const [only, ...others] = wanted.devices
  // Exactly when it was judged as an act: a list of twice the same device was not.
  if (only !== undefined && others.length === 0) return announceTo(only, wanted, call, parts)
  return inHouse(parts, async (house) => {
    const results = await inTurns(eachOnce(house, wanted.devices, call.caller), AT_ONCE, async (name) => {
      const outcome = await forward(parts, call, { name: NAME, body: { ...wanted, devices: [name] } })
      return outcome.ok ? { device: name, ok: true } : { device: name, ok: false, error: errorJson(outcome.fault) }
    })
    return ok({ data: { results } })
  })
}

function announceTo(name: string, wanted: Input, { caller }: Call, parts: ToolParts): Promise<Outcome> {
  return inHouse(parts, (house) => {
    const device = findDevice(house, name, caller)
    if (device === undefined) return fail(unknownDevice(name))
    const sent = house.gateway.fleet.announce(device.enrolled.deviceId, announcementOf(wanted))
    // Nothing was sent: neither an absent device nor one that is too old has been told anything.
    if (!sent.ok) return fail(faultOf(named(sent.fault, device.slug), { slug: device.slug, effect: 'reads' }))
    return ok({ data: { results: [{ device: device.slug, ok: true }] } })
  })
}

function named<Fault extends { readonly kind: string }>(fault: Fault, slug: string): Fault {
  return 'device' in fault ? { ...fault, device: slug } : fault
}

function announcementOf({ message, title, emotion, audio_url: audioUrl }: Input): Announcement {
  const text = visibleText(message, 500)
  if (audioUrl === undefined) return { kind: 'alert', status: visibleText(title, 64), message: text, emotion }
  return { kind: 'notify', audioUrl, subtitles: [{ startMs: 0, text }] }
}
