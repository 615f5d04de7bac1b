/**
 * Reply origin: every answer names the node that it came from, so that nobody takes another house's temperature for its
 * own. The node is the one whose key answered; what that node says of its devices is its own word.
 *
 * Pure.
 */
import type { Reply, ReplyOrigin } from './call.ts'

export function replyFrom(reply: Reply, nodeId: string): Reply {
  return { ...reply, from: originOf(reply, nodeId) }
}

/** As faces show it. An answer that names no node is the asked node's own. */
export function originOf({ from }: Reply, nodeId: string): ReplyOrigin & { readonly node: string } {
  return from?.device === undefined ? { node: nodeId } : { node: nodeId, device: from.device }
}
