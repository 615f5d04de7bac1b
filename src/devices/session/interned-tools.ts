/**
 * Interned tools: one object for tools, and for names of firmware, that many devices describe in the same words. A house
 * has more devices than kinds of boards, and what a board can do is most of what is kept of a device.
 *
 * Pure, apart from what it remembers.
 */
import { hash } from 'node:crypto'
import type { DeviceServerInfo, DeviceTool } from '../wire/tool-list.ts'

/** Of more different tools than this, the oldest is forgotten; nothing but memory depends on it. */
const MAX_POOLED = 4_096

const pooledTools = new Map<string, DeviceTool>()
const pooledInfos = new Map<string, DeviceServerInfo>()
const pooledLists = new Map<string, readonly DeviceTool[]>()

/** The same tools; as the same object, if they were listed before. */
export function internToolList(tools: readonly DeviceTool[]): readonly DeviceTool[] {
  const keys = tools.map((tool) => JSON.stringify(tool))
  const shared = tools.map((tool, index) => remember(pooledTools, keys[index] ?? '', tool))
  return remember(pooledLists, hash('sha256', keys.join('\n')), shared)
}

/** The same name and version; as the same object, if a device said so before. */
export function internServerInfo(info: DeviceServerInfo): DeviceServerInfo {
  return remember(pooledInfos, JSON.stringify(info), info)
}

function remember<Value>(known: Map<string, Value>, key: string, value: Value): Value {
  const before = known.get(key)
  if (before !== undefined) return before
  const [oldest] = known.keys()
  if (oldest !== undefined && known.size >= MAX_POOLED) known.delete(oldest)
  known.set(key, value)
  return value
}
