/**
 * Signed document: a JSON object that says who vouches for it.
 *
 *   { type: 'node-manifest', …, signature: 'ed25519:…' }     signed: RFC 8785 of the object without `signature`
 *
 * Each kind names its type inside what is signed, so that a signature under one kind is worth nothing under another.
 */
import { canonicalJson } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import { signText, verifyText } from './node-key.ts'
import type { NodeIdentity } from './node-key.ts'

export type SignedDocument = JsonObject & { readonly type: string; readonly signature: string }

/** `apart` names fields that travel with the document without being signed, because a hash inside stands for them. */
export function signDocument(
  document: JsonObject & { readonly type: string },
  signer: Pick<NodeIdentity, 'privateKey'>,
  apart: readonly string[] = [],
): SignedDocument {
  return { ...document, signature: signText(signer, encodeTextToSign(document, apart)) }
}

export function isDocumentSignedBy(id: string, document: JsonObject, apart: readonly string[] = []): boolean {
  const { signature } = document
  if (typeof signature !== 'string') return false
  try {
    return verifyText(id, encodeTextToSign(document, apart), signature)
  } catch {
    // What JSON can carry but canonical JSON cannot say (a lone surrogate) was never signed by anybody.
    return false
  }
}

/** The bytes that are signed, for whoever checks with another implementation. */
export function encodeTextToSign(document: JsonObject, apart: readonly string[] = []): string {
  return canonicalJson(
    Object.fromEntries(Object.entries(document).filter(([key]) => key !== 'signature' && !apart.includes(key))),
  )
}
