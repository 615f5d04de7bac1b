/**
 * Visibility: what a caller may know and do about a device, beyond what the guard asks of every call.
 *
 * User-only tools are for people (spec 3): for an admin, or for a token that is restricted to that device. The lists of
 * `mcp/` follow the same rule; here it is a reason to refuse, so that a hidden tool cannot be called by its name
 * either.
 */
import { z } from 'zod'
import type { Call, Caller } from '../../bus/call.ts'
import type { CallAssessment } from '../../bus/capability.ts'
import type { PolicyReason } from '../../core/fault.ts'
import { matchesAnyPattern } from '../../guard/name-pattern.ts'
import { devicesFamilyEnvelope } from './devices-envelope.ts'

export function maySeeDevice(caller: Caller, target: string): boolean {
  const devices = caller.kind === 'principal' ? caller.restrictions?.devices : undefined
  return devices === undefined || matchesAnyPattern(devices, target)
}

export function maySeeUserTools(caller: Caller, target: string): boolean {
  if (caller.kind === 'service') return true
  if (caller.kind !== 'principal') return false
  const { role, restrictions } = caller
  return role === 'admin' || (restrictions?.devices !== undefined && matchesAnyPattern(restrictions.devices, target))
}

export function listUserOnlyRefusalReasons(caller: Caller, target: string): readonly PolicyReason[] {
  if (maySeeUserTools(caller, target)) return []
  return [
    {
      rule: 'user-only',
      message: `This tool is for people. It needs an admin, or a token made for ${target} (hearthbus token create NAME --role agent --devices ${target}).`,
    },
  ]
}

export function listAdminOnlyRefusalReasons(caller: Caller): readonly PolicyReason[] {
  if (caller.kind === 'service' || (caller.kind === 'principal' && caller.role === 'admin')) return []
  return [{ rule: 'admin-only', message: 'Only an admin decides which devices belong to this house.' }]
}

/** A resource for admins, who decide which devices belong to this house, and not for models. */
export const ADMIN_RESOURCE_OFFER_DEFAULTS = {
  family: devicesFamilyEnvelope,
  effect: 'reads',
  params: { userOnly: true },
  trustRequired: 'self',
  input: z.strictObject({}),
  assess: (_: unknown, { caller }: Call): CallAssessment => ({
    effect: 'reads',
    reasons: listAdminOnlyRefusalReasons(caller),
  }),
} as const
