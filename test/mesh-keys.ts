/**
 * Mesh keys: identities that are the same in every run, so that tests can expect bytes.
 */
import { createPrivateKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { deriveNodeIdentity } from '../src/mesh/identity/node-key.ts'
import type { NodeIdentity } from '../src/mesh/identity/node-key.ts'
import type { EphemeralKey } from '../src/mesh/identity/session-key.ts'

export const NEW_YEAR_MS = Date.UTC(2026, 0, 1)

/** The published vectors: what another implementation has to reproduce. */
export const vectors = JSON.parse(readFileSync(new URL('./vectors/mesh.json', import.meta.url), 'utf8')) as {
  readonly node: { readonly id: string; readonly short: string; readonly certificate: string }
  readonly root: { readonly id: string }
  readonly manifest: { readonly document: Record<string, unknown>; readonly signed_text: string }
  readonly community: { readonly document: Record<string, unknown>; readonly digest: string }
  readonly invitation: string
  readonly call: Record<'body' | 'body_sha256' | 'text' | 'signature', string> & {
    readonly envelope: Readonly<Record<string, string>>
  }
  /** The call above, with an actor. */
  readonly call_for_somebody: Record<'actor' | 'text' | 'signature' | 'mac', string>
  readonly session: Record<'sessionId' | 'from' | 'to' | 'callerKey' | 'providerKey' | 'key' | 'mac_of_call', string>
  readonly answer: Record<'body' | 'text' | 'signature' | 'mac', string>
}

export function identityOf(seedByte: number): NodeIdentity {
  return deriveNodeIdentity(privateKey('302e020100300506032b657004220420', seedByte))
}

export function ephemeralOf(byte: number): EphemeralKey {
  const key = privateKey('302e020100300506032b656e04220420', byte)
  return { privateKey: key, publicKey: key.export({ format: 'jwk' }).x ?? '' }
}

function privateKey(prefix: string, byte: number): KeyObject {
  const key = Buffer.concat([Buffer.from(prefix, 'hex'), Buffer.alloc(32, byte)])
  return createPrivateKey({ key, format: 'der', type: 'pkcs8' })
}
