/**
 * Approval view: a request for approval as people see it, with the name of the node that asked.
 *
 * Pure.
 */
import type { CapabilityBus } from '../bus/bus.ts'
import type { Approval } from '../guard/approval.ts'
import type { ApprovalView } from './views.ts'

/** As `callerKey` writes it. */
const PEER = 'peer:'

export function approvalView(bus: Pick<CapabilityBus, 'nodeName'>, approval: Approval): ApprovalView {
  const { principal } = approval.binding
  const askedBy = principal.startsWith(PEER) ? bus.nodeName(principal.slice(PEER.length)) : undefined
  return askedBy === undefined ? approval : { ...approval, askedBy }
}
