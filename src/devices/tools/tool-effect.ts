/**
 * Tool effect: what calling a device's tool means for the house. A device's own word for it does not count.
 *
 *   user-only, or on the sensitive list ▸ sensitive      on the safe list, without arguments ▸ reads      else ▸ writes
 *
 * A name that looks like reading is no proof: only names on a list are believed, and only while the tool takes nothing
 * that it could act upon. The owner's own list may name tools with arguments.
 *
 * Pure.
 */
import type { Effect } from '../../bus/capability.ts'
import { isJsonObject } from '../../core/json.ts'
import { matchesAny } from '../../guard/pattern.ts'
import type { DeviceTool } from '../wire/tool-list.ts'

export interface EffectRules {
  /** The owner's: names, or beginnings followed by `*`, of tools that only read. */
  readonly readTools: readonly string[]
  /** The owner's, beside the built-in ones. */
  readonly sensitiveTools: readonly string[]
}

/** Getters of stock firmware and of its boards (facts, 3.6 to 3.8). */
const READS: ReadonlySet<string> = new Set([
  'self.get_device_status',
  'self.get_system_info',
  'self.screen.get_info',
  'self.battery.get_level',
  'self.lamp.get_state',
  'self.light.get_power',
  'self.led_strip.get_brightness',
  'self.chassis.get_light_mode',
  'self.camera.get_ir_filter_state',
  'self.otto.get_status',
  'self.otto.get_trims',
  'self.otto.get_ip',
])

/** Restarting, flashing, cutting off, and letting pictures of a screen leave: whoever lists them, and to whomever. */
const SENSITIVE =
  /(?:^|[._])(?:reboot|restart|factory_reset|upgrade_firmware|ota_update|set_download_url|reconfigure_wifi|snapshot|preview_image)$/

export function effectOfTool(tool: DeviceTool, rules: EffectRules): Effect {
  const { name, userOnly } = tool
  if (userOnly || SENSITIVE.test(name) || matchesAny(rules.sensitiveTools, name)) return 'sensitive'
  if (matchesAny(rules.readTools, name)) return 'reads'
  return READS.has(name) && takesNothing(tool) ? 'reads' : 'writes'
}

function takesNothing({ inputSchema }: DeviceTool): boolean {
  const { properties } = inputSchema
  return !isJsonObject(properties) || Object.keys(properties).length === 0
}
