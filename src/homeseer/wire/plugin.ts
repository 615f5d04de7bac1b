/**
 * Plug-in record, as `pluginlist` gives it. The keys of a real HS4 are not captured; the reader takes all known
 * spellings (docs/protocols/homeseer.md, assumptions). Two instances of one plug-in are two records with one id.
 */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { readRecordBoolean, readRecordObjects, readRecordText } from './record-field.ts'
import type { MalformedReplyFault } from './http-exchange.ts'

export interface PluginRecord {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly updateAvailable: boolean
  readonly instance: string
}

export interface ReceivedPlugin extends PluginRecord {
  readonly raw: JsonObject
}

const MAX_PLUGINS = 1_000

export function decodePlugins(value: Json): Result<readonly ReceivedPlugin[], MalformedReplyFault> {
  const records = isJsonObject(value) ? readRecordObjects(value, 'Plugins', 'plugins') : undefined
  if (records === undefined) return fail({ kind: 'malformed', detail: 'a plug-in reply without a list of plug-ins' })
  return ok(
    records
      .slice(0, MAX_PLUGINS)
      .map(decodePlugin)
      .filter((plugin) => plugin.id !== ''),
  )
}

function decodePlugin(record: JsonObject): ReceivedPlugin {
  const name = readRecordText(record, 'Name', 'name', 'plugin') ?? ''
  return {
    id: readRecordText(record, 'ID', 'id', 'pluginid') ?? name,
    name,
    version: readRecordText(record, 'Version', 'version') ?? '',
    updateAvailable: readRecordBoolean(record, 'UpdateAvailable', 'update_available') ?? false,
    instance: readRecordText(record, 'Instance', 'instance') ?? '',
    raw: record,
  }
}

export function encodePlugin(plugin: PluginRecord): JsonObject {
  return {
    ID: plugin.id,
    Name: plugin.name,
    Version: plugin.version,
    UpdateAvailable: plugin.updateAvailable,
    Instance: plugin.instance,
  }
}
