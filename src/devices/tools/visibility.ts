/**
 * Visibility: what a caller may know and do about a device, beyond what the guard asks of every call.
 *
 * User-only tools are for people (spec 3): an admin, or a token made out for that very device. The lists of `mcp/` go
 * by the same rule; here it is a reason to refuse, so that naming a hidden tool leads nowhere.
 */
import { z } from 'zod'
import type { Call, Caller } from '../../bus/call.ts'
import type { CallAssessment } from '../../bus/capability.ts'
import type { PolicyReason } from '../../core/fault.ts'
import { matchesAnyPattern } from '../../guard/name-pattern.ts'
import { devicesFamily } from './devices-envelope.ts'

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

export function explainUserOnlyRefusal(caller: Caller, target: string): readonly PolicyReason[] {
  if (maySeeUserTools(caller, target)) return []
  return [
    {
      rule: 'user-only',
      message: `This tool is for people. It takes an admin, or a token made for ${target} (hearthbus token create NAME --role agent --devices ${target}).`,
    },
  ]
}

export function explainAdminOnlyRefusal(caller: Caller): readonly PolicyReason[] {
  if (caller.kind === 'service' || (caller.kind === 'principal' && caller.role === 'admin')) return []
  return [{ rule: 'admin-only', message: 'Who belongs to this house is for an admin to decide.' }]
}

/** A resource for the people who decide who belongs to this house, and for nobody's model. */
export const ADMIN_RESOURCE_OFFER_DEFAULTS = {
  family: devicesFamily,
  effect: 'reads',
  params: { userOnly: true },
  trustRequired: 'self',
  input: z.strictObject({}),
  assess: (_: unknown, { caller }: Call): CallAssessment => ({
    effect: 'reads',
    reasons: explainAdminOnlyRefusal(caller),
  }),
} as const
