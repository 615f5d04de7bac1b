/**
 * Approval row: an approval or a grant as the table holds it, turned back into a value.
 *
 * Pure.
 */
import type { Approval, ApprovalState, ShownCall } from './approval.ts'
import type { Binding, Leaves } from './binding.ts'
import type { Bounds, Grant } from './grant.ts'

type Row = Readonly<Record<string, unknown>>

export function toApproval(row: Row): Approval {
  return {
    id: String(row['id']),
    state: row['state'] as ApprovalState,
    binding: JSON.parse(String(row['binding'])) as Binding,
    shown: JSON.parse(String(row['shown'])) as ShownCall,
    requestedAtMs: Number(row['requested_at']),
    expiresAtMs: Number(row['expires_at']),
    decidedAtMs: optionalNumber(row['decided_at']),
    decidedBy: optionalText(row['decided_by']),
    reason: optionalText(row['reason']),
    usedAtMs: optionalNumber(row['used_at']),
    grantId: optionalText(row['grant_id']),
  }
}

export function toGrant(row: Row): Grant {
  return {
    id: String(row['id']),
    principal: String(row['principal']),
    tool: String(row['tool']),
    target: optionalText(row['target']),
    definitionHash: String(row['definition_hash']),
    policyVersion: String(row['policy_version']),
    frame: JSON.parse(String(row['frame'])) as Leaves,
    bounds: JSON.parse(String(row['bounds'])) as Readonly<Record<string, Bounds>>,
    free: JSON.parse(String(row['free'])) as readonly string[],
    approvalId: String(row['approval_id']),
    grantedBy: String(row['granted_by']),
    grantedAtMs: Number(row['granted_at']),
    expiresAtMs: Number(row['expires_at']),
    maxUses: Number(row['max_uses']),
    uses: Number(row['uses']),
    endedAtMs: optionalNumber(row['ended_at']),
    endedBecause: optionalText(row['ended_because']),
  }
}

function optionalNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function optionalText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
