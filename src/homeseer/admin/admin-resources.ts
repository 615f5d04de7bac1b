/**
 * Admin resources: the state of users, interfaces, plug-ins, cameras and gates. None of them runs code on HomeSeer:
 * data that only a script can read is shown from the last permitted read.
 *
 * Reads through the link.
 */
import type { Capability } from '../../bus/capability.ts'
import { ok } from '../../core/result.ts'
import { formatIsoTimeOrNull } from '../../toolbox/iso-time.ts'
import { type HomeseerToolContext } from '../tools/homeseer-tool-context.ts'
import { describeHomeseerPolicy } from '../tools/policy-description.ts'
import { createHomeseerResource, type HomeseerResourceDefinition } from '../tools/resources.ts'
import {
  readCameraConfigs,
  readHomeseerInterfaces,
  readInstalledPlugins,
  type LastUserListCache,
} from './admin-read-tools.ts'
import type { UnsupportedAdminOperationCache } from './unsupported-operation-cache.ts'

/** Five of the contract's six; `hs4://admin/audit/diff` needs only the ledger and is with the other resources. */
export function createAdminResources(
  homeseer: HomeseerToolContext,
  seen: LastUserListCache,
  cache: UnsupportedAdminOperationCache,
): readonly Capability[] {
  const definitions: readonly HomeseerResourceDefinition[] = [
    {
      path: 'admin/users',
      title: 'Users',
      description: 'The users as hs4.admin.users.list last showed them. Reading this runs nothing on HomeSeer.',
      read: async () => {
        const last = seen.last()
        return ok({
          // A list that was never requested is not an empty list.
          available: last !== undefined,
          users: [...(last?.users ?? [])],
          asOf: formatIsoTimeOrNull(last?.atMs),
          source: 'hs4.admin.users.list',
        })
      },
    },
    {
      path: 'admin/interfaces',
      title: 'Interfaces',
      description: 'The interfaces that devices belong to.',
      read: (given) => readHomeseerInterfaces(given, true),
    },
    {
      path: 'admin/plugins',
      title: 'Plug-ins',
      description: 'The installed plug-ins.',
      read: (given) => readInstalledPlugins(given, false),
    },
    {
      path: 'admin/cameras/config',
      title: 'Camera configurations',
      description: 'The cameras as HomeSeer has them configured.',
      read: (given) => readCameraConfigs(given, false),
    },
    {
      path: 'admin/policy/state',
      title: 'Policy state',
      description: 'What is switched on for changing HomeSeer: gates, lists, execution mode.',
      read: async (given) => {
        // Contract: "includes the active admin execution mode and related routing policy state".
        const { adminExecution, ...state } = describeHomeseerPolicy(given)
        return ok({ ...state, adminExecution: { ...(adminExecution as object), capabilityCacheEntries: cache.size() } })
      },
    },
  ]
  return definitions.map((definition) => createHomeseerResource(homeseer, definition))
}
