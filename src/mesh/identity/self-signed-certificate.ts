/**
 * Self-signed certificate: the node key in the form that TLS requires, a self-signed X.509 v3 certificate over the
 * same Ed25519 key (RFC 8410).
 *
 * The far end trusts nothing else in it: it compares the key with the node id that it wants to reach. Names and dates
 * are there because the format requires them, and the dates are fixed, so that a wrong clock cannot keep two nodes
 * apart.
 *
 * Pure, given the key.
 */
import type { X509Certificate } from 'node:crypto'
import { sign } from 'node:crypto'
import { toBase64, concatBytes, fromHex } from '../../core/bytes.ts'
import {
  encodeDerBitString,
  encodeDerBoolean,
  encodeDerExplicitTag,
  encodeDerGeneralizedTime,
  encodeDerInteger,
  encodeDerObjectId,
  encodeDerOctetString,
  encodeDerSequence,
  encodeDerSet,
  encodeDerUtcTime,
  encodeDerUtf8String,
} from './der.ts'
import { encodeNodeId, formatShortId } from './node-key.ts'
import type { TLSSocket } from 'node:tls'
import type { NodeIdentity } from './node-key.ts'

const ED25519 = encodeDerSequence(encodeDerObjectId('1.3.101.112'))
const COMMON_NAME = encodeDerObjectId('2.5.4.3')
const BASIC_CONSTRAINTS = encodeDerObjectId('2.5.29.19')
const NOT_BEFORE_MS = Date.UTC(2020, 0, 1)
/** RFC 5280 § 4.1.2.5: "no well-defined expiration date". */
const NOT_AFTER_MS = Date.UTC(9999, 11, 31, 23, 59, 59)

/** What this node presents in TLS, both as PEM. */
export interface TlsIdentity {
  readonly certificate: string
  readonly key: string
}

export function createTlsIdentityFromNodeKey(identity: NodeIdentity): TlsIdentity {
  return {
    certificate: createSelfSignedNodeCertificate(identity),
    key: identity.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/** Returns PEM. The same key always gives the same bytes, because Ed25519 signatures are deterministic. */
export function createSelfSignedNodeCertificate({ id, publicKey, privateKey }: NodeIdentity): string {
  const name = encodeDerSequence(
    encodeDerSet(encodeDerSequence(COMMON_NAME, encodeDerUtf8String(`${formatShortId(id).slice(8)}.hearthbus.local`))),
  )
  const tbs = encodeDerSequence(
    encodeDerExplicitTag(0, encodeDerInteger(Uint8Array.of(2))),
    // The serial number is derived from the key, so it is as unique as the key.
    encodeDerInteger(concatBytes(fromHex('01'), publicKey.subarray(0, 16))),
    ED25519,
    name,
    encodeDerSequence(encodeDerUtcTime(NOT_BEFORE_MS), encodeDerGeneralizedTime(NOT_AFTER_MS)),
    name,
    encodeDerSequence(ED25519, encodeDerBitString(publicKey)),
    encodeDerExplicitTag(
      3,
      encodeDerSequence(
        encodeDerSequence(BASIC_CONSTRAINTS, encodeDerBoolean(true), encodeDerOctetString(encodeDerSequence())),
      ),
    ),
  )
  const certificate = encodeDerSequence(tbs, ED25519, encodeDerBitString(sign(null, tbs, privateKey)))
  const lines = toBase64(certificate).match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

/** The id of the key that a TLS peer presented; TLS has verified that the peer holds its private half. */
export function readTlsPeerId(socket: Pick<TLSSocket, 'getPeerX509Certificate'>): string | undefined {
  const certificate = socket.getPeerX509Certificate()
  return certificate && readCertificateNodeId(certificate)
}

export function readCertificateNodeId(certificate: X509Certificate): string | undefined {
  return encodeNodeId(certificate.publicKey)
}
