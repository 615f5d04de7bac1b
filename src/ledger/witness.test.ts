import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toUtf8 } from '../core/bytes.ts'
import { formatCheckpoint } from './checkpoint.ts'
import type { Checkpoint, SignedCheckpoint } from './checkpoint.ts'
import { signNote } from './signed-note.ts'
import { createLogSigner } from './note-key.ts'
import {
  computeConsistencyPath,
  EMPTY_TREE_ROOT,
  createEmptyFrontier,
  extendFrontier,
  computeLeafHash,
  computeRootAt,
} from './tree.ts'
import type { TreeNodeReader } from './tree.ts'
import {
  parseAddCheckpointRequest,
  formatAddCheckpointRequest,
  formatCosignedCheckpointPath,
  checkAgainstKnownCheckpoint,
} from './witness.ts'

const ORIGIN = 'log.example/1'
const log = createLogSigner(ORIGIN, generateKeyPairSync('ed25519').privateKey)
const otherSigner = createLogSigner(ORIGIN, generateKeyPairSync('ed25519').privateKey)
const unknown = createLogSigner('log.example/2', generateKeyPairSync('ed25519').privateKey)
const logs = new Map([[ORIGIN, [log.key]]])

const nodes = new Map<string, Uint8Array>()
const frontier = createEmptyFrontier()
for (let index = 0; index < 20; index++)
  extendFrontier(frontier, computeLeafHash(toUtf8(String(index))), (height, at, hash) =>
    nodes.set(`${height},${at}`, hash),
  )
const node: TreeNodeReader = (height, index) => nodes.get(`${height},${index}`) ?? EMPTY_TREE_ROOT

const head = (size: number, root = computeRootAt(size, node)): Checkpoint => ({
  origin: ORIGIN,
  size,
  root,
  extensions: [],
})
const sign = (checkpoint: Checkpoint, signer = log): SignedCheckpoint => ({
  checkpoint,
  note: signNote(formatCheckpoint(checkpoint), [signer]),
})

/** What the witness answers to `old ▸ new`, remembering `remembered` entries. */
function answer(
  oldSize: number,
  signed: SignedCheckpoint,
  remembered: number | undefined,
  proof = computeConsistencyPath(oldSize, Math.max(oldSize, signed.checkpoint.size), node),
): number | readonly [409, number] {
  const admitted = parseAddCheckpointRequest(formatAddCheckpointRequest({ oldSize, proof, signed }), logs)
  if (!admitted.ok) return admitted.fault.status
  const refusal = checkAgainstKnownCheckpoint(admitted.value, remembered === undefined ? undefined : head(remembered))
  if (refusal === undefined) return 200
  return refusal.status === 409 ? [409, refusal.size] : refusal.status
}

describe('witness', () => {
  it('cosigns the first checkpoint of a log and every extension of the last one', () => {
    expect(answer(0, sign(head(7)), undefined)).toBe(200)
    for (let from = 1; from <= 20; from++)
      for (let to = from; to <= 20; to++) expect(answer(from, sign(head(to)), from)).toBe(200)
  })

  it('cosigns the empty tree, and the same checkpoint again', () => {
    expect(answer(0, sign(head(0, EMPTY_TREE_ROOT)), undefined)).toBe(200)
    expect(answer(7, sign(head(7)), 7)).toBe(200)
  })

  it('answers 400 to an old size above the new size', () => {
    expect(answer(8, sign(head(7)), 8, [])).toBe(400)
  })

  it('answers 403 if no trusted key signed the checkpoint', () => {
    expect(answer(0, sign(head(7), otherSigner), undefined)).toBe(403)
    const changed = formatAddCheckpointRequest({ oldSize: 0, proof: [], signed: sign(head(7)) }).replace(
      '\n7\n',
      '\n8\n',
    )
    expect(parseAddCheckpointRequest(changed, logs)).toMatchObject({ ok: false, fault: { status: 403 } })
  })

  it('answers 404 to a log it does not serve', () => {
    const checkpoint = { ...head(7), origin: 'log.example/2' }
    expect(answer(0, sign(checkpoint, unknown), undefined)).toBe(404)
  })

  it('answers 409 with the size it knows to another old size', () => {
    expect(answer(0, sign(head(9)), 7)).toEqual([409, 7])
    expect(answer(8, sign(head(9)), 7)).toEqual([409, 7])
    expect(answer(3, sign(head(9)), undefined)).toEqual([409, 0])
  })

  it('answers 422 to an invalid consistency proof', () => {
    const other = computeLeafHash(toUtf8('other'))
    expect(answer(7, sign(head(9)), 7, [])).toBe(422)
    expect(answer(7, sign(head(9, other)), 7)).toBe(422)
    expect(answer(0, sign(head(9)), undefined, [other])).toBe(422)
    expect(answer(7, sign(head(7, other)), 7)).toBe(422)
    expect(answer(7, sign(head(7)), 7, [other])).toBe(422)
    expect(answer(0, sign(head(0, other)), undefined)).toBe(422)
  })

  const good = formatAddCheckpointRequest({
    oldSize: 7,
    proof: computeConsistencyPath(7, 9, node),
    signed: sign(head(9)),
  })

  it.each([
    ['no old line', good.slice(good.indexOf('\n') + 1)],
    ['an old size with a leading zero', good.replace('old 7', 'old 07')],
    ['a line that is no hash', good.replace('old 7\n', 'old 7\nAAAA\n')],
    ['64 proof lines', good.replace('old 7\n', `old 7\n${`${'A'.repeat(43)}=\n`.repeat(64)}`)],
    ['no checkpoint', good.slice(0, good.indexOf('\n\n') + 2)],
    ['no empty line', good.replace('\n\n', '\n')],
    ['nothing', ''],
  ])('answers 400 to a request with %s', (_, body) => {
    expect(parseAddCheckpointRequest(body, logs)).toMatchObject({ ok: false, fault: { status: 400 } })
  })

  it('never accepts a request in which one character was changed', () => {
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.constantFrom('A', '1', '\n', ' '), (at, character) => {
        fc.pre(good[at] !== character)
        const admitted = parseAddCheckpointRequest(good.slice(0, at) + character + good.slice(at + 1), logs)
        expect(admitted.ok && checkAgainstKnownCheckpoint(admitted.value, head(7)) === undefined).toBe(false)
      }),
    )
  })

  it('publishes a log under the hash of its origin', () => {
    expect(formatCosignedCheckpointPath('example.com/log42')).toMatch(/^\/[0-9a-f]{64}\/checkpoint$/)
  })
})
