/** Admin operations on plug-ins, interfaces and HomeSeer itself. */
import type { JsonObject } from '../../core/json.ts'
import { ok } from '../../core/result.ts'
import { readRecordBoolean, readRecordField, readRecordText } from '../../homeseer/wire/record-field.ts'
import {
  createBeforeAfterResult,
  createRefusedResult,
  replaceOrRemoveItem,
  type SimulatedAdminResult,
  type SimulatedAdminOperations,
} from './admin-result.ts'
import type { SimulatedWorld } from './simulated-world.ts'
import type { SimulatedHomeseerInterface, SimulatedPlugin } from './simulated-system.ts'

export const SIMULATED_PLUGIN_AND_SYSTEM_OPERATIONS: SimulatedAdminOperations = {
  'plugins.list': ({ system }) => ok({ plugins: system.plugins.map((plugin) => ({ ...plugin })) }),
  'plugins.install': installPlugin,
  'plugins.update': (world, args) =>
    changePlugin(world, args, (one) => ({
      ...one,
      version: readRecordText(args, 'targetVersion') ?? `${one.version}.1`,
      updateAvailable: false,
    })),
  'plugins.remove': (world, args) => changePlugin(world, args, () => undefined),
  'plugins.set_enabled': (world, args) =>
    changePlugin(world, args, (one) => ({ ...one, enabled: readRecordBoolean(args, 'enabled') ?? one.enabled })),
  'plugins.restart': (world, args) => changePlugin(world, args, (one) => ({ ...one, restarts: one.restarts + 1 })),

  'interfaces.list': ({ system }) => ok({ interfaces: system.interfaces.map((one) => ({ ...one })) }),
  'interfaces.diagnostics': ({ system }, args) => {
    const wanted = readRecordText(args, 'interfaceId')
    const found = system.interfaces.filter((one) => wanted === undefined || one.id === wanted)
    return found.length === 0
      ? createRefusedResult('not-found', 'no such interface')
      : ok({ interfaces: found.map(({ id, name, restarts }) => ({ id, name, restarts, state: 'OK' })) })
  },
  'interfaces.add': addInterface,
  'interfaces.update': (world, args) =>
    changeInterface(world, args, (one) => ({
      ...one,
      name: readRecordText(args, 'interfaceName') ?? one.name,
      settings: readRecordField(args, 'settings') ?? one.settings,
    })),
  'interfaces.remove': (world, args) => changeInterface(world, args, () => undefined),
  'interfaces.restart': (world, args) =>
    changeInterface(world, args, (one) => ({ ...one, restarts: one.restarts + 1 })),

  'system.backup.list': ({ system }) => ok({ backups: system.backups.map((backup) => ({ ...backup })) }),
  'system.backup.start': ({ system }, args, nowMs) => {
    const backup = {
      id: `backup-${system.backups.length + 1}`,
      label: readRecordText(args, 'label') ?? '',
      madeMs: nowMs,
    }
    system.backups = [...system.backups, backup]
    return createBeforeAfterResult(undefined, backup)
  },
  'system.restore.start': ({ system }, args) => {
    const backup = system.backups.find((one) => one.id === readRecordText(args, 'backupId'))
    if (backup === undefined) return createRefusedResult('not-found', 'no such backup')
    // Tests read `running`; nothing here really stops.
    if (readRecordBoolean(args, 'verifyOnly') !== true) system.running = 'restarting'
    return createBeforeAfterResult(undefined, { ...backup, restored: readRecordBoolean(args, 'verifyOnly') !== true })
  },
  'system.service.restart': ({ system }, args) => {
    system.running = 'restarting'
    return createBeforeAfterResult(undefined, {
      service: readRecordText(args, 'service') ?? 'hs4',
      state: 'restarting',
    })
  },
  'system.shutdown': ({ system }) => {
    system.running = 'shut down'
    return createBeforeAfterResult(undefined, { state: 'shut down' })
  },
  'system.config.get': ({ system }) => ok({ settings: Object.fromEntries(system.settings) }),
  'system.config.set': ({ system }, args) => {
    const key = readRecordText(args, 'key')
    const value = readRecordField(args, 'value')
    if (key === undefined || value === undefined || value === null || typeof value === 'object')
      return createRefusedResult('invalid', 'key and a plain value are needed')
    const before = system.settings.get(key)
    system.settings.set(key, value)
    return createBeforeAfterResult(before === undefined ? undefined : { key, value: before }, { key, value })
  },
}

function installPlugin({ system }: SimulatedWorld, args: JsonObject): SimulatedAdminResult {
  const id = readRecordText(args, 'pluginId') ?? ''
  if (id === '') return createRefusedResult('invalid', 'a plug-in needs an id')
  if (system.plugins.some((plugin) => plugin.id === id)) return createRefusedResult('conflict', `${id} is installed`)
  const version = readRecordText(args, 'version') ?? '1.0.0.0'
  const plugin = { id, name: id, version, updateAvailable: false, instance: '', enabled: true, restarts: 0 }
  system.plugins = [...system.plugins, plugin]
  return createBeforeAfterResult(undefined, plugin)
}

/** Without an instance all instances are meant. */
function changePlugin(
  { system }: SimulatedWorld,
  args: JsonObject,
  change: (plugin: SimulatedPlugin) => SimulatedPlugin | undefined,
): SimulatedAdminResult {
  const instance = readRecordText(args, 'instance')
  const meant = (one: SimulatedPlugin) =>
    one.id === readRecordText(args, 'pluginId') && (instance === undefined || one.instance === instance)
  const before = system.plugins.filter(meant)
  if (before.length === 0) return createRefusedResult('not-found', 'no such plug-in')
  const after = before.map(change).filter((one) => one !== undefined)
  system.plugins = [...system.plugins.filter((one) => !meant(one)), ...after]
  return createBeforeAfterResult({ instances: before }, after.length === 0 ? undefined : { instances: after })
}

function addInterface({ system }: SimulatedWorld, args: JsonObject): SimulatedAdminResult {
  const type = readRecordText(args, 'interfaceType') ?? ''
  const name = readRecordText(args, 'interfaceName') ?? ''
  if (type === '' || name === '') return createRefusedResult('invalid', 'an interface needs a type and a name')
  const id = `${type.toLowerCase()}-${system.interfaces.length + 1}`
  const after = { id, type, name, settings: readRecordField(args, 'settings') ?? {}, restarts: 0 }
  system.interfaces = [...system.interfaces, after]
  return createBeforeAfterResult(undefined, after)
}

function changeInterface(
  { system }: SimulatedWorld,
  args: JsonObject,
  change: (one: SimulatedHomeseerInterface) => SimulatedHomeseerInterface | undefined,
): SimulatedAdminResult {
  const before = system.interfaces.find((one) => one.id === readRecordText(args, 'interfaceId'))
  if (before === undefined) return createRefusedResult('not-found', 'no such interface')
  const after = change(before)
  system.interfaces = replaceOrRemoveItem(system.interfaces, before, after)
  return createBeforeAfterResult(before, after)
}
