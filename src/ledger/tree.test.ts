import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sharedData, vectorRows } from '../../test/shared-data.ts'
import { fromHex, toHex } from '../core/bytes.ts'
import {
  computeConsistencyPath,
  EMPTY_TREE_ROOT,
  createEmptyFrontier,
  extendFrontier,
  readFrontierAt,
  computeFrontierRoot,
  computeInclusionPath,
  computeLeafHash,
  computeNodeHash,
  computeRootAt,
  verifyConsistency,
  verifyInclusion,
} from './tree.ts'
import type { TreeNodeReader } from './tree.ts'

const CT_LEAVES = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f']
const CT_ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]
const BC1A = 'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b'
const CA85 = 'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0'

/** The definitions of RFC 6962 § 2.1, word for word and slow. */
function naiveRoot(leaves: readonly Uint8Array[]): Uint8Array {
  const [only] = leaves
  if (only === undefined) return EMPTY_TREE_ROOT
  if (leaves.length === 1) return computeLeafHash(only)
  const k = naiveSplit(leaves.length)
  return computeNodeHash(naiveRoot(leaves.slice(0, k)), naiveRoot(leaves.slice(k)))
}

function naivePath(m: number, leaves: readonly Uint8Array[]): Uint8Array[] {
  if (leaves.length === 1) return []
  const k = naiveSplit(leaves.length)
  if (m < k) return [...naivePath(m, leaves.slice(0, k)), naiveRoot(leaves.slice(k))]
  return [...naivePath(m - k, leaves.slice(k)), naiveRoot(leaves.slice(0, k))]
}

function naiveProof(m: number, leaves: readonly Uint8Array[], whole: boolean): Uint8Array[] {
  if (m === leaves.length) return whole ? [] : [naiveRoot(leaves)]
  const k = naiveSplit(leaves.length)
  if (m <= k) return [...naiveProof(m, leaves.slice(0, k), whole), naiveRoot(leaves.slice(k))]
  return [...naiveProof(m - k, leaves.slice(k), false), naiveRoot(leaves.slice(0, k))]
}

function naiveSplit(n: number): number {
  let k = 1
  while (k * 2 < n) k *= 2
  return k
}

/** Reads nodes from the frontier's own report of what each leaf completed. */
function grow(leaves: readonly Uint8Array[]): { readonly root: () => Uint8Array; readonly node: TreeNodeReader } {
  const nodes = new Map<string, Uint8Array>()
  const frontier = createEmptyFrontier()
  for (const leaf of leaves)
    extendFrontier(frontier, computeLeafHash(leaf), (height, index, hash) => nodes.set(`${height},${index}`, hash))
  const node: TreeNodeReader = (height, index) => {
    const hash = nodes.get(`${height},${index}`)
    if (hash === undefined) throw new Error(`node ${height},${index} is not complete`)
    return hash
  }
  return { root: () => computeFrontierRoot(frontier), node }
}

const leavesOf = (size: number) => Array.from({ length: size }, (_, index) => Uint8Array.of(index, index >> 8))

