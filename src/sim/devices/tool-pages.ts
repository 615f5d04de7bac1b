/**
 * Tool pages: `tools/list` as in the firmware, 8,000 bytes per page, with the next tool's name as the cursor.
 */
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { FirmwareTool } from './firmware-tool.ts'
import { toFirmwareToolJson } from './firmware-tool.ts'

/** The firmware's own bound for one answer. */
const PAGE_BYTES = 8_000
/** The room that the firmware reserves for the closing bracket and the cursor. */
const RESERVE = 30
const OPENING = '{"tools":['

/**
 * The text of the result, or the error message, which is the same for an unknown cursor and a tool that is too large.
 */
export function encodeToolListPage(
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
  // The name is inserted without escaping; one with a quote breaks the frame, as on a real device.
  return ok(nextCursor === '' ? `${list}]}` : `${list}],"nextCursor":"${nextCursor}"}`)
}
