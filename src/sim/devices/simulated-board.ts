/**
 * Simulated board: a kind of device, with a state that its tools read and change.
 *
 * Every board has the common tools of the firmware first, then its own, then the ones meant for its owner only.
 */
import type { JsonObject } from '../../core/json.ts'
import { createSimulatedCameraTools } from './camera.ts'
import { createSimulatedLampTools } from './lamp.ts'
import { createSimulatedRobotTools } from './robot.ts'
import { createSimulatedAssetsTool, createSimulatedScreenTools } from './screen.ts'
import type { ScreenImageTransferClient } from './screen.ts'
import type { FirmwareTool } from './firmware-tool.ts'
import { FirmwareToolError } from './firmware-tool.ts'

export type SimulatedBoardKind = 'speaker' | 'lamp' | 'camera' | 'robot'

/** What a board uses outside of itself. */
export interface SimulatedBoardDependencies extends ScreenImageTransferClient {
  readonly firmware: string
  /** Whether it has the tool that sets the URL of its pictures and sounds. */
  readonly hasAssets: boolean
  readonly systemInfo: () => JsonObject
  readonly reboot: () => void
  /** Posts a picture to the address of the last `initialize`; resolves to the body of the response. */
  readonly explain: (question: string, jpeg: Uint8Array) => Promise<string>
}

/** `state` is for tests and demos: what a person in front of the device would see. */
export interface SimulatedBoard {
  readonly name: string
  readonly tools: readonly FirmwareTool[]
  readonly state: () => JsonObject
}

/** Names of real boards, by which backends recognise a device. */
const BOARD_NAMES: Readonly<Record<SimulatedBoardKind, string>> = {
  speaker: 'esp-box-3',
  lamp: 'bread-compact-wifi',
  camera: 'esp32-s3-korvo2-v3',
  robot: 'otto-robot',
}

export function createSimulatedBoard(
  kind: SimulatedBoardKind,
  surroundings: SimulatedBoardDependencies,
): SimulatedBoard {
  const common = { volume: 70, brightness: 75, theme: 'light' }
  const own = ownTools(kind, surroundings)
  const screen = createSimulatedScreenTools(() => common.theme, surroundings)
  const assets = createSimulatedAssetsTool()
  return {
    name: BOARD_NAMES[kind],
    tools: [
      ...commonTools(common),
      ...own.tools,
      ...userTools(surroundings),
      ...screen.tools,
      ...(surroundings.hasAssets ? [assets.tool] : []),
    ],
    state: () => ({ ...common, ...own.state(), ...screen.state(), ...assets.state() }),
  }
}

function ownTools(kind: SimulatedBoardKind, surroundings: SimulatedBoardDependencies) {
  if (kind === 'lamp') return createSimulatedLampTools()
  if (kind === 'camera') return createSimulatedCameraTools(surroundings.explain)
  if (kind === 'robot') return createSimulatedRobotTools()
  return { tools: [], state: () => ({}) }
}

function commonTools(state: { volume: number; brightness: number; theme: string }): readonly FirmwareTool[] {
  return [
    {
      name: 'self.get_device_status',
      description: 'Tells the current volume, screen, battery and network of the device.',
      properties: [],
      run: () => ({
        audio_speaker: { volume: state.volume },
        screen: { brightness: state.brightness, theme: state.theme },
        battery: { level: 92, charging: false },
        network: { type: 'wifi', ssid: 'hearth', signal: 'strong' },
      }),
    },
    {
      name: 'self.audio_speaker.set_volume',
      description: 'Sets the volume. If it is not known, call `self.get_device_status` first.',
      properties: [{ name: 'volume', type: 'integer', min: 0, max: 100 }],
      run: ({ volume }) => {
        state.volume = Number(volume)
        return true
      },
    },
    {
      name: 'self.screen.set_brightness',
      description: 'Sets the brightness of the screen.',
      properties: [{ name: 'brightness', type: 'integer', min: 0, max: 100 }],
      run: ({ brightness }) => {
        state.brightness = Number(brightness)
        return true
      },
    },
    {
      name: 'self.screen.set_theme',
      description: 'Sets the theme of the screen, `light` or `dark`.',
      properties: [{ name: 'theme', type: 'string' }],
      run: ({ theme }) => {
        // The tool ran and refused: `false` as text, not an error.
        if (theme !== 'light' && theme !== 'dark') return false
        state.theme = theme
        return true
      },
    },
  ]
}

function userTools({ systemInfo, reboot }: SimulatedBoardDependencies): readonly FirmwareTool[] {
  return [
    {
      name: 'self.get_system_info',
      description: 'Tells what the device reports when it boots.',
      properties: [],
      userOnly: true,
      run: systemInfo,
    },
    {
      name: 'self.reboot',
      description: 'Restarts the device.',
      properties: [],
      userOnly: true,
      run: () => {
        reboot()
        return true
      },
    },
    {
      name: 'self.upgrade_firmware',
      description: 'Flashes a firmware and restarts.',
      // The real tool has a description as the default, and would try to flash from it.
      properties: [{ name: 'url', type: 'string', default: 'The address of the firmware image' }],
      userOnly: true,
      run: ({ url }) => {
        if (/^https?:.*\.bin$/.test(String(url))) {
          reboot()
          return true
        }
        throw new FirmwareToolError(`cannot download "${String(url)}"`)
      },
    },
  ]
}
