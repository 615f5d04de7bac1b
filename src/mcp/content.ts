/**
 * Content: MCP content blocks as they may leave us. Devices and peers hand blocks through; a block that a strict
 * client would choke on becomes text that shows it, so that one bad block does not cost the whole answer.
 *
 * Pure.
 */
import type { ContentBlock } from '../bus/call.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { isJsonObject } from '../core/json.ts'

export function mirror(data: Json): ContentBlock {
  return { type: 'text', text: JSON.stringify(data) }
}

export function wellFormed(blocks: readonly ContentBlock[]): readonly ContentBlock[] {
  return blocks.map((block) => (isWellFormed(block) ? block : mirror(block)))
}

function isWellFormed(block: ContentBlock): boolean {
  switch (block.type) {
    case 'text':
      return typeof block['text'] === 'string'
    case 'image':
    case 'audio':
      return isBase64(block['data']) && typeof block['mimeType'] === 'string'
    case 'resource_link':
      return typeof block['uri'] === 'string' && typeof block['name'] === 'string'
    case 'resource':
      return isResourceContents(block['resource'])
    default:
      return false
  }
}

/** What `resources/read` answers with, and what is embedded in a `resource` block. */
export function isResourceContents(value: Json | undefined): value is JsonObject {
  if (!isJsonObject(value) || typeof value['uri'] !== 'string') return false
  if (value['mimeType'] !== undefined && typeof value['mimeType'] !== 'string') return false
  return typeof value['text'] === 'string' || isBase64(value['blob'])
}

function isBase64(value: Json | undefined): boolean {
  return typeof value === 'string' && value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value)
}