describe('Merkle tree', () => {
  it('computes the roots of the Certificate Transparency vectors', () => {
    for (let size = 0; size <= 8; size++)
      expect(toHex(grow(CT_LEAVES.slice(0, size).map(fromHex)).root())).toBe(CT_ROOTS[size])
  })

  it('computes the inclusion and consistency proofs of the Certificate Transparency vectors', () => {
    const { node } = grow(CT_LEAVES.map(fromHex))
    expect(computeInclusionPath(5, 8, node).map(toHex)).toEqual([BC1A, CA85, CT_ROOTS[4]])
    expect(computeConsistencyPath(6, 8, node).map(toHex)).toEqual([
      '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
      CA85,
      CT_ROOTS[4],
    ])
    expect(computeConsistencyPath(2, 5, node).map(toHex)).toEqual([
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      BC1A,
    ])
  })

  it('agrees with the recursive definitions of RFC 6962 for all sizes up to 64', () => {
    const leaves = leavesOf(64)
    const { node } = grow(leaves)
    const roots = leaves.map((_, index) => naiveRoot(leaves.slice(0, index + 1)))
    for (let size = 1; size <= 64; size++) {
      const root = roots[size - 1] ?? EMPTY_TREE_ROOT
      expect(computeRootAt(size, node)).toEqual(root)
      for (let index = 0; index < size; index++) {
        const path = computeInclusionPath(index, size, node)
        expect(path).toEqual(naivePath(index, leaves.slice(0, size)))
        const leaf = computeLeafHash(leaves[index] ?? new Uint8Array(0))
        expect(verifyInclusion({ leaf, index, size, path, root })).toBe(true)
      }
      for (let from = 1; from <= size; from++) {
        const path = computeConsistencyPath(from, size, node)
        expect(path).toEqual(naiveProof(from, leaves.slice(0, size), true))
        const fromRoot = roots[from - 1] ?? EMPTY_TREE_ROOT
        expect(verifyConsistency({ from, to: size, fromRoot, toRoot: root, path })).toBe(true)
      }
    }
  })

  it('refuses a proof with one changed byte', () => {
    const leaves = leavesOf(50)
    const { node } = grow(leaves)
    const byte = fc.record({
      size: fc.integer({ min: 2, max: 50 }),
      at: fc.nat(),
      flip: fc.integer({ min: 1, max: 255 }),
    })
    fc.assert(
      fc.property(byte, fc.nat(), ({ size, at, flip }, pick) => {
        const index = pick % size
        const path = computeInclusionPath(index, size, node).map((hash) => hash.slice())
        const bytes = path[at % path.length]
        if (bytes !== undefined) bytes[at % 32] = (bytes[at % 32] ?? 0) ^ flip
        const leaf = computeLeafHash(leaves[index] ?? new Uint8Array(0))
        expect(verifyInclusion({ leaf, index, size, path, root: computeRootAt(size, node) })).toBe(false)

        const from = 1 + (pick % (size - 1))
        const proof = computeConsistencyPath(from, size, node).map((hash) => hash.slice())
        const part = proof[at % proof.length]
        if (part !== undefined) part[at % 32] = (part[at % 32] ?? 0) ^ flip
        const roots = { fromRoot: computeRootAt(from, node), toRoot: computeRootAt(size, node) }
        expect(verifyConsistency({ from, to: size, ...roots, path: proof })).toBe(false)
      }),
    )
  })

  it('continues from a restored frontier', () => {
    const leaves = leavesOf(40)
    const { node } = grow(leaves)
    for (let size = 0; size < 40; size++) {
      const frontier = readFrontierAt(size, node)
      for (const leaf of leaves.slice(size)) extendFrontier(frontier, computeLeafHash(leaf))
      expect(computeFrontierRoot(frontier)).toEqual(naiveRoot(leaves))
    }
  })

  it('handles indices beyond 2^32', () => {
    // All leaves are equal but one, so a node depends on its height alone and the tree needs no memory.
    const equal = [computeLeafHash(Uint8Array.of(7))]
    const plain = (height: number): Uint8Array =>
      (equal[height] ??= computeNodeHash(plain(height - 1), plain(height - 1)))
    const special = computeLeafHash(Uint8Array.of(8))
    const treeWith = (odd: number): TreeNodeReader => {
      const node: TreeNodeReader = (height, index) => {
        if (Math.floor(odd / 2 ** height) !== index) return plain(height)
        return height === 0 ? special : computeNodeHash(node(height - 1, 2 * index), node(height - 1, 2 * index + 1))
      }
      return node
    }
    const size = 2 ** 45 + 2 ** 33 + 12_345
    for (const index of [1, 2 ** 31, 2 ** 32 + 1, 2 ** 45 - 1, 2 ** 45 + 2 ** 32, size - 1]) {
      const node = treeWith(index)
      const claim = {
        leaf: special,
        index,
        size,
        path: computeInclusionPath(index, size, node),
        root: computeRootAt(size, node),
      }
      expect(verifyInclusion(claim)).toBe(true)
      expect(verifyInclusion({ ...claim, index: (index + 2 ** 32) % size })).toBe(false)
      expect(verifyInclusion({ ...claim, index: index % 2 ** 31 })).toBe(index < 2 ** 31)
      for (const from of [1, 2 ** 31, 2 ** 32, 2 ** 32 + 1, 2 ** 45, size - 1]) {
        const roots = { fromRoot: computeRootAt(from, node), toRoot: computeRootAt(size, node) }
        expect(verifyConsistency({ from, to: size, ...roots, path: computeConsistencyPath(from, size, node) })).toBe(
          true,
        )
      }
    }
  })

  it('accepts an empty consistency proof from the empty tree, and only with the correct root', () => {
    const toRoot = fromHex(CT_ROOTS[3] ?? '')
    expect(verifyConsistency({ from: 0, to: 3, fromRoot: EMPTY_TREE_ROOT, toRoot, path: [] })).toBe(true)
    expect(verifyConsistency({ from: 0, to: 3, fromRoot: EMPTY_TREE_ROOT, toRoot, path: [toRoot] })).toBe(false)
    expect(verifyConsistency({ from: 0, to: 3, fromRoot: toRoot, toRoot, path: [] })).toBe(false)
    expect(verifyConsistency({ from: 0, to: 0, fromRoot: EMPTY_TREE_ROOT, toRoot: EMPTY_TREE_ROOT, path: [] })).toBe(
      true,
    )
  })

  it('throws for a proof of a leaf or a size that does not exist', () => {
    const { node } = grow(leavesOf(3))
    expect(() => computeInclusionPath(3, 3, node)).toThrow('no leaf 3 in a tree of 3')
    expect(() => computeConsistencyPath(4, 3, node)).toThrow('a tree of 3 does not extend one of 4')
  })
})

