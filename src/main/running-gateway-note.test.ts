import { createHmac, createPrivateKey } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { parseVerifierKey } from '../ledger/note-key.ts'
import {
  encodeRunningGatewayNote,
  isGatewaySignatureValid,
  parseRunningGatewayNote,
  signGatewayChallenge,
} from './running-gateway-note.ts'

const NOTE = { url: 'http://127.0.0.1:8123', pid: 7, version: '1.0.0' }

describe('note of a running gateway', () => {
  it('has a MAC under the owner token', () => {
    const text = '{"pid":7,"url":"http://127.0.0.1:8123","version":"1.0.0"}'
    const mac = createHmac('sha256', 'hb_owner').update(`hearthbus gateway note v1\n${text}`).digest('hex')
    expect(JSON.parse(encodeRunningGatewayNote(NOTE, 'hb_owner'))).toEqual({ ...NOTE, mac })
    expect(parseRunningGatewayNote(encodeRunningGatewayNote(NOTE, 'hb_owner'), 'hb_owner')).toEqual(NOTE)
  })

  it.each([
    ['another address', { url: 'http://127.0.0.1:9' }],
    ['another process', { pid: 8 }],
    ['no authenticator', { mac: undefined }],
    ['an authenticator that is not a text', { mac: 7 }],
  ])('with %s is refused by a reader that has the owner token', (_, change) => {
    const text = JSON.stringify({ ...JSON.parse(encodeRunningGatewayNote(NOTE, 'hb_owner')), ...change })
    expect(parseRunningGatewayNote(text, 'hb_owner')).toBeUndefined()
  })

  it('is read without its MAC by a caller that has no owner token', () => {
    expect(parseRunningGatewayNote(JSON.stringify(NOTE), undefined)).toEqual(NOTE)
    expect(parseRunningGatewayNote('{"url":', undefined)).toBeUndefined()
  })
})

describe('signature of a gateway', () => {
  const ASKED = { url: 'http://127.0.0.1:7420', challenge: '000102030405060708090a0b0c0d0e0f' }
  /** Keys of RFC 8032 § 7.1, tests 1 and 2; the signature is by OpenSSL. */
  const SEED = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'
  const VKEY = 'hearthbus.local/home+dc41335a+AddamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea'
  const OTHER_VKEY = 'a+6c58f349+AT1AF8PoQ4lakrcKp00bfrycmCzPLsSWjMDNVfEq9GYM'
  const SIGNATURE = 'BF+qLs1Ei4Z3hGDbl+X9QvSnMylqAVse7XUMEuhs7aGD0cMh0Cqsga0HrEp/Pcw76FhJMCy4ZPCUUk1+RAj5BQ=='

  function isValid(signature: unknown, asked = ASKED, vkey = VKEY): boolean {
    const key = parseVerifierKey(vkey)
    if (!key.ok) throw new Error(key.fault.reason)
    return isGatewaySignatureValid(signature, asked, key.value)
  }

  it('is over the address and the challenge of the command', () => {
    const der = Buffer.from(`302e020100300506032b657004220420${SEED}`, 'hex')
    const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    expect(signGatewayChallenge(ASKED, key)).toBe(SIGNATURE)
    expect(isValid(SIGNATURE)).toBe(true)
  })

  it.each([
    ['another address', SIGNATURE, { ...ASKED, url: 'http://127.0.0.1:7421' }, VKEY],
    ['another challenge', SIGNATURE, { ...ASKED, challenge: '000102030405060708090a0b0c0d0e00' }, VKEY],
    ['another key', SIGNATURE, ASKED, OTHER_VKEY],
    ['no answer', undefined, ASKED, VKEY],
    ['an answer that is too short', 'BF+qLg==', ASKED, VKEY],
    ['an answer that is not base64', 'BF+qLs1!', ASKED, VKEY],
  ])('is not valid for %s', (_, signature, asked, vkey) => {
    expect(isValid(signature, asked, vkey)).toBe(false)
  })
})
