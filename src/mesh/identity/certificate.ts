/**
 * Certificate: the node key as TLS wants to see it, an X.509 v3 certificate over the very same Ed25519 key, signed by
 * itself (RFC 8410).
 *
 * Nobody believes what it says: the far end compares the key in it with the node id it meant to reach. So names and
 * dates are there because the format asks for them, and the dates are fixed: a clock that is wrong must not keep two
 * nodes apart.
 *
 * Pure, given the key.
 */
import type { X509Certificate } from 'node:crypto'
import { sign } from 'node:crypto'
import { toBase64, concatBytes, fromHex } from '../../core/bytes.ts'
import {
  bitString,
  boolean,
  explicit,
  generalizedTime,
  integer,
  objectId,
  octets,
  sequence,
  setOf,
  utcTime,
  utf8String,
} from './der.ts'
import { encodeNodeId, shortId } from './node-key.ts'
import type { NodeIdentity } from './node-key.ts'

const ED25519 = sequence(objectId('1.3.101.112'))
const COMMON_NAME = objectId('2.5.4.3')
const BASIC_CONSTRAINTS = objectId('2.5.29.19')
const NOT_BEFORE_MS = Date.UTC(2020, 0, 1)
/** RFC 5280 § 4.1.2.5: "no well-defined expiration date". */
const NOT_AFTER_MS = Date.UTC(9999, 11, 31, 23, 59, 59)

/** PEM. The same key always gives the same bytes: Ed25519 signatures have no chance in them. */
export function createNodeCertificate({ id, publicKey, privateKey }: NodeIdentity): string {
  const name = sequence(setOf(sequence(COMMON_NAME, utf8String(`${shortId(id).slice(8)}.hearthbus.local`))))
  const tbs = sequence(
    explicit(0, integer(Uint8Array.of(2))),
    // A serial of the key's own bytes is unique as far as keys are.
    integer(concatBytes(fromHex('01'), publicKey.subarray(0, 16))),
    ED25519,
    name,
    sequence(utcTime(NOT_BEFORE_MS), generalizedTime(NOT_AFTER_MS)),
    name,
    sequence(ED25519, bitString(publicKey)),
    explicit(3, sequence(sequence(BASIC_CONSTRAINTS, boolean(true), octets(sequence())))),
  )
  const certificate = sequence(tbs, ED25519, bitString(sign(null, tbs, privateKey)))
  const lines = toBase64(certificate).match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

/** Whose key a TLS peer has shown; TLS itself has proven that it holds the private half. */
export function readNodeId(certificate: X509Certificate): string | undefined {
  return encodeNodeId(certificate.publicKey)
}
