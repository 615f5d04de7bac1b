/**
 * Remote fault: names the node in a fault that came from another node, such as a call that waits for a person's
 * approval there, or a ledger there that cannot be written. The caller asked here and has to learn on which node to
 * look.
 */
import type { Fault } from '../core/fault.ts'

/** The audit's error code. For this node it is an internal fault, from another node a failed far end. */
const UNRECORDED = 'LEDGER_UNAVAILABLE'

/** Adds the node's id and name. Of several nodes on the way it is the last one. */
export function addNodeToFault(fault: Fault, node: { readonly id: string; readonly name: string }): Fault {
  const isUnrecorded = fault.kind === 'failed' && fault.code === UNRECORDED
  if (!isUnrecorded && fault.kind !== 'approval-required') return fault
  if (typeof fault.details?.['node'] === 'string') return fault
  const how = fault.details?.['how']
  const where = isUnrecorded ? 'This is about the node' : 'It waits on the node'
  const notHere = isUnrecorded ? 'not about this one' : 'not on this one'
  return {
    ...fault,
    message: `${fault.message} ${where} ${node.name}, ${notHere}.`,
    details: {
      ...fault.details,
      node: node.id,
      node_name: node.name,
      ...(typeof how === 'string' ? { how: `on the node ${node.name}: ${how}` } : {}),
    },
  }
}
