/**
 * Admin operations: the contract's 29 administration operations.
 *
 * Each has an undo if some operation really restores the state before; otherwise no rollback is offered.
 */
import { ADMIN_CAMERA_EVENT_CONFIG_OPERATIONS } from './camera-event-config-operations.ts'
import { ADMIN_PLUGIN_AND_SYSTEM_OPERATIONS } from './plugin-and-system-operations.ts'
import type { AdminOperation } from './admin-operation.ts'
import { ADMIN_USER_OPERATIONS } from './user-operations.ts'

export const ADMIN_OPERATIONS: readonly AdminOperation[] = [
  ...ADMIN_USER_OPERATIONS,
  ...ADMIN_PLUGIN_AND_SYSTEM_OPERATIONS,
  ...ADMIN_CAMERA_EVENT_CONFIG_OPERATIONS,
]
