import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromHex } from '../core/bytes.ts'
import { formatSignedCheckpoint, formatCheckpoint, verifyAndParseCheckpoint, parseCheckpoint } from './checkpoint.ts'
import { signNote } from './signed-note.ts'
import { createLogSigner } from './note-key.ts'

const ROOT = fromHex('0ac5186a91863e8e1d90c808014aa89bf5da8e3ee1d9f07630f0378f68f1ab62')
const TEXT = 'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n'
const checkpoint = { origin: 'example.com/behind-the-sofa', size: 20_852_163, root: ROOT, extensions: [] }
const signer = createLogSigner('example.com/behind-the-sofa', generateKeyPairSync('ed25519').privateKey)

describe('checkpoint', () => {
  it('consists of three lines: origin, size and root', () => {
    expect(formatCheckpoint(checkpoint)).toBe(TEXT)
    expect(parseCheckpoint(TEXT)).toEqual({ ok: true, value: checkpoint })
  })

  it('accepts extension lines', () => {
    expect(parseCheckpoint(`${TEXT}more\n`)).toMatchObject({ ok: true, value: { extensions: ['more'] } })
  })

  it.each([
    ['no last newline', TEXT.slice(0, -1)],
    ['two lines', TEXT.split('\n').slice(0, 2).join('\n').concat('\n')],
    ['an empty origin', TEXT.replace('example.com/behind-the-sofa', '')],
    ['a leading zero', TEXT.replace('20852163', '020852163')],
    ['a sign', TEXT.replace('20852163', '+20852163')],
    ['a size beyond 2^53', TEXT.replace('20852163', '9007199254740993')],
    ['a size of twenty digits', TEXT.replace('20852163', '99999999999999999999')],
    ['a root of 31 bytes', TEXT.replace('CsUYapGG', 'CsUYapGGPo4d'.slice(0, 4))],
    ['an empty extension line', `${TEXT}\nmore\n`],
  ])('is refused with %s', (_, text) => {
    expect(parseCheckpoint(text)).toMatchObject({ ok: false, fault: { kind: 'malformed-checkpoint' } })
  })

  it('is accepted if it is signed by the log that it names', () => {
    const signed = { checkpoint, note: signNote(TEXT, [signer]) }
    expect(verifyAndParseCheckpoint(formatSignedCheckpoint(signed), signer.key)).toEqual({ ok: true, value: signed })
  })

  it('is refused if it is signed by a log other than the one it names', () => {
    const other = createLogSigner('example.com/other', generateKeyPairSync('ed25519').privateKey)
    const note = formatSignedCheckpoint({ checkpoint, note: signNote(TEXT, [other]) })
    expect(verifyAndParseCheckpoint(note, other.key)).toEqual({
      ok: false,
      fault: { kind: 'other-origin', origin: 'example.com/behind-the-sofa' },
    })
    expect(verifyAndParseCheckpoint(note, signer.key)).toEqual({ ok: false, fault: { kind: 'no-known-signature' } })
  })

  it('refuses arbitrary input without throwing', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(parseCheckpoint(`${text}\n`)).toMatchObject({ ok: false, fault: { kind: 'malformed-checkpoint' } })
      }),
    )
  })
})
