/**
 * Tool search and call tools: access to tools that are not in the short list: finding a tool by what it does, and
 * calling it, through the same stages and the same guard.
 */
import { z } from 'zod'
import type { Capability, Offer } from '../bus/capability.ts'
import { EFFECTS } from '../bus/capability.ts'
import { defineChange, defineTool } from '../bus/capability-definition.ts'
import type { Fault } from '../core/fault.ts'
import { isJsonObject } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import { fail } from '../core/result.ts'
import { resolveSpelledName } from '../core/tool-name-spelling.ts'
import { sanitizeLine } from '../core/untrusted-text.ts'
import {
  DELEGATING_HOME_TOOL_DEFAULTS,
  HOME_TOOL_DEFINITION_DEFAULTS,
  createMediaAnswer,
  createSentenceAnswer,
} from './home-dependencies.ts'
import type { HomeDependencies } from './home-dependencies.ts'
import { toThingJson } from './home-lookup-tools.ts'
import { readHomeSnapshot } from './home-snapshot.ts'
import { matchThings } from './thing-search.ts'
import { ToolIndex } from './tool-index.ts'
import { quoteForSentence, quoteLongText, formatCount } from './sentence-text.ts'

const MAX_FOUND = 8
const MAX_THINGS = 4
const MAX_DESCRIPTION = 300
/** About 5,000 tokens. */
const MAX_ANSWER_LENGTH = 16_000
const MAX_STRANGERS_SCHEMA_LENGTH = 4_000

const toolsFind = defineTool({
  ...HOME_TOOL_DEFINITION_DEFAULTS,
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

export function createToolSearchAndCallTools(parts: HomeDependencies): readonly Capability[] {
  const index = new ToolIndex()
  return [
    toolsFind.handledBy(async ({ query, effect, limit }, context) => {
      const { caller } = context
      const offers = parts.bus
        .offers()
        .filter(
          (offer) => offer.face.kind === 'tool' && offer.family.name !== 'home' && parts.guard.visible(caller, offer),
        )
      const picture = await readHomeSnapshot(parts, context)
      const things = matchThings(query, picture)
        .filter(({ isWhole, isPlaceOnly, parts: count }) => isWhole || (count > 1 && !isPlaceOnly))
        .slice(0, MAX_THINGS)
        .map(({ thing }) => thing)
      // Tools that set one of the named things come first, then tools whose descriptions match the words.
      const setting = new Set(things.flatMap(({ controls }) => controls.slice(0, 1).map((one) => one.callFor(0).tool)))
      const found = [...offers.filter(({ name }) => setting.has(name)), ...index.search(query, offers)].filter(
        (offer, at, all) => all.indexOf(offer) === at && (effect === undefined || offer.effect === effect),
      )
      if (found.length === 0) return createSentenceAnswer(`No tool fits ${quoteForSentence(query)}.`)
      return createSentenceAnswer(`${formatCount(Math.min(found.length, limit), 'tool')}. Call one with tools_call.`, {
        ...(things.length === 0 ? {} : { things: things.map((thing) => toThingJson(thing, picture)) }),
        tools: found.slice(0, limit).map(toolJson),
      })
    }),
    defineChange({
      ...DELEGATING_HOME_TOOL_DEFAULTS,
      // The caller chooses the tool, so the tool has to be in the caller's own profiles.
      composes: false,
      name: 'tools_call',
      title: 'Call any tool',
      description: 'Calls a tool that tools_find named: same guard, same approvals, same record.',
      input: z.strictObject({
        name: z.string().min(1).max(160),
        arguments: z.record(z.string(), z.json()).default({}),
      }),
      timeoutSeconds: 120,
      // The nested call records these arguments, because its tool declares which of them are secret.
      secrets: ['arguments', 'quoted'],
      act: async (_, { name: given, arguments: body }, context) => {
        const names = parts.bus.offers().map(({ name }) => name)
        const name = resolveSpelledName(given, names)
        const offer = name === undefined ? undefined : parts.bus.offer(name)
        if (name === undefined || offer === undefined || offer.family.name === 'home')
          return createSentenceAnswer(
            `There is no tool ${quoteForSentence(given)} to call from here. tools_find names them.`,
          )
        const outcome = await context.call(name, body)
        if (!outcome.ok) return fail(asToolsCall(outcome.fault, offer))
        const { data } = outcome.value
        const text = JSON.stringify(data)
        if (text.length <= MAX_ANSWER_LENGTH)
          return createMediaAnswer(outcome.value, { say: `${name} answered.`, quoted: data })
        return createMediaAnswer(outcome.value, {
          say: `${name} answered with ${text.length} characters, of which these are the first. Ask for less with its own arguments.`,
          quoted: text.slice(0, MAX_ANSWER_LENGTH).toWellFormed(),
        })
      },
    }),
  ]
}

/** Rewrites the next step that the family suggests as a tools_call. A step that another node suggests is left out. */
function asToolsCall(fault: Fault, offer: Offer): Fault {
  if (isForeignOffer(offer)) {
    const { next: _, ...details } = fault.details ?? {}
    return { ...fault, details }
  }
  const next = fault.details?.['next']
  if (!isJsonObject(next) || typeof next['tool'] !== 'string') return fault
  const call = { name: next['tool'], arguments: next['arguments'] ?? {} }
  return { ...fault, details: { ...fault.details, next: { tool: 'tools_call', arguments: call } } }
}

function toolJson(offer: Offer): JsonObject {
  const { name, description, effect, requestSchema } = offer
  const input = requestSchema as JsonObject
  if (!isForeignOffer(offer)) return { name, effect, description: sanitizeLine(description, MAX_DESCRIPTION), input }
  // Names, choices and descriptions of arguments are untrusted text, like the tool's own description.
  const isShort = JSON.stringify(input).length <= MAX_STRANGERS_SCHEMA_LENGTH
  return {
    name,
    effect,
    quoted: { description: quoteLongText(description), ...(isShort ? { input } : {}) },
    ...(isShort ? {} : { note: 'What it says of its arguments is too long to show.' }),
  }
}

/** Whether a device or another node wrote the description. */
function isForeignOffer({ name, isFromPeer }: Offer): boolean {
  return isFromPeer === true || name.startsWith('device.')
}
