/**
 * Robot: a board that walks, turns and gestures. Its many tools do not fit on one page.
 *
 * Pure, apart from the state it holds.
 */
import type { JsonObject } from '../../core/json.ts'
import type { FirmwareToolProperty, FirmwareTool } from './firmware-tool.ts'
import { FirmwareToolError } from './firmware-tool.ts'

/** The Otto robot's own arguments and bounds. */
const GAIT: readonly FirmwareToolProperty[] = [
  { name: 'steps', type: 'integer', default: 3, min: 1, max: 100 },
  { name: 'speed', type: 'integer', default: 1000, min: 500, max: 1500 },
  { name: 'direction', type: 'integer', default: 1, min: -1, max: 1 },
  { name: 'amount', type: 'integer', default: 25, min: 0, max: 170 },
]

const GESTURES = [
  'walk_forward',
  'turn_left',
  'turn_right',
  'jump',
  'swing',
  'moonwalk',
  'bend',
  'shake_leg',
  'updown',
  'tiptoe_swing',
  'jitter',
  'ascending_turn',
  'crusaito',
  'flapping',
  'hands_up',
  'hands_down',
  'hand_wave',
  'windmill',
  'greeting',
  'shy',
  'morning_exercise',
  'fitness',
] as const

export function createSimulatedRobotTools(): {
  readonly tools: readonly FirmwareTool[]
  readonly state: () => JsonObject
} {
  const done: string[] = []
  const trims: Record<string, number> = { left_leg: 0, right_leg: 0, left_foot: 0, right_foot: 0 }
  const gesture = (name: string): FirmwareTool => ({
    name: `self.otto.${name}`,
    description:
      `Makes the robot do "${name.replaceAll('_', ' ')}". steps is how often, speed is the time of one step in ` +
      'milliseconds (smaller is faster), direction is 1 forward or left, -1 backward or right, amount is how far.',
    properties: GAIT,
    takesMs: 2,
    run: ({ steps }) => {
      done.push(`${name} ×${String(steps)}`)
      if (done.length > 32) done.shift()
      return true
    },
  })
  const trim: FirmwareTool = {
    name: 'self.otto.set_trim',
    description: 'Adjusts one servo by some degrees, so that the robot stands straight.',
    properties: [
      { name: 'servo', type: 'string' },
      { name: 'degrees', type: 'integer', min: -50, max: 50 },
    ],
    run: ({ servo, degrees }) => {
      // With quotes, as firmware authors write: without escaping, this answer is not valid JSON.
      if (!Object.hasOwn(trims, String(servo))) throw new FirmwareToolError(`no servo "${String(servo)}"`)
      trims[String(servo)] = Number(degrees)
      return JSON.stringify(trims)
    },
  }
  const status: FirmwareTool = {
    name: 'self.otto.get_status',
    description: 'Tells whether the robot is moving.',
    properties: [],
    run: () => 'idle',
  }
  return { tools: [...GESTURES.map(gesture), trim, status], state: () => ({ done: [...done], trims: { ...trims } }) }
}
