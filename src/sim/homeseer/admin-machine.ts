/**
 * Admin operations on plug-ins, interfaces and HomeSeer itself.
 *
 * Pure, given the world it is handed.
 */
import type { JsonObject } from '../../core/json.ts'
import { ok } from '../../core/result.ts'
import { booleanField, field, textField } from '../../homeseer/wire/field.ts'
import { changed, refuse, type OperationResult, type Operations } from './admin-result.ts'
import type { World } from './world.ts'
import type { SimInterface, SimPlugin } from './system.ts'

export const MACHINE_OPERATIONS: Operations = {
  'plugins.list': ({ system }) => ok({ plugins: system.plugins.map((plugin) => ({ ...plugin })) }),
  'plugins.install': installPlugin,
  'plugins.update': (world, args) =>
    changePlugin(world, args, (one) => ({
      ...one,
      version: textField(args, 'targetVersion') ?? `${one.version}.1`,
      updateAvailable: false,
    })),
  'plugins.remove': (world, args) => changePlugin(world, args, () => undefined),
  'plugins.set_enabled': (world, args) =>
    changePlugin(world, args, (one) => ({ ...one, enabled: booleanField(args, 'enabled') ?? one.enabled })),
  'plugins.restart': (world, args) => changePlugin(world, args, (one) => ({ ...one, restarts: one.restarts + 1 })),

  'interfaces.list': ({ system }) => ok({ interfaces: system.interfaces.map((one) => ({ ...one })) }),
  'interfaces.diagnostics': ({ system }, args) => {
    const wanted = textField(args, 'interfaceId')
    const found = system.interfaces.filter((one) => wanted === undefined || one.id === wanted)
    return found.length === 0
      ? refuse('not-found', 'no such interface')
      : ok({ interfaces: found.map(({ id, name, restarts }) => ({ id, name, restarts, state: 'OK' })) })
  },
  'interfaces.add': addInterface,
  'interfaces.update': (world, args) =>
    changeInterface(world, args, (one) => ({
      ...one,
      name: textField(args, 'interfaceName') ?? one.name,
      settings: field(args, 'settings') ?? one.settings,
    })),
  'interfaces.remove': (world, args) => changeInterface(world, args, () => undefined),
  'interfaces.restart': (world, args) =>
    changeInterface(world, args, (one) => ({ ...one, restarts: one.restarts + 1 })),

  'system.backup.list': ({ system }) => ok({ backups: system.backups.map((backup) => ({ ...backup })) }),
  'system.backup.start': ({ system }, args, nowMs) => {
    const backup = { id: `backup-${system.backups.length + 1}`, label: textField(args, 'label') ?? '', madeMs: nowMs }
    system.backups = [...system.backups, backup]
    return changed(null, backup)
  },
  'system.restore.start': ({ system }, args) => {
    const backup = system.backups.find((one) => one.id === textField(args, 'backupId'))
    if (backup === undefined) return refuse('not-found', 'no such backup')
    // `running` is looked at by tests; nothing here really stops.
    if (booleanField(args, 'verifyOnly') !== true) system.running = 'restarting'
    return changed(null, { ...backup, restored: booleanField(args, 'verifyOnly') !== true })
  },
  'system.service.restart': ({ system }, args) => {
    system.running = 'restarting'
    return changed(null, { service: textField(args, 'service') ?? 'hs4', state: 'restarting' })
  },
  'system.shutdown': ({ system }) => {
    system.running = 'shut down'
    return changed(null, { state: 'shut down' })
  },
  'system.config.get': ({ system }) => ok({ settings: Object.fromEntries(system.settings) }),
  'system.config.set': ({ system }, args) => {
    const key = textField(args, 'key')
    const value = field(args, 'value')
    if (key === undefined || value === undefined || value === null || typeof value === 'object')
      return refuse('invalid', 'key and a plain value are needed')
    const before = system.settings.get(key)
    system.settings.set(key, value)
    return changed(before === undefined ? null : { key, value: before }, { key, value })
  },
}

function installPlugin({ system }: World, args: JsonObject): OperationResult {
  const id = textField(args, 'pluginId') ?? ''
  if (id === '') return refuse('invalid', 'a plug-in needs an id')
  if (system.plugins.some((plugin) => plugin.id === id)) return refuse('conflict', `${id} is installed`)
  const version = textField(args, 'version') ?? '1.0.0.0'
  const plugin = { id, name: id, version, updateAvailable: false, instance: '', enabled: true, restarts: 0 }
  system.plugins = [...system.plugins, plugin]
  return changed(null, plugin)
}

/** Without an instance all instances are meant. */
function changePlugin(
  { system }: World,
  args: JsonObject,
  change: (plugin: SimPlugin) => SimPlugin | undefined,
): OperationResult {
  const instance = textField(args, 'instance')
  const meant = (one: SimPlugin) =>
    one.id === textField(args, 'pluginId') && (instance === undefined || one.instance === instance)
  const before = system.plugins.filter(meant)
  if (before.length === 0) return refuse('not-found', 'no such plug-in')
  const after = before.map(change).filter((one) => one !== undefined)
  system.plugins = [...system.plugins.filter((one) => !meant(one)), ...after]
  return changed({ instances: before }, after.length === 0 ? null : { instances: after })
}

function addInterface({ system }: World, args: JsonObject): OperationResult {
  const type = textField(args, 'interfaceType') ?? ''
  const name = textField(args, 'interfaceName') ?? ''
  if (type === '' || name === '') return refuse('invalid', 'an interface needs a type and a name')
  const id = `${type.toLowerCase()}-${system.interfaces.length + 1}`
  const after = { id, type, name, settings: field(args, 'settings') ?? {}, restarts: 0 }
  system.interfaces = [...system.interfaces, after]
  return changed(null, after)
}

function changeInterface(
  { system }: World,
  args: JsonObject,
  change: (one: SimInterface) => SimInterface | undefined,
): OperationResult {
  const before = system.interfaces.find((one) => one.id === textField(args, 'interfaceId'))
  if (before === undefined) return refuse('not-found', 'no such interface')
  const after = change(before)
  system.interfaces = system.interfaces.map((one) => (one === before ? after : one)).filter((one) => one !== undefined)
  return changed(before, after === undefined ? null : after)
}
