/**
 * Tree: the Merkle tree of RFC 6962 § 2.1 and its two proofs.
 *
 *   size 7      root                a node (height, index) is the hash over the leaves
 *            ┌───┴───┐              index·2^height … (index+1)·2^height − 1 and never changes once it is complete;
 *           2,0      ·              the frontier holds the complete ones that no larger one covers yet:
 *         ┌──┴──┐  ┌─┴─┐            here (2,0) (1,2) (0,6)
 *        1,0   1,1 1,2 0,6
 *
 * Indexes are plain numbers up to 2^53; arithmetic is division and remainder, because `>>` would cut them to 32 bits.
 */
import { hash } from 'node:crypto'
import { areBytesEqual } from '../core/bytes.ts'

export const HASH_BYTES = 32

/** Reads a complete node; called only for nodes that are complete at the given size. */
export type TreeNodeReader = (height: number, index: number) => Uint8Array

const digest = Buffer.alloc(HASH_BYTES)

export function computeSha256(data: Uint8Array): Uint8Array {
  // The digest is read as a binary string: returning 32 bytes in a new buffer takes Node three times as long.
  digest.write(hash('sha256', data, 'binary'), 0, HASH_BYTES, 'latin1')
  return new Uint8Array(digest)
}

/** SHA-256 of nothing: the root of the tree without leaves. */
export const EMPTY_TREE_ROOT: Uint8Array = computeSha256(new Uint8Array(0))

const leafInput = Buffer.alloc(65_536)
const nodeInput = Buffer.alloc(1 + 2 * HASH_BYTES)
nodeInput[0] = 0x01

/** SHA-256(0x00 ‖ data), RFC 6962 § 2.1. */
export function computeLeafHash(data: Uint8Array): Uint8Array {
  // Hashing is synchronous, so one scratch buffer serves every call; leaves of other logs may be longer than ours.
  if (data.length >= leafInput.length) return computeSha256(Buffer.concat([leafInput.subarray(0, 1), data]))
  leafInput.set(data, 1)
  return computeSha256(leafInput.subarray(0, 1 + data.length))
}

/** Writes `computeLeafHash(data)` into `target`: a tile takes 256 of them, and a buffer for each costs half as much again. */
export function writeLeafHashToBuffer(data: Uint8Array, target: Buffer, at: number): void {
  if (data.length >= leafInput.length) return target.set(computeLeafHash(data), at)
  leafInput.set(data, 1)
  target.write(hash('sha256', leafInput.subarray(0, 1 + data.length), 'binary'), at, HASH_BYTES, 'latin1')
}

/** Writes the node over two hashes that stand one after the other in `nodes`, at `from`, to `at` in the same buffer. */
export function writeNodeHashToBuffer(nodes: Buffer, from: number, at: number): void {
  nodes.copy(nodeInput, 1, from, from + 2 * HASH_BYTES)
  nodes.write(hash('sha256', nodeInput, 'binary'), at, HASH_BYTES, 'latin1')
}

/** SHA-256(0x01 ‖ left ‖ right), RFC 6962 § 2.1. */
export function computeNodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  if (left.length !== HASH_BYTES || right.length !== HASH_BYTES) throw new RangeError('a node joins two 32-byte hashes')
  nodeInput.set(left, 1)
  nodeInput.set(right, 1 + HASH_BYTES)
  return computeSha256(nodeInput)
}

/**
 * `extendFrontier` changes it in place, because an append must not copy the stack. `subtrees` runs from the largest to
 * the newest.
 */
export interface TreeFrontier {
  size: number
  readonly subtrees: Uint8Array[]
}

export function createEmptyFrontier(): TreeFrontier {
  return { size: 0, subtrees: [] }
}

/** Appends one leaf and reports every node that it completes, leaf first. */
export function extendFrontier(
  frontier: TreeFrontier,
  leaf: Uint8Array,
  onNode?: (height: number, index: number, hash: Uint8Array) => void,
): void {
  let node = leaf
  let index = frontier.size
  let height = 0
  onNode?.(height, index, node)
  while (index % 2 === 1) {
    const left = frontier.subtrees.pop()
    if (left === undefined) throw new Error('the frontier has fewer subtrees than its size says')
    node = computeNodeHash(left, node)
    index = (index - 1) / 2
    height += 1
    onNode?.(height, index, node)
  }
  frontier.subtrees.push(node)
  frontier.size += 1
}

export function computeFrontierRoot({ subtrees }: TreeFrontier): Uint8Array {
  return subtrees.length === 0 ? EMPTY_TREE_ROOT : subtrees.reduceRight((right, left) => computeNodeHash(left, right))
}

/** The frontier of an earlier or a stored tree, read node by node. */
export function readFrontierAt(size: number, node: TreeNodeReader): TreeFrontier {
  const subtrees: Uint8Array[] = []
  for (let start = 0, width = largestPowerOfTwo(size); start < size; width /= 2) {
    if (start + width > size) continue
    subtrees.push(node(Math.log2(width), start / width))
    start += width
  }
  return { size, subtrees }
}

export function computeRootAt(size: number, node: TreeNodeReader): Uint8Array {
  return computeFrontierRoot(readFrontierAt(size, node))
}

