/**
 * Screen: tools for the screen of a device that only its owner may use. All but one use a URL from their arguments,
 * which is why others may not.
 *
 * Pure, apart from the state it holds: its caller provides the network.
 */
import type { JsonObject } from '../../core/json.ts'
import { encodeJpeg } from '../jpeg.ts'
import type { RgbColour } from '../jpeg.ts'
import type { FirmwareTool } from './firmware-tool.ts'
import { FirmwareToolError } from './firmware-tool.ts'

/** Sends to and loads from the given URL, whatever it is. */
export interface ScreenImageTransferClient {
  /** Resolves to whether the upload was accepted. */
  readonly upload: (url: string, jpeg: Uint8Array) => Promise<boolean>
  /** Resolves to the number of bytes; `undefined` if the download failed. */
  readonly download: (url: string) => Promise<number | undefined>
}

const BLOCK = 8
const COLUMNS = 40
const ROWS = 30
const LIGHT: RgbColour = [240, 240, 240]
const DARK: RgbColour = [20, 20, 30]

export function createSimulatedScreenTools(
  theme: () => string,
  { upload, download }: ScreenImageTransferClient,
): { readonly tools: readonly FirmwareTool[]; readonly state: () => JsonObject } {
  let previewBytes = 0
  const tools: readonly FirmwareTool[] = [
    {
      name: 'self.screen.get_info',
      description: 'Tells the size of the screen and whether it has colours.',
      properties: [],
      userOnly: true,
      run: () => ({ width: COLUMNS * BLOCK, height: ROWS * BLOCK, monochrome: false }),
    },
    {
      name: 'self.screen.snapshot',
      description: 'Sends a picture of the screen to an address.',
      properties: [
        { name: 'url', type: 'string' },
        { name: 'quality', type: 'integer', default: 80, min: 1, max: 100 },
      ],
      userOnly: true,
      run: async ({ url }) => {
        const jpeg = encodeJpeg(COLUMNS, ROWS, () => (theme() === 'dark' ? DARK : LIGHT))
        if (!(await upload(String(url), jpeg))) throw new FirmwareToolError('Failed to upload snapshot')
        return true
      },
    },
    {
      name: 'self.screen.preview_image',
      description: 'Shows a picture from an address.',
      properties: [{ name: 'url', type: 'string' }],
      userOnly: true,
      run: async ({ url }) => {
        const bytes = await download(String(url))
        if (bytes === undefined) throw new FirmwareToolError('Failed to download image')
        previewBytes = bytes
        return true
      },
    },
  ]
  return { tools, state: () => ({ preview_bytes: previewBytes }) }
}

/** Since 2026-05 a device loads its pictures and sounds from the configured URL at the next boot. */
export function createSimulatedAssetsTool(): { readonly tool: FirmwareTool; readonly state: () => JsonObject } {
  let assetsUrl = ''
  const tool: FirmwareTool = {
    name: 'self.assets.set_download_url',
    description: 'Sets the address of the assets for the next boot.',
    properties: [{ name: 'url', type: 'string' }],
    userOnly: true,
    run: ({ url }) => {
      assetsUrl = String(url)
      return true
    },
  }
  return { tool, state: () => ({ assets_url: assetsUrl }) }
}
