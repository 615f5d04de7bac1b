import { createPrivateKey, createSecretKey, hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { fromHex, toHex } from '../core/bytes.ts'
import {
  decodeEntryGroup,
  deriveTailMacKey,
  encodeEntryGroup,
  areGroupBodiesCommitted,
  hasCompleteGroupAt,
} from './entry-group.ts'
import { createLogSigner } from './note-key.ts'
import { computeLeafHash, computeNodeHash } from './tree.ts'

/**
 * The worked example of docs/protocols/ledger.md. Its values were computed with Python's hashlib and hmac, not by this
 * program; the key is that of RFC 8032 § 7.1, test 1.
 */
const FIRST = Buffer.from(
  '{"at":"2026-01-01T00:00:00.000Z","kind":"node.start","mode":"full","node":"ed25519:AA","seq":0,"v":1,"version":"1.0.0"}',
)
const SECOND = Buffer.from(
  '{"args_hash":"f8761990ecf09eaa0b0c4fd4d9b966053860fc33f912af436c9ed72ed776f482","at":"2026-01-01T00:00:01.000Z","body_hash":"5778942ccd659cff35b6c129ca4b4813a27c7d312ab260e7766c1fa1ff21b75b","channel":"mcp","effect":"records","kind":"call.enter","principal":"owner","seq":1,"tool":"task_create","trace_id":"01K","v":1}',
)
const SALT = Uint8Array.from({ length: 32 }, (_, index) => index)
const BODY = Buffer.from('{"args":{"title":"a"},"salt":"000102030405060708090a0b0c0d0e0f"}')
const KEY = '00a28c69e9ee19e4afee373c9307e6e31148143c490365270e271a10123e6b2d'
const MAC = '3101f0948d2baef74f3476f4341693b55a67b8fecc95eaa21a98e52495c5f045'

const NO_MAC = new Uint8Array(32)
const content = {
  first: 0,
  changedRows: false,
  entries: [{ bytes: FIRST }, { bytes: SECOND, body: { salt: SALT, body: BODY } }],
}
const place = { at: 0, first: 0, previousMac: NO_MAC, key: createSecretKey(fromHex(KEY)) }
const encoded = () => Buffer.from(encodeEntryGroup(content, place.key, NO_MAC).record)

describe('entry group', () => {
  it('is encoded to the documented bytes', () => {
    const { record, mac } = encodeEntryGroup(content, place.key, NO_MAC)
    expect(toHex(record.subarray(0, 24))).toBe('484247310000026900000000000000000000000200000000')
    expect([record.length, hash('sha256', record)]).toEqual([
      617,
      '272d0056bf30552ae9bcdd8e74985bb638c35c117355310592f57f20962b8c3a',
    ])
    expect(toHex(mac)).toBe(MAC)
    const root = computeNodeHash(computeLeafHash(FIRST), computeLeafHash(SECOND))
    expect(toHex(root)).toBe('9ed3c246c5850fb17108c3d778c889035a4bf5e515da851dad1433804939f623')
  })

  it('has a MAC key derived from the node key', () => {
    const d = Buffer.from(fromHex('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'))
    const x = Buffer.from(fromHex('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'))
    const jwk = { kty: 'OKP', crv: 'Ed25519', d: d.toString('base64url'), x: x.toString('base64url') }
    const signer = createLogSigner('example.com/attic', createPrivateKey({ key: jwk, format: 'jwk' }))
    expect(deriveTailMacKey(signer).export().toString('hex')).toBe(KEY)
  })

  it('decodes to its entries and bodies', () => {
    const record = encoded()
    const group = decodeEntryGroup(record, place)
    expect(group).toMatchObject({ ok: true, value: { first: 0, changedRows: false, end: record.length } })
    expect(group.ok && group.value.entries.map((entry) => Buffer.from(entry))).toEqual([FIRST, SECOND])
    expect(group.ok && areGroupBodiesCommitted(record, group.value)).toBe(true)
  })

  it('is reported as torn when it is cut at any byte', () => {
    const record = encoded()
    for (let length = 0; length < record.length; length += 7)
      expect(decodeEntryGroup(record.subarray(0, length), place)).toEqual({ ok: false, fault: { kind: 'torn' } })
  })

  it('fails the check of its bodies when its end was not written', () => {
    const record = encoded()
    record.fill(0, record.length - 20)
    const group = decodeEntryGroup(record, place)
    expect(group.ok && areGroupBodiesCommitted(record, group.value)).toBe(false)
  })

  it('is reported as forged under another key, at another position, or after another group', () => {
    const record = encoded()
    const forged = { ok: false, fault: { kind: 'forged' } }
    expect(decodeEntryGroup(record, { ...place, key: createSecretKey(new Uint8Array(32)) })).toEqual(forged)
    expect(decodeEntryGroup(record, { ...place, first: 1 })).toEqual(forged)
    expect(decodeEntryGroup(record, { ...place, previousMac: fromHex(MAC) })).toEqual(forged)
    expect(hasCompleteGroupAt(record, 0)).toBe(true)
  })
})
