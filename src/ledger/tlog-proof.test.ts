import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromHex, toUtf8 } from '../core/bytes.ts'
import { formatCheckpoint } from './checkpoint.ts'
import { signNote, addSignaturesToNote } from './signed-note.ts'
import { createCosigner, createLogSigner } from './note-key.ts'
import { createLogOnlyPolicy } from './tlog-policy.ts'
import type { WitnessPolicy } from './tlog-policy.ts'
import { formatTlogProof, parseTlogProof, createTlogProof, verifyTlogProof } from './tlog-proof.ts'
import { computeLeafHash, computeNodeHash } from './tree.ts'

const log = createLogSigner('log.example', generateKeyPairSync('ed25519').privateKey)
const [w1, w2] = ['w1.example', 'w2.example'].map((name) =>
  createCosigner(name, generateKeyPairSync('ed25519').privateKey, () => 1_700_000_000_000),
) as [ReturnType<typeof createCosigner>, ReturnType<typeof createCosigner>]

const entries = ['zero', 'one', 'two'].map(toUtf8)
const [h0, h1, h2] = entries.map(computeLeafHash) as [Uint8Array, Uint8Array, Uint8Array]
const root = computeNodeHash(computeNodeHash(h0, h1), h2)
const checkpoint = { origin: 'log.example', size: 3, root, extensions: [] }
const signed = { checkpoint, note: signNote(formatCheckpoint(checkpoint), [log]) }
const cosigned = { checkpoint, note: addSignaturesToNote(signed.note, signNote(signed.note.text, [w1]).signatures) }
const entry = entries[1] ?? new Uint8Array(0)
const text = formatTlogProof(createTlogProof(1, [h0, h2], cosigned))

const witnessed: WitnessPolicy = {
  logs: [{ key: log.key, url: undefined }],
  witnesses: [w1, w2].map(({ key }) => ({ name: key.name, key, url: undefined })),
  groups: [{ name: 'both', threshold: 2, members: ['w1.example', 'w2.example'] }],
  quorum: 'w1.example',
}

describe('tlog-proof', () => {
  it('is formatted as the specification says', () => {
    const lines = text.split('\n')
    expect(lines.slice(0, 2)).toEqual(['c2sp.org/tlog-proof@v1', 'index 1'])
    expect(lines.slice(4, 7)).toEqual(['', 'log.example', '3'])
    expect(parseTlogProof(text)).toMatchObject({ ok: true, value: { index: 1, extra: undefined, path: [h0, h2] } })
  })

  it('carries extra data, which no signature covers', () => {
    const proof = { ...createTlogProof(1, [h0, h2], signed), extra: fromHex('00ff') }
    const again = parseTlogProof(formatTlogProof(proof))
    expect(again).toEqual({ ok: true, value: proof })
    expect(formatTlogProof(proof)).toContain('\nextra AP8=\nindex 1\n')
  })

  it('can be verified offline with the log key alone and with a witness', () => {
    expect(verifyTlogProof(text, entry, createLogOnlyPolicy(log.key))).toMatchObject({
      ok: true,
      value: { cosignatures: [] },
    })
    expect(verifyTlogProof(text, entry, witnessed)).toMatchObject({
      ok: true,
      value: { checkpoint: { checkpoint: { size: 3 } }, cosignatures: [{ atSeconds: 1_700_000_000 }] },
    })
  })

  it('is refused for another entry, another index or another log key', () => {
    expect(verifyTlogProof(text, toUtf8('two'), witnessed)).toEqual({ ok: false, fault: { kind: 'not-included' } })
    expect(verifyTlogProof(text.replace('index 1', 'index 0'), entry, witnessed)).toMatchObject({
      fault: { kind: 'not-included' },
    })
    const other = createLogSigner('log.example', generateKeyPairSync('ed25519').privateKey)
    expect(verifyTlogProof(text, entry, createLogOnlyPolicy(other.key))).toMatchObject({
      fault: { kind: 'untrusted-checkpoint', faults: [{ kind: 'no-known-signature' }] },
    })
  })

  it('is refused if the quorum of the policy is not met', () => {
    expect(verifyTlogProof(text, entry, { ...witnessed, quorum: 'both' })).toEqual({
      ok: false,
      fault: { kind: 'quorum-not-met', cosigned: ['w1.example'] },
    })
    const plain = formatTlogProof(createTlogProof(1, [h0, h2], signed))
    expect(verifyTlogProof(plain, entry, witnessed)).toMatchObject({ fault: { kind: 'quorum-not-met', cosigned: [] } })
  })

  it('is refused because of an invalid cosignature of a trusted witness', () => {
    const forged = { checkpoint, note: addSignaturesToNote(signed.note, signNote('other\n', [w1]).signatures) }
    expect(verifyTlogProof(formatTlogProof(createTlogProof(1, [h0, h2], forged)), entry, witnessed)).toMatchObject({
      fault: { kind: 'untrusted-checkpoint' },
    })
  })

  it.each([
    ['another first line', text.replace('@v1', '@v2')],
    ['no index', text.replace('index 1\n', '')],
    ['an index with a leading zero', text.replace('index 1', 'index 01')],
    ['a path line that is no hash', text.replace('index 1\n', 'index 1\nAAAA\n')],
    [
      'a path of 64',
      text.replace('index 1\n', `index 1\n${'A'.repeat(43)}=\n`.padEnd(64 * 45 + 8, `${'A'.repeat(43)}=\n`)),
    ],
    ['extra data that is no base64', text.replace('index', 'extra !\nindex')],
    ['no checkpoint', text.split('\n\n')[0] ?? ''],
  ])('is refused with %s', (_, bad) => {
    expect(verifyTlogProof(bad, entry, witnessed)).toMatchObject({ ok: false, fault: { kind: 'malformed-proof' } })
  })

  it('is refused with any one character changed', () => {
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.constantFrom('A', '1', '\n', 'é', ' '), (at, character) => {
        fc.pre(text[at] !== character)
        const changed = text.slice(0, at) + character + text.slice(at + 1)
        expect(verifyTlogProof(changed, entry, witnessed).ok).toBe(false)
      }),
    )
  })
})
