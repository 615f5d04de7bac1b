/**
 * Help arguments: a tool's arguments for a goal, filled in from this house and the words of the goal. An unknown
 * argument is shown as a placeholder with its type.
 */
import type { Offer } from '../../bus/capability.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { listNormalisedWords } from '../resolve/name-normalisation.ts'
import { resolveCameras, resolveDevices, resolveEvents, type NameResolver } from '../resolve/name-resolver.ts'
import { truncateText, toTextOrEmpty } from './json-text.ts'

export interface HelpArgumentSources {
  readonly resolver: NameResolver
  /** Ids of the installed plug-ins. */
  readonly plugins: readonly string[]
}

interface ArgumentSchema {
  readonly type?: string
  readonly enum?: readonly Json[]
}

/** The schema bounds what a query may be. */
const MAX_QUERY = 200

/** The arguments that the tool requires, and optional ones that the house or the words determine. */
export function suggestToolArguments(
  { name: tool, requestSchema }: Offer,
  goal: string,
  known: HelpArgumentSources,
): JsonObject {
  const required = new Set(Array.isArray(requestSchema['required']) ? (requestSchema['required'] as string[]) : [])
  const properties = Object.entries((requestSchema['properties'] ?? {}) as Record<string, ArgumentSchema>)
  const filled = properties.flatMap(([name, schema]): [string, Json][] => {
    const value = FILLERS[name]?.({ goal, known, tool, schema })
    if (value !== undefined) return [[name, value]]
    return required.has(name) ? [[name, blank(schema)]] : []
  })
  return Object.fromEntries(filled)
}

interface FillerInput {
  readonly goal: string
  readonly known: HelpArgumentSources
  readonly tool: string
  readonly schema: ArgumentSchema
}

type Filler = (input: FillerInput) => Json | undefined

/** A goal that names the tool asks how to use it, and contains no text to search for. */
const words: Filler = ({ goal, tool }) => (goal.includes(tool) ? undefined : truncateText(goal, MAX_QUERY))

/** By the argument's name, which has the same meaning in every tool of the contract. */
const FILLERS: Readonly<Record<string, Filler>> = {
  query: words,
  objective: words,
  goal: words,
  ref: deviceRef,
  refs: (input) => {
    const ref = deviceRef(input)
    return ref === undefined ? undefined : [ref]
  },
  camId: ({ goal, known: { resolver } }) => {
    const [named] = resolveCameras(resolver, goal).candidates
    const [only, ...others] = resolver.cameras.keys()
    return named?.target.camId ?? (others.length === 0 ? only : undefined)
  },
  // The schema does not require the id, because group and name would do; without any of them the call is useless.
  id: (input) => (input.tool.startsWith('hs4.events.') ? (eventId(input) ?? blank(input.schema)) : undefined),
  eventId,
  pluginId: pluginIn,
  plugin: pluginIn,
  direction: ({ goal, schema }) => {
    const goalWords = listNormalisedWords(goal)
    return schema.enum?.find((one) => goalWords.some((word) => one === `${word}start`))
  },
  enabled: ({ goal }) => {
    const goalWords = new Set(listNormalisedWords(goal))
    if (['disable', 'off', 'deactivate'].some((word) => goalWords.has(word))) return false
    return ['enable', 'on', 'activate'].some((word) => goalWords.has(word)) ? true : undefined
  },
}

function deviceRef({ goal, known }: FillerInput): number | undefined {
  return resolveDevices(known.resolver, goal).candidates[0]?.target.ref
}

function eventId({ goal, known }: FillerInput): number | undefined {
  return resolveEvents(known.resolver, goal).candidates[0]?.target.id
}

/** A plug-in whose words are all in the goal; the longest name, so that `Z-Wave Plus` is not taken for `Z-Wave`. */
function pluginIn({ goal, known }: FillerInput): string | undefined {
  const goalWords = new Set(listNormalisedWords(goal))
  const named = known.plugins.filter((id) => listNormalisedWords(id).every((word) => goalWords.has(word)))
  return named.toSorted((left, right) => right.length - left.length)[0]
}

function blank({ type, enum: choices }: ArgumentSchema): string {
  return choices === undefined ? `<${type ?? 'value'}>` : `<${choices.map(toTextOrEmpty).join(' | ')}>`
}
