/**
 * Call tools: everything that is not in the short list: finding a tool by what it does, and calling it, through the same
 * stages and the same guard.
 *
 * Reads and calls through the bus.
 */
import { z } from 'zod'
import type { Capability, Offer } from '../bus/capability.ts'
import { EFFECTS } from '../bus/capability.ts'
import { CALLS_ON, defineChange, defineTool } from '../bus/capability-definition.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import { resolveSpelling } from '../core/spelling.ts'
import { sanitizeLine } from '../core/stranger-text.ts'
import { HOME_TOOL_DEFAULTS, sayAnswer } from './dependencies.ts'
import type { HomeParts } from './dependencies.ts'
import { ToolIndex } from './tool-index.ts'
import { quoteText, quoteLong, sayCount } from './say.ts'

const MAX_FOUND = 8
const MAX_DESCRIPTION = 300
/** About 5,000 tokens. */
const MAX_ANSWER_LENGTH = 16_000

const toolsFind = defineTool({
  ...HOME_TOOL_DEFAULTS,
  name: 'tools_find',
  title: 'Find a tool',
  description: 'Searches all tools by words, with their input schemas, for what this short list cannot do.',
  input: z.strictObject({
    query: z.string().min(1).max(200),
    effect: z.enum(EFFECTS).exactOptional(),
    limit: z.int().min(1).max(MAX_FOUND).default(3),
  }),
  effect: 'reads',
})

export function createHomeCallTools(parts: HomeParts): readonly Capability[] {
  const index = new ToolIndex()
  return [
    toolsFind.handledBy(async ({ query, effect, limit }, { caller }) => {
      const offers = parts.bus
        .offers()
        .filter(
          (offer) => offer.face.kind === 'tool' && offer.family.name !== 'home' && parts.guard.visible(caller, offer),
        )
      const found = index.search(query, offers).filter((offer) => effect === undefined || offer.effect === effect)
      if (found.length === 0) return sayAnswer(`No tool fits ${quoteText(query)}.`)
      return sayAnswer(`${sayCount(Math.min(found.length, limit), 'tool')}. Call one with tools_call.`, {
        tools: found.slice(0, limit).map(toolJson),
      })
    }),
    defineChange({
      ...HOME_TOOL_DEFAULTS,
      ...CALLS_ON,
      effect: 'writes',
      idempotent: false,
      name: 'tools_call',
      title: 'Call any tool',
      description: 'Calls a tool that tools_find named: same guard, same approvals, same record.',
      input: z.strictObject({
        name: z.string().min(1).max(160),
        arguments: z.record(z.string(), z.json()).default({}),
      }),
      timeoutSeconds: 120,
      // Recorded with the call that it makes, where it is known which of them are secrets.
      secrets: ['arguments', 'quoted'],
      act: async (_, { name: given, arguments: body }, context) => {
        const names = parts.bus.offers().map(({ name }) => name)
        const name = names.includes(given) ? given : resolveSpelling(given, names)
        const offer = name === undefined ? undefined : parts.bus.offer(name)
        if (name === undefined || offer === undefined || offer.family.name === 'home')
          return sayAnswer(`There is no tool ${quoteText(given)} to call from here. tools_find names them.`)
        const outcome = await context.call(name, body)
        if (!outcome.ok) return fail(outcome.fault)
        const { data, ...rest } = outcome.value
        const text = JSON.stringify(data)
        if (text.length <= MAX_ANSWER_LENGTH) return ok({ ...rest, data: { say: `${name} answered.`, quoted: data } })
        return sayAnswer(
          `${name} answered with ${text.length} characters, of which these are the first. Ask for less with its own arguments.`,
          { quoted: text.slice(0, MAX_ANSWER_LENGTH).toWellFormed() },
        )
      },
    }),
  ]
}

function toolJson({ name, description, effect, requestSchema }: Offer): JsonObject {
  return {
    name,
    effect,
    // What a device says of its own tools is not ours.
    ...(name.startsWith('device.')
      ? { quoted: quoteLong(description) }
      : { description: sanitizeLine(description, MAX_DESCRIPTION) }),
    input: requestSchema as JsonObject,
  }
}
