/**
 * Signed document: a JSON object with its signature.
 *
 *   { type: 'node-manifest', …, signature: 'ed25519:…' }     signed: RFC 8785 of the object without `signature`
 *
 * Each kind of document has its type in the signed text, so a signature for one kind is invalid for another.
 */
import { canonicalJson } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import { signTextWithNodeKey, isNodeSignatureValid } from './node-key.ts'
import type { NodeIdentity } from './node-key.ts'

export type SignedDocument = JsonObject & { readonly type: string; readonly signature: string }

/**
 * `apart` names fields that are sent with the document without being signed, because the document contains a hash of
 * them.
 */
export function signDocument(
  document: JsonObject & { readonly type: string },
  signer: Pick<NodeIdentity, 'privateKey'>,
  apart: readonly string[] = [],
): SignedDocument {
  return { ...document, signature: signTextWithNodeKey(signer, encodeTextToSign(document, apart)) }
}

export function isDocumentSignedBy(id: string, document: JsonObject, apart: readonly string[] = []): boolean {
  const { signature } = document
  if (typeof signature !== 'string') return false
  try {
    return isNodeSignatureValid(id, encodeTextToSign(document, apart), signature)
  } catch {
    // A value that has JSON but no canonical form (a lone surrogate) cannot have been signed.
    return false
  }
}

/** The text that is signed, for a check with another implementation. */
export function encodeTextToSign(document: JsonObject, apart: readonly string[] = []): string {
  return canonicalJson(
    Object.fromEntries(Object.entries(document).filter(([key]) => key !== 'signature' && !apart.includes(key))),
  )
}
