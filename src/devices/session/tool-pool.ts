/**
 * Tool pool: one object for tools that many devices describe in the same words. A house has more devices than kinds of
 * boards, and what a board can do is most of what is kept of a device.
 *
 * Pure, apart from what it remembers.
 */
import { hash } from 'node:crypto'
import type { DeviceTool } from '../wire/tool-list.ts'

/** Of more different tools than this, the oldest is forgotten; nothing but memory depends on it. */
const MAX_POOLED = 4_096

const pooledTools = new Map<string, DeviceTool>()
const pooledLists = new Map<string, readonly DeviceTool[]>()

/** The same tools; as the same object, if they were listed before. */
export function internTools(tools: readonly DeviceTool[]): readonly DeviceTool[] {
  const keys = tools.map((tool) => JSON.stringify(tool))
  const shared = tools.map((tool, index) => remember(pooledTools, keys[index] ?? '', tool))
  return remember(pooledLists, hash('sha256', keys.join('\n')), shared)
}

function remember<Value>(known: Map<string, Value>, key: string, value: Value): Value {
  const before = known.get(key)
  if (before !== undefined) return before
  const [oldest] = known.keys()
  if (oldest !== undefined && known.size >= MAX_POOLED) known.delete(oldest)
  known.set(key, value)
  return value
}
