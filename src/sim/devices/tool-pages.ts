/**
 * Tool pages: `tools/list` as the firmware does it, 8,000 bytes at a time, with the next tool's name as cursor.
 */
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { FirmwareTool } from './firmware-tool.ts'
import { toFirmwareToolJson } from './firmware-tool.ts'

/** The firmware's own bound for one answer. */
const PAGE_BYTES = 8_000
/** Room the firmware keeps for the closing bracket and the cursor. */
const RESERVE = 30
const OPENING = '{"tools":['

/** The text of the result, or the error message: an unknown cursor and a tool too large give the same one. */
export function createToolPage(
  tools: readonly FirmwareTool[],
  cursor: string,
  withUserTools: boolean,
): Result<string, string> {
  let json = OPENING
  let nextCursor = ''
  let started = cursor === ''
  for (const tool of tools) {
    started ||= tool.name === cursor
    if (!started || (tool.userOnly === true && !withUserTools)) continue
    const entry = `${JSON.stringify(toFirmwareToolJson(tool))},`
    if (Buffer.byteLength(json) + Buffer.byteLength(entry) + RESERVE > PAGE_BYTES) {
      nextCursor = tool.name
      break
    }
    json += entry
  }
  if (json === OPENING && tools.length > 0)
    return fail(`Failed to add tool ${nextCursor} because of payload size limit`)
  const list = json.endsWith(',') ? json.slice(0, -1) : json
  // The name goes between quotes as it is; one with a quote in it breaks the frame, as it does on a real device.
  return ok(nextCursor === '' ? `${list}]}` : `${list}],"nextCursor":"${nextCursor}"}`)
}
