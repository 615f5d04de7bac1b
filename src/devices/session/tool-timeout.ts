/**
 * Tool timeout: how long a device may take for a tool, if the caller specifies no time.
 *
 * A photo is taken, encoded and posted while the device's main loop stands still; its own HTTP timeout is 30 s.
 */
export interface ToolTimeouts {
  readonly usualMs: number
  readonly photoMs: number
  /** The time for downloading and writing firmware, during which the device does not answer. */
  readonly flashMs: number
  /** Times by tool name, from the configuration. */
  readonly byTool: Readonly<Record<string, number>>
}

export const DEFAULT_TOOL_TIMEOUTS: ToolTimeouts = { usualMs: 30_000, photoMs: 75_000, flashMs: 300_000, byTool: {} }

export function resolveToolTimeoutMs(tool: string, times: ToolTimeouts): number {
  if (Object.hasOwn(times.byTool, tool)) return times.byTool[tool] ?? times.usualMs
  if (/(?:^|[._])(?:upgrade_firmware|ota_update)$/.test(tool)) return times.flashMs
  return isPhotoTool(tool) ? times.photoMs : times.usualMs
}

/** Firmware restarts before it sends the answer, so none ever arrives: the device's next boot counts as the answer. */
export function isRestartTool(tool: string): boolean {
  return /(?:^|[._])(?:reboot|restart|upgrade_firmware|ota_update)$/.test(tool)
}

/** `self.camera.take_photo` on stock boards, `take_photo` and `self_camera_take_photo` elsewhere. */
function isPhotoTool(tool: string): boolean {
  return /(?:^|[._])take_photo$/.test(tool)
}
