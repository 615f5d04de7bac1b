/** Lamp: on, off and a colour. */
import type { JsonObject } from '../../core/json.ts'
import type { FirmwareToolProperty, FirmwareTool } from './firmware-tool.ts'

const CHANNEL = { type: 'integer', min: 0, max: 255 } as const
const RGB: readonly FirmwareToolProperty[] = [
  { name: 'r', ...CHANNEL },
  { name: 'g', ...CHANNEL },
  { name: 'b', ...CHANNEL },
]

export function createSimulatedLampTools(): {
  readonly tools: readonly FirmwareTool[]
  readonly state: () => JsonObject
} {
  let power = false
  let rgb = { r: 255, g: 200, b: 120 }
  const switched = (to: boolean) => () => {
    power = to
    return true
  }
  const tools: readonly FirmwareTool[] = [
    { name: 'self.lamp.turn_on', description: 'Turns the lamp on.', properties: [], run: switched(true) },
    { name: 'self.lamp.turn_off', description: 'Turns the lamp off.', properties: [], run: switched(false) },
    {
      name: 'self.lamp.get_state',
      description: 'Tells whether the lamp is on.',
      properties: [],
      run: () => ({ power }),
    },
    {
      name: 'self.light.set_rgb',
      description: 'Sets the colour of the lamp.',
      properties: RGB,
      run: ({ r, g, b }) => {
        rgb = { r: Number(r), g: Number(g), b: Number(b) }
        return true
      },
    },
  ]
  return { tools, state: () => ({ power, rgb }) }
}