type ProofRow = { readonly path: readonly string[]; readonly valid: boolean; readonly what: string } & (
  | {
      readonly kind: 'inclusion'
      readonly index: number
      readonly size: number
      readonly leaf: string
      readonly root: string
    }
  | {
      readonly kind: 'consistency'
      readonly from: number
      readonly to: number
      readonly fromRoot: string
      readonly toRoot: string
    }
)

describe('213 published proof vectors', () => {
  it('are accepted or refused as each row says', () => {
    const rows = vectorRows('merkle-proofs') as readonly ProofRow[]
    expect(rows).toHaveLength(213)
    const differing = rows.filter((row) => {
      const path = row.path.map(fromHex)
      const accepted =
        row.kind === 'inclusion'
          ? verifyInclusion({ ...row, leaf: fromHex(row.leaf), root: fromHex(row.root), path })
          : verifyConsistency({ ...row, fromRoot: fromHex(row.fromRoot), toRoot: fromHex(row.toRoot), path })
      return accepted !== row.valid
    })
    expect(differing).toEqual([])
  })
})

interface Vector {
  readonly kind: 'inclusion' | 'consistency'
  readonly name: string
  readonly wantErr: boolean
  readonly proof: readonly string[] | null
  readonly leafIdx: number
  readonly treeSize: number
  readonly root: string
  readonly leafHash: string
  readonly size1: number
  readonly size2: number
  readonly root1: string
  readonly root2: string
}

describe('196 proof vectors of transparency-dev/merkle', () => {
  const text = sharedData('merkle-proof-vectors.jsonl')
  it.skipIf(text === undefined)('are accepted or refused as each row says', () => {
    const vectors = (text ?? '')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Vector)
    expect(vectors).toHaveLength(196)
    const bytes = (encoded: string | null) => new Uint8Array(Buffer.from(encoded ?? '', 'base64'))
    const differing = vectors.filter((vector) => {
      const path = (vector.proof ?? []).map(bytes)
      const accepted =
        vector.kind === 'inclusion'
          ? verifyInclusion({
              leaf: bytes(vector.leafHash),
              index: vector.leafIdx,
              size: vector.treeSize,
              path,
              root: bytes(vector.root),
            })
          : verifyConsistency({
              from: vector.size1,
              to: vector.size2,
              fromRoot: bytes(vector.root1),
              toRoot: bytes(vector.root2),
              path,
            })
      return accepted === vector.wantErr
    })
    // transparency-dev refuses every proof from size 0, we accept an empty one from the empty tree; the set's rows
    // from size 0 carry a proof or roots that are no hashes, so the two policies do not part here.
    expect(differing.map(({ kind, name }) => `${kind} ${name}`)).toEqual([])
  })
})
