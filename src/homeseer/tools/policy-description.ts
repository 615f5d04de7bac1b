/**
 * Policy description: what is switched on for changing HomeSeer, for operators who want to see it before they act.
 */
import type { JsonObject } from '../../core/json.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { ADMIN_DOMAINS } from './change-policy.ts'

/** Shows that lists are configured, but not their content. */
export function describeHomeseerPolicy({
  config,
  rules,
  guard,
}: Pick<HomeseerToolContext, 'config' | 'rules' | 'guard'>): JsonObject {
  const { admin, allow } = config
  return {
    gatewayMode: guard.mode,
    safeMode: config.safeMode,
    requireConfirm: config.requireConfirm,
    defaultDryRun: config.defaultDryRun,
    adminChangeTicketRequired: admin.requireChangeTicket,
    admin: {
      enabled: admin.enabled,
      domains: Object.fromEntries(ADMIN_DOMAINS.map((domain) => [domain, admin[domain]])),
      maintenanceWindowConfigured: admin.maintenanceWindowId !== undefined,
      maintenanceWindowListConfigured: admin.allowedMaintenanceWindowIds !== undefined,
      rollbackEnabled: admin.rollback,
    },
    adminExecution: {
      mode: admin.executionMode,
      directFallback: admin.directFallback,
      capabilityCacheTtlSec: admin.capabilityCacheSeconds,
    },
    allowedDeviceRefsConfigured: allow.devices !== undefined,
    allowedEventIdsConfigured: allow.events !== undefined,
    allowedCameraIdsConfigured: allow.cameras !== undefined,
    allowedScriptsConfigured: rules.scripts !== undefined,
    allowedPluginFunctionsConfigured: rules.pluginFunctions !== undefined,
    changeTokenTtlSec: config.changeTokenSeconds,
  }
}
