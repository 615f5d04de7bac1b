import { X509Certificate } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { identityOf, vectors } from '../../../test/mesh-keys.ts'
import { readCertificateNodeId, createSelfSignedNodeCertificate } from './self-signed-certificate.ts'
import { encodeBase32, isNodeId, formatShortId, signTextWithNodeKey, isNodeSignatureValid } from './node-key.ts'

const node = identityOf(1)

describe('node key', () => {
  it('names a node by its public key', () => {
    expect(node.id).toBe('ed25519:iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w')
    expect(formatShortId(node.id)).toBe('ed25519:RKEO-HXLU-BHYZ-L7KS')
  })

  it('accepts exactly one spelling of a node id', () => {
    expect(isNodeId(vectors.node.id)).toBe(true)
    // The last character carries two bits that no key has.
    const wrong = ['', 'ed25519:', `${vectors.node.id}=`, vectors.node.id.replace(/w$/, 'x'), formatShortId(node.id)]
    expect(wrong.filter(isNodeId)).toEqual([])
  })

  it('signs as the published vector does', () => {
    expect(signTextWithNodeKey(node, vectors.call.text)).toBe(vectors.call.signature)
    expect(isNodeSignatureValid(node.id, vectors.call.text, vectors.call.signature)).toBe(true)
  })

  it('does not verify another text, another key or a damaged signature', () => {
    expect(isNodeSignatureValid(node.id, `${vectors.call.text} `, vectors.call.signature)).toBe(false)
    expect(isNodeSignatureValid(identityOf(2).id, vectors.call.text, vectors.call.signature)).toBe(false)
    fc.assert(
      fc.property(fc.string(), (junk) => {
        expect(isNodeSignatureValid(node.id, vectors.call.text, junk)).toBe(false)
        expect(isNodeSignatureValid(junk, vectors.call.text, vectors.call.signature)).toBe(false)
      }),
    )
  })

  it('encodes base32 as RFC 4648 does', () => {
    const encoded = ['', 'f', 'fo', 'foo', 'foob', 'fooba', 'foobar'].map((text) => encodeBase32(Buffer.from(text)))
    expect(encoded).toEqual(['', 'MY', 'MZXQ', 'MZXW6', 'MZXW6YQ', 'MZXW6YTB', 'MZXW6YTBOI'])
  })
})

describe('node certificate', () => {
  it('has the same bytes whenever it is made from the same key', () => {
    expect(createSelfSignedNodeCertificate(node)).toBe(vectors.node.certificate)
  })

  it('is a certificate over the node key that OpenSSL reads and verifies', () => {
    const certificate = new X509Certificate(createSelfSignedNodeCertificate(node))
    expect(certificate.verify(certificate.publicKey)).toBe(true)
    expect(certificate.subject).toBe('CN=RKEO-HXLU-BHYZ-L7KS.hearthbus.local')
    expect(certificate.validTo).toBe('Dec 31 23:59:59 9999 GMT')
    expect(certificate.ca).toBe(false)
    expect(readCertificateNodeId(certificate)).toBe(node.id)
  })

  it('is well-formed for keys whose first byte is large or zero', () => {
    for (let seed = 0; seed < 64; seed++) {
      const identity = identityOf(seed)
      expect(readCertificateNodeId(new X509Certificate(createSelfSignedNodeCertificate(identity)))).toBe(identity.id)
    }
  })
})
