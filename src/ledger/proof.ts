/**
 * Proof: inclusion and consistency proofs of a tree, made from its nodes and checked before they are returned. A proof
 * that does not verify would tell its receiver that the log is dishonest, although only a tile is damaged.
 *
 * Pure, given a tree to read.
 */
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { computeConsistencyPath, computeInclusionPath, verifyConsistency, verifyInclusion } from './tree.ts'
import type { ConsistencyClaim, InclusionClaim, TreeNodeReader } from './tree.ts'

export type InclusionProof = InclusionClaim
export type ConsistencyProof = ConsistencyClaim

export type ProofCreationFault =
  | { readonly kind: 'no-such-entry'; readonly seq: number; readonly size: number }
  | { readonly kind: 'no-such-size'; readonly asked: number; readonly size: number }
  | { readonly kind: 'damaged'; readonly reason: string }

/** Thrown by a tree with missing nodes. */
export class TreeDamagedError extends Error {}

/** Reading it may throw `TreeDamagedError`. */
export interface ProvableTree {
  readonly size: number
  readonly rootAt: (size: number) => Uint8Array
  readonly node: TreeNodeReader
  /** Drops cached nodes, so that the next proof is made from the tiles themselves. */
  readonly reread?: () => void
}

/** Proves that entry `seq` is in the tree of size `requestedSize`, by default the newest. */
export function proveInclusion(
  tree: ProvableTree,
  seq: number,
  requestedSize?: number,
): Result<InclusionProof, ProofCreationFault> {
  return attempt(tree, () => {
    const size = requestedSize ?? tree.size
    if (!isCount(size, tree.size)) return fail({ kind: 'no-such-size', asked: size, size: tree.size })
    if (!isCount(seq, size - 1)) return fail({ kind: 'no-such-entry', seq, size })
    const path = computeInclusionPath(seq, size, tree.node).map((hash) => hash.slice())
    const claim = { leaf: tree.node(0, seq).slice(), index: seq, size, path, root: tree.rootAt(size) }
    return verifyInclusion(claim) ? ok(claim) : fail(CONTRADICTION)
  })
}

/** Proves that the tree of size `requestedSize`, by default the newest, extends the one of size `from`. */
export function proveConsistency(
  tree: ProvableTree,
  from: number,
  requestedSize?: number,
): Result<ConsistencyProof, ProofCreationFault> {
  return attempt(tree, () => {
    const to = requestedSize ?? tree.size
    if (!isCount(to, tree.size)) return fail({ kind: 'no-such-size', asked: to, size: tree.size })
    if (!isCount(from, to)) return fail({ kind: 'no-such-size', asked: from, size: to })
    const path = computeConsistencyPath(from, to, tree.node).map((hash) => hash.slice())
    const claim = { from, to, fromRoot: tree.rootAt(from), toRoot: tree.rootAt(to), path }
    return verifyConsistency(claim) ? ok(claim) : fail(CONTRADICTION)
  })
}

const CONTRADICTION: ProofCreationFault = { kind: 'damaged', reason: 'stored tiles contradict each other' }

/** Makes a proof. If it fails, cached nodes may be wrong, so it is made once more without them. */
function attempt<Claim>(
  tree: ProvableTree,
  make: () => Result<Claim, ProofCreationFault>,
): Result<Claim, ProofCreationFault> {
  const first = guarded(make)
  if (first.ok || first.fault.kind !== 'damaged' || tree.reread === undefined) return first
  tree.reread()
  return guarded(make)
}

function guarded<Claim>(make: () => Result<Claim, ProofCreationFault>): Result<Claim, ProofCreationFault> {
  try {
    return make()
  } catch (error) {
    if (error instanceof TreeDamagedError) return fail({ kind: 'damaged', reason: error.message })
    throw error
  }
}

function isCount(value: number, most: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value <= most
}
