/**
 * Tool effect: what calling a device's tool means for the house. A device's own word for it does not count.
 *
 *   user-only, or on the sensitive list ▸ sensitive
 *   looks, listens, starts or ends programs ▸ sensitive
 *   a getter by name that takes nothing ▸ reads      else ▸ writes
 *
 * A name that looks like reading is believed only while the tool takes nothing that it could act upon, and no other word
 * of it is one for doing. The owner's own list may name tools with arguments.
 */
import type { Effect } from '../../bus/capability.ts'
import { isJsonObject } from '../../core/json.ts'
import { matchesAnyPattern } from '../../guard/pattern.ts'
import type { DeviceTool } from '../wire/tool-list.ts'

export interface EffectRules {
  /** The owner's: names, or beginnings followed by `*`, of tools that only read. */
  readonly readTools: readonly string[]
  /** The owner's, beside the built-in ones. */
  readonly sensitiveTools: readonly string[]
}

/** The verb that a getter's last word begins with: `self.battery.get_level`, `self.application.list_running`. */
const GETTER = /(?:^|[._])(?:get|list|query|read|is|has)(?:_[a-z0-9_]*)?$/
/** In whose company a getter is none: `get_and_clear`, `get_set_mode`. */
const DOING: ReadonlySet<string> = new Set(
  'and or set reset clear delete remove write toggle turn open close unlock lock start stop move play send update enable disable'.split(
    ' ',
  ),
)
/** Letting a room or a screen be seen or heard, and running programs: as grave as what leaves a house by them. */
const LOOKS_LISTENS_RUNS: ReadonlySet<string> = new Set(
  'photo photos photograph picture selfie snapshot screenshot screencap capture video record recording listen microphone mic eavesdrop transcribe launch kill execute exec shell terminal command script install uninstall'.split(
    ' ',
  ),
)

/** Restarting, flashing, cutting off, and letting pictures of a screen leave: whoever lists them, and to whomever. */
const SENSITIVE =
  /(?:^|[._])(?:reboot|restart|factory_reset|upgrade_firmware|ota_update|set_download_url|reconfigure_wifi|snapshot|preview_image)$/

export function classifyToolEffect(tool: DeviceTool, rules: EffectRules): Effect {
  const { name, userOnly } = tool
  if (userOnly || SENSITIVE.test(name) || matchesAnyPattern(rules.sensitiveTools, name)) return 'sensitive'
  if (matchesAnyPattern(rules.readTools, name)) return 'reads'
  const words = nameWords(name)
  if (words.some((word) => LOOKS_LISTENS_RUNS.has(word))) return 'sensitive'
  const isGetter = GETTER.test(name) && !words.some((word) => DOING.has(word))
  return isGetter && takesNothing(tool) ? 'reads' : 'writes'
}

function nameWords(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
}

function takesNothing({ inputSchema }: DeviceTool): boolean {
  const { properties } = inputSchema
  return !isJsonObject(properties) || Object.keys(properties).length === 0
}
