/**
 * Tool result: converts a firmware's answer to a tool call into the form that MCP clients know.
 *
 *   stock image   {"type":"image","image":"{\"type\":\"image\",\"mimeType\":\"image/jpeg\",\"data\":\"…\"}"}
 *   standard      {"type":"image","data":"…","mimeType":"image/jpeg"}
 *
 * `false` as text means that the tool ran and refused; stock firmware has no error flag, and none is added here.
 */
import { fromBase64, toBase64 } from '../../core/bytes.ts'
import { detectMedia } from './media-type-detection.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { parseBoundedJsonObject } from './bounded-json.ts'

type ContentItem =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }

export interface ToolResult {
  readonly content: readonly ContentItem[]
  readonly isError: boolean
  /** The answer as an object, when it is one text and that text is a JSON object. */
  readonly structured: JsonObject | undefined
}

export type ToolResultFault = { readonly kind: 'bad-content'; readonly problem: string }

const MAX_ITEMS = 64
/** Models accept pictures up to 5 MB; the largest picture of a board has some hundred kilobytes. */
const MAX_MEDIA_BYTES = 4 * 1_048_576

export function decodeToolResult(result: Json): Result<ToolResult, ToolResultFault> {
  if (!isJsonObject(result) || !Array.isArray(result['content']))
    return fail({ kind: 'bad-content', problem: 'the answer has no content' })
  const entries = result['content'] as readonly Json[]
  if (entries.length > MAX_ITEMS)
    return fail({ kind: 'bad-content', problem: `${entries.length} pieces of content, ${MAX_ITEMS} allowed` })
  const content = entries.map(standardItem)
  return ok({ content, isError: result['isError'] === true, structured: structured(content) })
}

function standardItem(entry: Json): ContentItem {
  if (!isJsonObject(entry)) return { type: 'text', text: JSON.stringify(entry) }
  if (entry['type'] === 'text' && typeof entry['text'] === 'string') return { type: 'text', text: entry['text'] }
  if (entry['type'] === 'image' && typeof entry['image'] === 'string') {
    const inner = parseBoundedJsonObject(entry['image'])
    if (inner !== undefined) return media(inner, 'image') ?? asText(entry)
  }
  if (entry['type'] === 'image' || entry['type'] === 'audio') return media(entry, entry['type']) ?? asText(entry)
  return asText(entry)
}

/**
 * The type is derived from the bytes, not from what the device claims. SVG is refused, because it can contain scripts.
 */
function media(entry: JsonObject, type: 'image' | 'audio'): ContentItem | undefined {
  const { data } = entry
  if (typeof data !== 'string') return undefined
  if (data.length > (MAX_MEDIA_BYTES * 4) / 3 + 4) return leftOut(type, 'too large')
  const bytes = fromBase64(data)
  const found = bytes === undefined ? undefined : detectMedia(bytes)
  if (found?.mimeType.startsWith(type) !== true) return leftOut(type, 'broken, or of a kind that is not shown')
  return { type, data: found.bytes.length === bytes?.length ? data : toBase64(found.bytes), mimeType: found.mimeType }
}

/** A text in place of the picture, so that a reader knows that there was one. */
function leftOut(type: 'image' | 'audio', why: string): ContentItem {
  return {
    type: 'text',
    text: `[The device sent ${type === 'image' ? 'a picture' : 'a sound'} that is ${why}; it was left out.]`,
  }
}

/** Content without a standard form is shown as text. */
function asText(entry: JsonObject): ContentItem {
  return { type: 'text', text: JSON.stringify(entry) }
}

function structured(content: readonly ContentItem[]): JsonObject | undefined {
  const only = content.length === 1 ? content[0] : undefined
  return only?.type === 'text' && only.text.startsWith('{') ? parseBoundedJsonObject(only.text) : undefined
}
