/**
 * Announce tools: saying something in the house, and looking through a camera.
 *
 * Reads and writes through the families' own tools.
 */
import { z } from 'zod'
import type { Capability } from '../bus/capability.ts'
import { CALLS_ON, defineChange, defineTool } from '../bus/capability-definition.ts'
import { fail, ok } from '../core/result.ts'
import { previewCall, sayPreview } from './call-preview.ts'
import { HOME_TOOL_DEFAULTS, previewArgument, sayAnswer } from './dependencies.ts'
import type { HomeParts } from './dependencies.ts'
import { foldText } from './home-words.ts'
import { numberAt, objectsAt, textAt } from './json-path.ts'
import { quoteText, sayCount, sayList } from './say.ts'

const look = defineTool({
  ...HOME_TOOL_DEFAULTS,
  name: 'look',
  title: 'Look through a camera',
  description: 'The present picture of a camera, by its name.',
  input: z.strictObject({ camera: z.string().min(1).max(120) }),
  effect: 'reads',
})

export function createHomeAnnounceTools(parts: HomeParts): readonly Capability[] {
  const { bus } = parts
  return [
    defineChange({
      ...HOME_TOOL_DEFAULTS,
      ...CALLS_ON,
      effect: 'writes',
      idempotent: false,
      name: 'announce',
      title: 'Announce',
      description: 'Shows a message with a sound on voice devices: all that are awake, or those named.',
      input: z.strictObject({
        text: z.string().min(1).max(300),
        where: z.array(z.string().max(120)).max(20).default([]).describe('Devices or rooms.'),
        preview: previewArgument,
      }),
      act: async (_, { text, where, preview: isPreview }, context) => {
        if (bus.offer('devices.announce') === undefined)
          return sayAnswer('There is no device here that could announce anything.')
        const listed = await context.call('devices.list', {})
        if (!listed.ok) return fail(listed.fault)
        const awake = objectsAt(listed.value.data, 'devices').filter((device) => device['online'] === true)
        const meant = awake.filter((device) => where.length === 0 || where.some((name) => isNamed(device, name)))
        if (meant.length === 0) return sayAnswer('None of these devices is awake. Nothing was announced.')
        const devices = meant.map((device) => textAt(device, 'device') ?? '')
        const call = { tool: 'devices.announce', arguments: { devices, message: text } }
        if (isPreview) {
          const would = await previewCall(parts, call, context)
          return would.ok
            ? sayPreview(`${sayCount(meant.length, 'device')} would show it.`, would.value)
            : fail(would.fault)
        }
        const outcome = await context.call(call.tool, call.arguments)
        if (!outcome.ok) return fail(outcome.fault)
        const names = meant.map((device) => quoteText(textAt(device, 'name') ?? ''))
        return sayAnswer(
          `Sent to ${sayCount(meant.length, 'device')}: ${sayList(names)}. Devices do not confirm that it was shown.`,
          { id: context.traceId },
        )
      },
    }),
    look.handledBy(async ({ camera }, context) => {
      if (bus.offer('hs4.cameras.list') === undefined) return sayAnswer('There is no camera here.')
      const listed = await context.call('hs4.cameras.list', {})
      if (!listed.ok) return fail(listed.fault)
      const cameras = objectsAt(listed.value.data, 'cameras')
      const named = cameras.filter((each) => foldText(textAt(each, 'name') ?? '').includes(foldText(camera)))
      const [only] = named
      if (named.length !== 1 || only === undefined)
        return sayAnswer(`It is not clear which camera ${quoteText(camera)} is.`, {
          ask: 'Which one?',
          cameras: cameras.map((each) => quoteText(textAt(each, 'name') ?? '')),
        })
      const outcome = await context.call('hs4.cameras.snapshot.get', { camId: numberAt(only, 'camId') ?? 0 })
      if (!outcome.ok) return fail(outcome.fault)
      return ok({ ...outcome.value, data: { say: `This is what ${quoteText(textAt(only, 'name') ?? '')} sees.` } })
    }),
  ]
}

function isNamed(device: Parameters<typeof textAt>[0], name: string): boolean {
  return [textAt(device, 'name'), textAt(device, 'device')].some(
    (own) => own !== undefined && foldText(own).includes(foldText(name)),
  )
}
