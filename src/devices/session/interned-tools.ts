/**
 * Interned tools: shares one object between devices that list equal tools or equal firmware names. A house has more
 * devices than kinds of boards, and the list of tools is most of what is stored about a device.
 *
 * Pure, apart from what it remembers.
 */
import { hash } from 'node:crypto'
import type { DeviceServerInfo, DeviceTool } from '../wire/tool-list.ts'

/** Beyond this many different tools, the oldest is dropped; this only affects memory. */
const MAX_POOLED = 4_096

const pooledTools = new Map<string, DeviceTool>()
const pooledInfos = new Map<string, DeviceServerInfo>()
const pooledLists = new Map<string, readonly DeviceTool[]>()

/** Returns equal tools, as the same objects if they were listed before. */
export function internToolList(tools: readonly DeviceTool[]): readonly DeviceTool[] {
  const keys = tools.map((tool) => JSON.stringify(tool))
  const shared = tools.map((tool, index) => remember(pooledTools, keys[index] ?? '', tool))
  return remember(pooledLists, hash('sha256', keys.join('\n')), shared)
}

/** Returns an equal name and version, as the same object if a device sent it before. */
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
