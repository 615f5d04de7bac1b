/**
 * Approval view: a request for approval as people see it, with the name of the node that asked and for whom it says so.
 */
import type { CapabilityBus } from '../bus/bus.ts'
import type { Caller } from '../bus/call.ts'
import { parsePeerCallerKey } from '../bus/caller.ts'
import { explainApproverRefusal } from '../guard/approval.ts'
import type { Approval } from '../guard/approval.ts'
import type { Guard } from '../guard/guard.ts'
import type { ApprovalView } from './views.ts'

/** People who may decide about it, the caller that asked for it, and people whose devices it concerns. */
export function mayReadApproval(
  caller: Caller,
  { binding, shown }: Approval,
  { bus, guard }: { readonly bus: Pick<CapabilityBus, 'offer'>; readonly guard: Pick<Guard, 'mayRead'> },
): boolean {
  const { principal, target, tool } = binding
  if (explainApproverRefusal(caller, { principal, target, effect: shown.effect }) === undefined) return true
  return guard.mayRead(caller, { principal, target, effect: shown.effect }, bus.offer(tool))
}

export function toApprovalView(bus: Pick<CapabilityBus, 'nodeName'>, approval: Approval): ApprovalView {
  const peer = parsePeerCallerKey(approval.binding.principal)
  if (peer === undefined) return approval
  const askedBy = bus.nodeName(peer.node)
  return {
    ...approval,
    ...(askedBy === undefined ? {} : { askedBy }),
    ...(peer.actor === undefined ? {} : { askedFor: peer.actor }),
  }
}
