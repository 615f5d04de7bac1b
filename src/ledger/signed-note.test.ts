import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toBase64url, fromHex, toHex, toUtf8 } from '../core/bytes.ts'
import { formatNote, parseNote, signNote, verifyNote, addSignaturesToNote } from './signed-note.ts'
import { createCosigner, formatVerifierKey, createLogSigner, parseVerifierKey, createNoteVerifier } from './note-key.ts'
import type { NoteVerifier } from './note-key.ts'

const VKEY = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'
const NOTE =
  'This is an example message.\n\n— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n'

function known(vkey: string): NoteVerifier {
  const key = parseVerifierKey(vkey)
  if (!key.ok) throw new Error(key.fault.reason)
  return key.value
}

const parsed = (text: string | Uint8Array) => {
  const note = parseNote(text)
  if (!note.ok) throw new Error('not a note')
  return note.value
}

const log = createLogSigner('log.example/1', generateKeyPairSync('ed25519').privateKey)
const witness = createCosigner('witness.example/w', generateKeyPairSync('ed25519').privateKey, () => 1_679_315_147_500)

describe('signed note', () => {
  it('verifies the example of the specification', () => {
    expect(verifyNote(parsed(NOTE), [known(VKEY)])).toMatchObject({ ok: true, value: [{ atSeconds: undefined }] })
    expect(formatNote(parsed(NOTE))).toBe(NOTE)
  })

  it('refuses the example of the specification with one changed letter', () => {
    const changed = parsed(NOTE.replace('example message', 'Example message'))
    expect(verifyNote(changed, [known(VKEY)])).toEqual({
      ok: false,
      fault: { kind: 'bad-signature', name: 'example.com/foo' },
    })
  })

  it('signs with the key of RFC 8032 test 1', () => {
    const seed = fromHex('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60')
    const publicKey = fromHex('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a')
    const jwk = { kty: 'OKP', crv: 'Ed25519', d: toBase64url(seed), x: toBase64url(publicKey) }
    const signer = createLogSigner('rfc8032', createPrivateKey({ key: jwk, format: 'jwk' }))
    expect(signer.key.publicKey).toEqual(publicKey)
    expect(verifyNote(signNote('text\n', [signer]), [signer.key])).toMatchObject({ ok: true })
  })

  it('separates text and signatures at the last empty line', () => {
    const note = signNote('one\n\ntwo\n', [log])
    expect(parsed(formatNote(note)).text).toBe('one\n\ntwo\n')
    expect(verifyNote(parsed(toUtf8(formatNote(note))), [log.key])).toMatchObject({ ok: true })
  })

  it('ignores unknown keys, even under the name of a known key', () => {
    const other = createLogSigner('log.example/1', generateKeyPairSync('ed25519').privateKey)
    const note = signNote('text\n', [other, log])
    expect(verifyNote(note, [log.key])).toMatchObject({ ok: true, value: [{ key: { name: 'log.example/1' } }] })
    expect(verifyNote(signNote('text\n', [other]), [log.key])).toEqual({
      ok: false,
      fault: { kind: 'no-known-signature' },
    })
  })

  it('is refused if one signature of a known key is invalid', () => {
    const note = signNote('text\n', [log])
    const bad = signNote('other text\n', [witness]).signatures
    expect(verifyNote(addSignaturesToNote(note, bad), [log.key, witness.key])).toMatchObject({
      ok: false,
      fault: { kind: 'bad-signature', name: 'witness.example/w' },
    })
  })

  it('counts a key once, however many signatures it has', () => {
    const later = createCosigner('witness.example/w', generateKeyPairSync('ed25519').privateKey, () => 0)
    const note = signNote('text\n', [later, later, later])
    const verified = verifyNote(note, [later.key])
    expect(verified.ok && verified.value).toHaveLength(1)
  })

  it('keeps only the newer signature of a key that signs again', () => {
    let seconds = 100
    const timed = createCosigner('w', generateKeyPairSync('ed25519').privateKey, () => seconds * 1_000)
    const first = addSignaturesToNote(signNote('text\n', [log]), signNote('text\n', [timed]).signatures)
    seconds = 200
    const second = addSignaturesToNote(first, signNote('text\n', [timed]).signatures)
    expect(second.signatures.map(({ name }) => name)).toEqual(['log.example/1', 'w'])
    expect(verifyNote(second, [timed.key])).toMatchObject({ ok: true, value: [{ atSeconds: 200 }] })
  })

  it('contains the time of a cosignature and covers it by the signature', () => {
    const note = signNote('text\n', [witness])
    expect(verifyNote(note, [witness.key])).toMatchObject({ ok: true, value: [{ atSeconds: 1_679_315_147 }] })
    const [signature] = note.signatures
    const blob = signature?.blob.slice() ?? new Uint8Array(0)
    expect(toHex(blob.subarray(4, 12))).toBe('00000000641850cb')
    blob[11] = (blob[11] ?? 0) + 1
    const moved = { text: note.text, signatures: [{ name: 'witness.example/w', blob }] }
    expect(verifyNote(moved, [witness.key])).toMatchObject({ ok: false, fault: { kind: 'bad-signature' } })
  })

  it('does not accept a cosignature as a plain signature of the same key', () => {
    const { privateKey } = generateKeyPairSync('ed25519')
    const plain = createLogSigner('both', privateKey)
    const timed = createCosigner('both', privateKey, () => 0)
    expect(toHex(plain.key.id)).not.toBe(toHex(timed.key.id))
    expect(verifyNote(signNote('text\n', [timed]), [plain.key])).toMatchObject({ ok: false })
  })

  it.each([
    ['no empty line', 'text\n— a AAAAAAAA\n'],
    ['no signature', 'text\n\n'],
    ['a signature line without its end', 'text\n\n— a AAAAAAAA'],
    ['a hyphen for the dash', 'text\n\n- a AAAAAAAA\n'],
    ['a name with a plus', 'text\n\n— a+b AAAAAAAA\n'],
    ['a name with a space that is not ASCII', 'text\n\n— a\u00a0b AAAAAAAA\n'],
    ['a signature of only a key id', 'text\n\n— a AAAAAA==\n'],
    ['loose base64', 'text\n\n— a AAAAAAAB==\n'],
    ['a carriage return', 'text\r\n\n— a AAAAAAAA\n'],
    ['a tab', 'te\txt\n\n— a AAAAAAAA\n'],
    ['101 signatures', `text\n\n${'— a AAAAAAAA\n'.repeat(101)}`],
  ])('refuses a note with %s', (_, text) => {
    expect(parseNote(text)).toMatchObject({ ok: false, fault: { kind: 'malformed-note' } })
  })

  it('accepts 100 signatures and refuses bytes that are not UTF-8', () => {
    expect(parseNote(`text\n\n${'— a AAAAAAAA\n'.repeat(100)}`)).toMatchObject({ ok: true })
    expect(parseNote(new Uint8Array([...toUtf8('text\n\n— a AAAAAAAA'), 0xff, 0x0a]))).toMatchObject({ ok: false })
  })

  it('refuses arbitrary input without throwing', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.uint8Array()), (input) => {
        expect(parseNote(input)).toMatchObject({ ok: false, fault: { kind: 'malformed-note' } })
      }),
    )
  })

  it('throws when the text to sign is not a valid note', () => {
    expect(() => signNote('no newline', [log])).toThrow('ends in a newline')
    expect(() => signNote('a\tb\n', [log])).toThrow('without control characters')
  })
})

describe('verifier key', () => {
  it('is formatted to the text it was parsed from', () => {
    expect(formatVerifierKey(known(VKEY))).toBe(VKEY)
    expect(formatVerifierKey(known(formatVerifierKey(witness.key)))).toBe(formatVerifierKey(witness.key))
  })

  it.each([
    ['an id of another key', VKEY.replace('530d903a', '530d903b')],
    ['another name', VKEY.replace('foo', 'bar')],
    ['an unknown type', 'example.com/foo+530d903a+AukyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'],
    ['a key cut short', VKEY.slice(0, -4)],
    ['a space in its name', VKEY.replace('/foo', ' foo')],
    ['one part', 'example.com'],
    ['nothing', ''],
  ])('is refused with %s', (_, text) => {
    expect(parseVerifierKey(text)).toMatchObject({ ok: false, fault: { kind: 'bad-verifier-key' } })
  })

  it('cannot be created with a name or length that cannot be encoded', () => {
    expect(() => createNoteVerifier('a+b', 1, new Uint8Array(32))).toThrow('cannot be a key name')
    expect(() => createNoteVerifier('a', 1, new Uint8Array(31))).toThrow('31 bytes')
  })
})
