/**
 * Message proof: proves that a message is its sender's own. Calls that change something are signed; others have the
 * session's MAC.
 *
 *   ed25519:…        the node's signature        hmac-sha256:…        the MAC of the session key that the message names
 */
import { isTextMacValid, computeTextMac } from './identity/session-key.ts'
import { signTextWithNodeKey, isNodeSignatureValid } from './identity/node-key.ts'
import type { NodeIdentity } from './identity/node-key.ts'
import type { MeshSession } from './sessions.ts'

const MAC = 'hmac-sha256:'

export function createSignatureProof(text: string, identity: NodeIdentity): string {
  return signTextWithNodeKey(identity, text)
}

export function createMacProof(text: string, { key }: MeshSession): string {
  return `${MAC}${computeTextMac(key, text)}`
}

export function isSignatureProof(proof: string): boolean {
  return !proof.startsWith(MAC)
}

/** `session` is the session that the message names, if it is known. */
export function isMessageProofValid(
  text: string,
  proof: string,
  { from, session }: { readonly from: string; readonly session: MeshSession | undefined },
): boolean {
  if (isSignatureProof(proof)) return isNodeSignatureValid(from, text, proof)
  return session !== undefined && session.peer === from && isTextMacValid(session.key, text, proof.slice(MAC.length))
}
