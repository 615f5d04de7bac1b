/**
 * Approval view: a request for approval as people see it, with the name of the node that asked and for whom it says so.
 *
 * Pure.
 */
import type { CapabilityBus } from '../bus/bus.ts'
import { peerOf } from '../bus/caller-key.ts'
import type { Approval } from '../guard/approval.ts'
import type { ApprovalView } from './views.ts'

export function approvalView(bus: Pick<CapabilityBus, 'nodeName'>, approval: Approval): ApprovalView {
  const peer = peerOf(approval.binding.principal)
  if (peer === undefined) return approval
  const askedBy = bus.nodeName(peer.node)
  return {
    ...approval,
    ...(askedBy === undefined ? {} : { askedBy }),
    ...(peer.actor === undefined ? {} : { askedFor: peer.actor }),
  }
}
