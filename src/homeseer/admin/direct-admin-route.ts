/**
 * Direct admin route: the administration operations that HomeSeer's own requests and pages support. All others need the
 * adapter: undocumented requests are not tried out on an owner's house.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { HomeseerRequestDefinition } from '../wire/http-exchange.ts'
import { findScriptError, createScriptRunRequest, createBackupRequest } from '../wire/script-and-backup-pages.ts'
import { createPluginFunctionRequest, createDevicePropertyWriteRequest } from '../wire/json-requests.ts'
import { toTextOrEmpty } from '../tools/json-text.ts'

export interface DirectAdminRoute {
  /** The name of the way, for the record. */
  readonly transport: string
  readonly exchange: HomeseerRequestDefinition<Json>
  /** The script that would run, to be compared with the owner's list. */
  readonly scriptId?: string
}

/** Returns `undefined` if HomeSeer does not support the operation, or not with these arguments. */
export function findDirectAdminRoute(op: string, args: JsonObject, scriptPage: string): DirectAdminRoute | undefined {
  switch (op) {
    // Documented by HomeSeer: a JSON request that sets one property of one device.
    case 'config.device_metadata.set': {
      const exchange = createDevicePropertyWriteRequest(
        Number(args['ref']),
        toTextOrEmpty(args['property']),
        formatPropertyValue(args['value']),
      )
      return { transport: 'json:setdeviceproperty', exchange: acknowledged(exchange) }
    }
    case 'system.backup.start':
      // The page accepts neither a label nor a choice of what to include.
      if (args['label'] !== undefined || args['includeMedia'] === false) return undefined
      return { transport: 'page:backup', exchange: acknowledged(createBackupRequest()) }
    // Script statements of HomeSeer's scripting interface; the owner's list of scripts may forbid them.
    case 'system.service.restart':
      return script(`hs.RestartService("${toTextOrEmpty(args['service'])}")`, scriptPage)
    case 'system.shutdown':
      return script(`hs.Shutdown(${Number(args['graceSeconds'])})`, scriptPage)
    default:
      return updaterRoute(op, args)
  }
}

/** HomeSeer's updater is a plug-in; if it is missing, HomeSeer's answer says so. */
function updaterRoute(op: string, args: JsonObject): DirectAdminRoute | undefined {
  const id = toTextOrEmpty(args['pluginId'])
  const call = (functionName: string, ...more: readonly (string | boolean)[]): DirectAdminRoute => ({
    transport: `pluginfunction:updater.${functionName}`,
    exchange: createPluginFunctionRequest({ plugin: 'updater', functionName, parameters: [id, ...more] }),
  })
  const version = (name: string): readonly string[] => (args[name] === undefined ? [] : [toTextOrEmpty(args[name])])
  switch (op) {
    case 'plugins.install':
      // The updater installs only from its own catalogue.
      return args['source'] === undefined ? call('InstallPlugin', ...version('version')) : undefined
    case 'plugins.update':
      return call('UpdatePlugin', ...version('targetVersion'))
    case 'plugins.remove':
      return call('RemovePlugin')
    case 'plugins.set_enabled':
      return call('SetPluginEnabled', args['enabled'] === true)
    case 'plugins.restart':
      // The updater restarts all instances of a plug-in, never a single one.
      return args['instance'] === undefined ? call('RestartPlugin') : undefined
    default:
      return undefined
  }
}

/** The parts of the statement are numbers and names that the schema restricts, so none can end the string early. */
function script(command: string, scriptPage: string): DirectAdminRoute {
  const { decode, ...exchange } = createScriptRunRequest(command, scriptPage)
  return {
    transport: 'script',
    // The name before the bracket.
    scriptId: command.split('(')[0] ?? command,
    exchange: {
      ...exchange,
      decode: (reply) => {
        const decoded = decode(reply)
        if (!decoded.ok) return decoded
        const complaint = findScriptError(decoded.value)
        if (complaint === undefined) return ok([...decoded.value.responseArray])
        return fail({ kind: 'refused', reason: 'unsupported', text: complaint })
      },
    },
  }
}

/** HomeSeer's `ok` as a value, so that all routes answer with JSON. */
function acknowledged(exchange: HomeseerRequestDefinition<void>): HomeseerRequestDefinition<Json> {
  return {
    ...exchange,
    decode: (reply) => {
      const done = exchange.decode(reply)
      return done.ok ? ok('ok') : done
    },
  }
}

/** Formats a property's value as HomeSeer expects and shows it. */
export function formatPropertyValue(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '')
}