/** The siblings from the leaf to the root, RFC 6962 § 2.1.1. */
export function computeInclusionPath(index: number, size: number, node: TreeNodeReader): Uint8Array[] {
  if (!(index >= 0 && index < size)) throw new RangeError(`no leaf ${index} in a tree of ${size}`)
  const path: Uint8Array[] = []
  let [start, end] = [0, size]
  while (end - start > 1) {
    const middle = start + splitPoint(end - start)
    if (index < middle) {
      path.push(rangeHash(middle, end, node))
      end = middle
    } else {
      path.push(rangeHash(start, middle, node))
      start = middle
    }
  }
  return path.reverse()
}

/** RFC 6962 § 2.1.2. The path is empty for equal sizes and for size 0, which every tree extends. */
export function computeConsistencyPath(from: number, to: number, node: TreeNodeReader): Uint8Array[] {
  if (!(from >= 0 && from <= to)) throw new RangeError(`a tree of ${to} does not extend one of ${from}`)
  if (from === 0 || from === to) return []
  const path: Uint8Array[] = []
  let [start, end] = [0, to]
  while (from < end) {
    const middle = start + splitPoint(end - start)
    if (from <= middle) {
      path.push(rangeHash(middle, end, node))
      end = middle
    } else {
      path.push(rangeHash(start, middle, node))
      start = middle
    }
  }
  // If the walk ends at that node, the verifier already has the old root.
  if (start > 0) path.push(rangeHash(start, end, node))
  return path.reverse()
}

export interface InclusionClaim {
  readonly leaf: Uint8Array
  readonly index: number
  readonly size: number
  readonly path: readonly Uint8Array[]
  readonly root: Uint8Array
}

/** RFC 9162 § 2.1.3.2. */
export function verifyInclusion({ leaf, index, size, path, root }: InclusionClaim): boolean {
  if (!isCount(index) || !isCount(size) || index >= size) return false
  if (![leaf, root, ...path].every(isHash)) return false
  let [position, last, result] = [index, size - 1, leaf]
  for (const sibling of path) {
    if (last === 0) return false
    if (position % 2 === 1 || position === last) {
      result = computeNodeHash(sibling, result)
      while (position % 2 === 0 && position !== 0) [position, last] = [half(position), half(last)]
    } else {
      result = computeNodeHash(result, sibling)
    }
    ;[position, last] = [half(position), half(last)]
  }
  return last === 0 && areBytesEqual(result, root)
}

export interface ConsistencyClaim {
  readonly from: number
  readonly to: number
  readonly fromRoot: Uint8Array
  readonly toRoot: Uint8Array
  readonly path: readonly Uint8Array[]
}

/**
 * RFC 9162 § 2.1.4.2. For size 0 the rule is the C2SP witness's: accepted with an empty path when the old root is the
 * empty tree's, because a witness that sees a log for the first time has nothing else to compare.
 */
export function verifyConsistency({ from, to, fromRoot, toRoot, path }: ConsistencyClaim): boolean {
  if (!isCount(from) || !isCount(to) || from > to) return false
  if (from === 0 && !areBytesEqual(fromRoot, EMPTY_TREE_ROOT)) return false
  if (from === to) return path.length === 0 && areBytesEqual(fromRoot, toRoot)
  if (![fromRoot, toRoot, ...path].every(isHash)) return false
  if (from === 0) return path.length === 0
  const [first, ...rest] = largestPowerOfTwo(from) === from ? [fromRoot, ...path] : path
  if (first === undefined || path.length === 0) return false

  let [position, last] = [from - 1, to - 1]
  while (position % 2 === 1) [position, last] = [half(position), half(last)]
  let [oldResult, newResult] = [first, first]
  for (const sibling of rest) {
    if (last === 0) return false
    if (position % 2 === 1 || position === last) {
      oldResult = computeNodeHash(sibling, oldResult)
      newResult = computeNodeHash(sibling, newResult)
      while (position % 2 === 0 && position !== 0) [position, last] = [half(position), half(last)]
    } else {
      newResult = computeNodeHash(newResult, sibling)
    }
    ;[position, last] = [half(position), half(last)]
  }
  return last === 0 && areBytesEqual(oldResult, fromRoot) && areBytesEqual(newResult, toRoot)
}

/** MTH(D[start:end]) for a range that RFC 6962's splits can produce: its parts are complete nodes. */
function rangeHash(start: number, end: number, node: TreeNodeReader): Uint8Array {
  const width = end - start
  if (largestPowerOfTwo(width) === width) return node(Math.log2(width), start / width)
  const middle = start + splitPoint(width)
  return computeNodeHash(rangeHash(start, middle, node), rangeHash(middle, end, node))
}

/** The largest power of two below `count`; `count` is at least 2. */
function splitPoint(count: number): number {
  return largestPowerOfTwo(count - 1)
}

/** The largest power of two not above `count`; 1 for 0. */
function largestPowerOfTwo(count: number): number {
  let power = 1
  while (power * 2 <= count) power *= 2
  return power
}

function half(value: number): number {
  return Math.floor(value / 2)
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

function isHash(value: Uint8Array): boolean {
  return value.length === HASH_BYTES
}
