/**
 * Announce and camera tools: announce a text in the house, and show a camera's picture.
 *
 * Reads and writes through the families' own tools.
 */
import { z } from 'zod'
import type { Capability } from '../bus/capability.ts'
import { defineChange, defineTool } from '../bus/capability-definition.ts'
import { fail } from '../core/result.ts'
import { previewCallAsAnswer } from './call-preview.ts'
import {
  DELEGATING_HOME_TOOL_DEFAULTS,
  HOME_TOOL_DEFINITION_DEFAULTS,
  createMediaAnswer,
  createSentenceAnswer,
  previewArgument,
} from './home-dependencies.ts'
import type { HomeDependencies } from './home-dependencies.ts'
import { doesTextMatchName } from './thing-search.ts'
import { readNumberAt, readObjectsAt, readTextAt } from './json-path.ts'
import { quoteForSentence, formatCount, formatList } from './sentence-text.ts'

const look = defineTool({
  ...HOME_TOOL_DEFINITION_DEFAULTS,
  name: 'look',
  title: 'Look through a camera',
  description: 'The present picture of a camera, by its name.',
  input: z.strictObject({ camera: z.string().min(1).max(120) }),
  effect: 'reads',
})

const MAX_NAMED = 12

export function createAnnounceAndCameraTools(parts: HomeDependencies): readonly Capability[] {
  const { bus } = parts
  return [
    defineChange({
      ...DELEGATING_HOME_TOOL_DEFAULTS,
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
          return createSentenceAnswer('There is no device here that could announce anything.')
        const listed = await context.call('devices.list', {})
        if (!listed.ok) return fail(listed.fault)
        const all = readObjectsAt(listed.value.data, 'devices')
        const unknown = where.find((name) => !all.some((device) => isNamed(device, name)))
        if (unknown !== undefined)
          return createSentenceAnswer(`No device is called ${quoteForSentence(unknown)}. Nothing was announced.`, {
            ask: 'Which devices?',
            devices: all.slice(0, MAX_NAMED).map((device) => quoteForSentence(readTextAt(device, 'name') ?? '')),
          })
        const meant = all
          .filter((device) => device['online'] === true)
          .filter((device) => where.length === 0 || where.some((name) => isNamed(device, name)))
        if (meant.length === 0) return createSentenceAnswer('None of these devices is awake. Nothing was announced.')
        const devices = meant.map((device) => readTextAt(device, 'device') ?? '')
        const call = { tool: 'devices.announce', arguments: { devices, message: text } }
        const sentence = `${formatCount(meant.length, 'device')} would show it.`
        if (isPreview) return previewCallAsAnswer(parts, call, { context, sentence })
        const outcome = await context.call(call.tool, call.arguments)
        if (!outcome.ok) return fail(outcome.fault)
        const names = meant.map((device) => quoteForSentence(readTextAt(device, 'name') ?? ''))
        return createSentenceAnswer(
          `Sent to ${formatCount(meant.length, 'device')}: ${formatList(names)}. Devices do not confirm that it was shown.`,
          { id: context.traceId },
        )
      },
    }),
    look.handledBy(async ({ camera }, context) => {
      if (bus.offer('hs4.cameras.list') === undefined) return createSentenceAnswer('There is no camera here.')
      const listed = await context.call('hs4.cameras.list', {})
      if (!listed.ok) return fail(listed.fault)
      const cameras = readObjectsAt(listed.value.data, 'cameras')
      const named = cameras.filter((each) => doesTextMatchName(camera, readTextAt(each, 'name') ?? ''))
      const [only] = named
      if (named.length !== 1 || only === undefined)
        return createSentenceAnswer(`It is not clear which camera ${quoteForSentence(camera)} is.`, {
          ask: 'Which one?',
          cameras: cameras.map((each) => quoteForSentence(readTextAt(each, 'name') ?? '')),
        })
      const outcome = await context.call('hs4.cameras.snapshot.get', { camId: readNumberAt(only, 'camId') ?? 0 })
      if (!outcome.ok) return fail(outcome.fault)
      return createMediaAnswer(outcome.value, {
        say: `This is what ${quoteForSentence(readTextAt(only, 'name') ?? '')} sees.`,
      })
    }),
  ]
}

function isNamed(device: Parameters<typeof readTextAt>[0], name: string): boolean {
  const [own, id] = [readTextAt(device, 'name') ?? '', readTextAt(device, 'device')]
  return id === name || doesTextMatchName(name, own)
}
