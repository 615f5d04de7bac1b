/**
 * Elsewhere: what another node lets wait for a person, or cannot do because its own records are in trouble. The caller
 * asked here, and has to hear where the person is asked, and whose disk to look at.
 */
import type { Fault } from '../core/fault.ts'

/** The audit's word. From here it is `internal`, from another node a far end that failed. */
const UNRECORDED = 'LEDGER_UNAVAILABLE'

/** With the node's id, and what people call it. Of several nodes on the way it is the last one that is meant. */
export function annotateWithNode(fault: Fault, node: { readonly id: string; readonly name: string }): Fault {
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
