/**
 * Tool effect: what calling a device's tool means for the house.
 *
 *   user-only, or on the sensitive list ▸ sensitive
 *   uses camera or microphone, starts or ends programs ▸ sensitive
 *   a getter by name without arguments ▸ reads
 *   moves a barrier for people, water or gas; restarts or flashes the device ▸ sensitive      else ▸ writes
 *
 * A name that looks like reading is believed only if the tool has no argument that it could act upon, and no other word
 * of the name is a verb of action. Descriptions and arguments are untrusted text: they can raise the effect, but never
 * lower it. The owner's own list may name tools with arguments.
 */
import type { Effect } from '../../bus/capability.ts'
import type { Json } from '../../core/json.ts'
import { isJsonObject } from '../../core/json.ts'
import { matchesAnyPattern } from '../../guard/name-pattern.ts'
import type { DeviceTool } from '../wire/tool-list.ts'
import {
  ACTING_VERBS,
  CAPTURE_DESCRIPTION_PATTERN,
  NON_LATIN_OPEN_CLOSE_PATTERN,
  isBarrierWord,
  isGetterName,
  SURVEILLANCE_OR_EXECUTION_WORDS,
  mentionsBarrierInNonLatinScript,
  mentionsCaptureInNonLatinScript,
  isMaintenanceToolName,
  FOREIGN_OPEN_CLOSE_VERBS,
  CAPTURE_SOURCE_NOUNS,
  CAPTURE_VERBS,
  SENSITIVE_TOOL_NAME_PATTERN,
  splitIntoWords,
} from './tool-words.ts'

export interface ToolEffectRules {
  /** The owner's list: names, or beginnings followed by `*`, of tools that only read. */
  readonly readTools: readonly string[]
  /** The owner's list of sensitive tools, in addition to the built-in ones. */
  readonly sensitiveTools: readonly string[]
}

export function classifyToolEffect(tool: DeviceTool, rules: ToolEffectRules): Effect {
  const { name, userOnly } = tool
  if (userOnly || SENSITIVE_TOOL_NAME_PATTERN.test(name) || matchesAnyPattern(rules.sensitiveTools, name))
    return 'sensitive'
  if (matchesAnyPattern(rules.readTools, name)) return 'reads'
  const words = splitIntoWords(name)
  if (looksOrListens(tool, words)) return 'sensitive'
  const isGetter = isGetterName(name) && !words.some((word) => ACTING_VERBS.has(word))
  if (isGetter && takesNothing(tool) && !describesActing(tool)) return 'reads'
  return movesBarrier(tool, words) || isMaintenanceToolName(name, words) ? 'sensitive' : 'writes'
}

function looksOrListens({ name, description }: DeviceTool, words: readonly string[]): boolean {
  if (words.some((word) => SURVEILLANCE_OR_EXECUTION_WORDS.has(word)) || mentionsCaptureInNonLatinScript(name))
    return true
  // A camera's image is taken by the tool; a screen's image is just as often shown on it.
  if (words.includes('camera') && words.includes('image')) return true
  if (words.some((word) => CAPTURE_SOURCE_NOUNS.has(word)) && words.some((word) => CAPTURE_VERBS.has(word))) return true
  return CAPTURE_DESCRIPTION_PATTERN.test(description)
}

/** For example `get_door`, "Opens the front door": descriptions begin with what the tool does. */
function describesActing({ description }: DeviceTool): boolean {
  const [first = '', second = ''] = splitIntoWords(description).filter((word) => word !== '')
  const verb = first === 'this' || first === 'it' || first === 'tool' ? second : first
  const stem = verb.replace(/(?<=(?:ss|sh|ch|x))es$|(?<!s)s$/, '')
  return ACTING_VERBS.has(stem) || FOREIGN_OPEN_CLOSE_VERBS.has(verb) || NON_LATIN_OPEN_CLOSE_PATTERN.test(description)
}

/**
 * A wrong guess causes an unnecessary question, which is better than an opened door. A tool that only asks for a state
 * has no arguments and is named accordingly.
 */
function movesBarrier(tool: DeviceTool, words: readonly string[]): boolean {
  const isState = /[._](?:state|status)$/.test(tool.name.toLowerCase()) && takesNothing(tool)
  if (isState && !describesActing(tool)) return false
  if (words.some(isBarrierWord) || mentionsBarrierInNonLatinScript(tool.name)) return true
  // For example `relay.set` with the description "opens the garage door", or with an argument `door`.
  const texts = [tool.description, ...listArgumentTexts(tool)]
  return texts.some((text) => splitIntoWords(text).some(isBarrierWord) || mentionsBarrierInNonLatinScript(text))
}

/** Names, descriptions and choices of the arguments. */
function listArgumentTexts({ inputSchema: { properties } }: DeviceTool): readonly string[] {
  if (!isJsonObject(properties)) return []
  return Object.entries(properties).flatMap(([name, property]) => {
    if (!isJsonObject(property)) return [name]
    const choices: readonly Json[] = Array.isArray(property['enum']) ? property['enum'] : []
    const texts = [property['title'], property['description'], ...choices]
    return [name, ...texts.filter((text) => typeof text === 'string')]
  })
}

function takesNothing({ inputSchema }: DeviceTool): boolean {
  const { properties } = inputSchema
  return !isJsonObject(properties) || Object.keys(properties).length === 0
}
