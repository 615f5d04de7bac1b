/**
 * Admin target read: reads the target of a direct administration call from HomeSeer, so that `applied` is based on more
 * than HomeSeer's ok.
 *
 * Does I/O (through the link).
 */
import type { JsonObject } from '../../core/json.ts'
import type { HomeseerToolContext } from '../tools/homeseer-tool-context.ts'
import { toTextOrEmpty } from '../tools/json-text.ts'
import { DEVICE_PROPERTY_MEMBERS } from './camera-event-config-operations.ts'
import { formatPropertyValue } from './direct-admin-route.ts'

/** Returns `undefined` if the target cannot be read without running code on HomeSeer. */
export async function readAdminOperationTarget(
  homeseer: HomeseerToolContext,
  op: string,
  args: JsonObject,
): Promise<JsonObject | undefined> {
  if (op === 'config.device_metadata.set') return observeDevice(homeseer, Number(args['ref']))
  if (!op.startsWith('plugins.')) return undefined
  // The catalog is a cache, and the present state is needed.
  homeseer.catalog.forget()
  const plugins = await homeseer.catalog.plugins()
  if (!plugins.ok) return undefined
  const id = toTextOrEmpty(args['pluginId']).toLowerCase()
  const instances = plugins.value.filter((one) => one.id.toLowerCase() === id)
  return {
    instances: instances.map(({ id: pluginId, name, version, updateAvailable, instance }) => ({
      id: pluginId,
      name,
      version,
      updateAvailable,
      instance,
    })),
  }
}

async function observeDevice({ link }: HomeseerToolContext, ref: number): Promise<JsonObject | undefined> {
  const read = await link.mirror.read([ref])
  const record = read.ok ? read.value.get(ref)?.record : undefined
  if (record === undefined) return undefined
  const { name, location, location2, userNote } = record
  return { ref, name, location, location2, userNote }
}

/** Returns false only if the target can be read and does not show the change. */
export function isAdminChangePlausible(op: string, args: JsonObject, after: JsonObject | undefined): boolean {
  if (after === undefined) return true
  if (op === 'config.device_metadata.set') {
    const name = DEVICE_PROPERTY_MEMBERS[toTextOrEmpty(args['property']).toLowerCase()]
    return name === undefined || after[name] === formatPropertyValue(args['value'])
  }
  const instances = Array.isArray(after['instances']) ? (after['instances'] as readonly JsonObject[]) : []
  // Updating to "the newest" and restarting need not change anything visible.
  if (op === 'plugins.install') return instances.length > 0
  if (op === 'plugins.remove') return instances.length === 0
  if (op === 'plugins.update' && args['targetVersion'] !== undefined)
    return instances.every(({ version }) => version === args['targetVersion'])
  return true
}
