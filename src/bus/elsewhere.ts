/**
 * Elsewhere: a call that waits for a person on another node. The caller asked here and has to hear where that person
 * is.
 *
 * Pure.
 */
import type { Fault } from '../core/fault.ts'

/** With the node's id, and what people call it. Of several nodes on the way it is the last one that waits. */
export function waitingAt(fault: Fault, node: { readonly id: string; readonly name: string }): Fault {
  if (fault.kind !== 'approval-required' || typeof fault.details?.['node'] === 'string') return fault
  const how = fault.details?.['how']
  return {
    ...fault,
    message: `${fault.message} It waits on the node ${node.name}, not on this one.`,
    details: {
      ...fault.details,
      node: node.id,
      node_name: node.name,
      ...(typeof how === 'string' ? { how: `on the node ${node.name}: ${how}` } : {}),
    },
  }
}
