import { fromPublic } from '@nats-io/nkeys'
import { describe, expect, it } from 'vitest'
import { identityOf, vectors } from '../../../test/mesh-keys.ts'
import { toUtf8 } from '../../core/bytes.ts'
import { computeCrc16, signServerNonce, encodeUserNkey } from './nkey.ts'

describe('nkey', () => {
  it('encodes the node key in the NATS format that the NATS library verifies', () => {
    const nkey = encodeUserNkey(identityOf(1).publicKey)
    expect(nkey).toMatch(/^U[A-Z2-7]{55}$/)
    const signature = signServerNonce(identityOf(1), 'jS8kOp_x-12')
    const verifies = fromPublic(nkey).verify(
      toUtf8('jS8kOp_x-12'),
      new Uint8Array(Buffer.from(signature ?? '', 'base64url')),
    )
    expect(verifies).toBe(true)
  })

  it('signs only text that has the form of a server nonce', () => {
    const disguised = [
      vectors.call.text,
      vectors.manifest.signed_text,
      'hearthbus.local/home\n7\nAAAA\n',
      '',
      'short',
      'has space',
      'x'.repeat(65),
    ]
    expect(disguised.map((nonce) => signServerNonce(identityOf(1), nonce))).toEqual(disguised.map(() => undefined))
  })

  it("computes the CRC-16 of the standard's example", () => {
    expect(computeCrc16(toUtf8('123456789'))).toBe(0x31c3)
  })
})
