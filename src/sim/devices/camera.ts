/**
 * Camera: takes real pictures of a small simulated room with a window, a lamp and a door.
 *
 * Pure, apart from the state it holds.
 */
import type { JsonObject } from '../../core/json.ts'
import type { RgbColour } from '../jpeg.ts'
import { encodeJpeg } from '../jpeg.ts'
import type { FirmwareTool } from './firmware-tool.ts'

/** The picture's size in blocks of 8 × 8: 320 × 240 pixels. */
const COLUMNS = 40
const ROWS = 30

export function createSimulatedCameraTools(explain: (question: string, jpeg: Uint8Array) => Promise<string>): {
  readonly tools: readonly FirmwareTool[]
  readonly state: () => JsonObject
} {
  let flipped = false
  let photos = 0
  const picture = () => encodeJpeg(COLUMNS, ROWS, (column, row) => room(flipped ? COLUMNS - 1 - column : column, row))
  const tools: readonly FirmwareTool[] = [
    {
      name: 'self.camera.take_photo',
      description: 'Takes a photo and explains it.',
      properties: [{ name: 'question', type: 'string' }],
      takesMs: 5,
      run: ({ question }) => {
        photos++
        return explain(String(question), picture())
      },
    },
    {
      name: 'self.camera.preview',
      description: 'Shows what the camera sees now.',
      properties: [],
      run: () => ({ jpeg: picture() }),
    },
    {
      name: 'self.camera.set_camera_flipped',
      description: 'Flips the picture.',
      properties: [],
      run: () => {
        flipped = !flipped
        return true
      },
    },
  ]
  return { tools, state: () => ({ flipped, photos }) }
}

function room(column: number, row: number): RgbColour {
  if (row >= 24) return [(column + row) % 2 === 0 ? 150 : 140, 110, 80]
  if (column >= 5 && column < 17 && row >= 5 && row < 15) return window(column, row)
  if (column >= 30 && column < 37 && row >= 8) return [120, 80, 50]
  if (Math.hypot(column - 23, (row - 6) * 1.2) < 3) return [255, 240, 190]
  return [225, 220 - row, 205 - row]
}

function window(column: number, row: number): RgbColour {
  if (column === 11 || row === 10) return [245, 245, 245]
  return row < 12 ? [130, 180, 230 - row * 4] : [90, 150, 80]
}
