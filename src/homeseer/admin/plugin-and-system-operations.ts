/**
 * Plugin and system operations: the acts of administration on plug-ins, interfaces and HomeSeer itself.
 */
import { z } from 'zod'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { isSecretName } from '../../guard/secret-detection.ts'
import { toTextOrEmpty } from '../tools/json-text.ts'
import type { AdminOperation, AdminUndoOperation } from './admin-operation.ts'
import { createUndoOfCreation } from './admin-undo.ts'

const word = z.string().min(1).max(200)
const maybe = word.exactOptional()
const settings = z.record(z.string(), z.json()).exactOptional()

const plugins = {
  domain: 'plugins' as const,
  target: ({ pluginId }: JsonObject) => `plugin:${toTextOrEmpty(pluginId)}`,
  touched: ({ pluginId }: JsonObject) => ({ pluginIds: [toTextOrEmpty(pluginId)] }),
}
/** `name` is the argument that identifies the interface: the name of a new one, the id of an existing one. */
const interfaces = (name: string) => ({
  domain: 'interfaces' as const,
  target: (args: JsonObject) => `interface:${toTextOrEmpty(args[name])}`,
  touched: (args: JsonObject) => ({ interfaceIds: [toTextOrEmpty(args[name])] }),
})
const system = (what: (args: JsonObject) => string) => ({
  domain: 'system' as const,
  target: what,
  touched: () => ({}),
})

export const ADMIN_PLUGIN_AND_SYSTEM_OPERATIONS: readonly AdminOperation[] = [
  {
    ...plugins,
    op: 'plugins.install',
    title: 'Install a plug-in',
    description: 'Installs a plug-in into HomeSeer. Its code then runs there.',
    shape: { pluginId: word, version: maybe, source: maybe },
    // No undo for a plug-in that was there before: it would be removed.
    undo: ({ args, before }) =>
      instancesOf(before).length > 0 ? undefined : { op: 'plugins.remove', args: { pluginId: args['pluginId'] ?? '' } },
  },
  {
    ...plugins,
    // HomeSeer's updater cannot reinstall the former version.
    op: 'plugins.update',
    title: 'Update a plug-in',
    description: 'Updates a plug-in of HomeSeer. Its devices may be away meanwhile.',
    shape: { pluginId: word, targetVersion: maybe },
  },
  {
    ...plugins,
    op: 'plugins.remove',
    title: 'Remove a plug-in',
    description: 'Removes a plug-in from HomeSeer; its devices stop working.',
    shape: { pluginId: word },
  },
  {
    ...plugins,
    op: 'plugins.set_enabled',
    title: 'Switch a plug-in on or off',
    description: 'Switches a plug-in of HomeSeer on or off; off, its devices do not work.',
    shape: { pluginId: word, enabled: z.boolean() },
    undo: ({ args, before }) => enabledBefore(args, before),
  },
  {
    ...plugins,
    op: 'plugins.restart',
    title: 'Restart a plug-in',
    description: 'Restarts a plug-in of HomeSeer; its devices are away meanwhile.',
    shape: { pluginId: word, instance: maybe },
  },
  {
    ...interfaces('interfaceName'),
    op: 'interfaces.add',
    title: 'Add an interface',
    description: 'Adds an interface, such as a radio stick, to HomeSeer.',
    shape: { interfaceType: word, interfaceName: word, settings },
    undo: ({ after }) =>
      createUndoOfCreation(after, 'id', (id) => ({ op: 'interfaces.remove', args: { interfaceId: id } })),
  },
  {
    ...interfaces('interfaceId'),
    op: 'interfaces.update',
    title: 'Change an interface',
    description: 'Changes name or settings of an interface; wrong settings cut its devices off.',
    shape: { interfaceId: word, interfaceName: maybe, settings },
    undo: ({ args, before }) =>
      before === undefined
        ? undefined
        : {
            op: 'interfaces.update',
            args: {
              interfaceId: args['interfaceId'] ?? '',
              interfaceName: before['name'] ?? '',
              ...(isJsonObject(before['settings']) ? { settings: before['settings'] } : {}),
            },
          },
  },
  {
    ...interfaces('interfaceId'),
    op: 'interfaces.remove',
    title: 'Remove an interface',
    description: 'Removes an interface from HomeSeer; its devices stop working.',
    shape: { interfaceId: word },
  },
  {
    ...interfaces('interfaceId'),
    op: 'interfaces.restart',
    title: 'Restart an interface',
    description: 'Restarts an interface; its devices are away meanwhile.',
    shape: { interfaceId: word },
  },
  {
    ...system(() => 'backup'),
    op: 'system.backup.start',
    title: 'Start a backup',
    description: 'Makes HomeSeer back itself up.',
    shape: { label: maybe, includeMedia: z.boolean().default(true) },
  },
  {
    ...system(({ backupId }) => `backup:${toTextOrEmpty(backupId)}`),
    op: 'system.restore.start',
    title: 'Restore a backup',
    description:
      'Puts HomeSeer back to a backup and restarts it; everything since then is lost. `verifyOnly` only looks.',
    shape: { backupId: word, verifyOnly: z.boolean().default(false) },
  },
  {
    ...system(({ service }) => `service:${toTextOrEmpty(service)}`),
    op: 'system.service.restart',
    title: 'Restart a service',
    description: 'Restarts HomeSeer or one of its services; the house is without it meanwhile.',
    shape: {
      service: z
        .string()
        .regex(/^[\w.-]{1,64}$/, 'letters, digits, dots and dashes')
        .default('hs4'),
    },
  },
  {
    ...system(() => 'shutdown'),
    op: 'system.shutdown',
    title: 'Shut HomeSeer down',
    description: 'Shuts HomeSeer down. Somebody has to start it again at the machine.',
    shape: { graceSeconds: z.int().min(0).max(3_600).default(30) },
  },
  {
    ...system(({ key }) => `setting:${toTextOrEmpty(key)}`),
    op: 'system.config.set',
    title: 'Set a setting',
    description: 'Sets a setting of HomeSeer.',
    shape: { key: word, value: z.union([z.string().max(2_000), z.number(), z.boolean()]) },
    setsSecret: ({ key, value }) => typeof value !== 'boolean' && isSecretName(toTextOrEmpty(key)),
    undo: ({ args, before }) =>
      before?.['value'] === undefined
        ? undefined
        : { op: 'system.config.set', args: { key: args['key'] ?? '', value: before['value'] } },
  },
]

/** The state that all instances shared; otherwise one call cannot restore it. */
function enabledBefore(args: JsonObject, before: JsonObject | undefined): AdminUndoOperation | undefined {
  const states = new Set(instancesOf(before).map((one) => one['enabled']))
  const [enabled] = states
  if (states.size !== 1 || typeof enabled !== 'boolean') return undefined
  return { op: 'plugins.set_enabled', args: { pluginId: args['pluginId'] ?? '', enabled } }
}

function instancesOf(before: JsonObject | undefined): readonly JsonObject[] {
  return Array.isArray(before?.['instances']) ? (before['instances'] as readonly JsonObject[]) : []
}
