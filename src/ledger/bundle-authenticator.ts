/**
 * Bundle authenticator: whether a full entry bundle is the one that this node wrote. At every start, the state that
 * decides about calls is computed from bundles, long before the whole log is verified. A bundle is therefore not
 * trusted because of its file name.
 *
 *   bundle ▸ its MAC is stored ──────────────────────────────▶ authentic
 *          ▸ no MAC, or another ▸ it is in the signed tree ──▶ authentic; its MAC is stored
 *                               ▸ it is not ─────────────────▶ no entry of it is read
 *
 * The MAC is for speed: comparing a bundle with the signed tree takes 512 hashes, a MAC takes one. Only the node's key
 * makes one, so a stored MAC can be removed but not forged.
 *
 * Reads and writes through the store it is given.
 */
import { createHmac, createSecretKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { areBytesEqual } from '../core/bytes.ts'
import type { Result } from '../core/result.ts'
import type { Checkpoint } from './checkpoint.ts'
import type { LogSigner } from './note-key.ts'
import type { InclusionProof } from './proof.ts'
import { expandTile, readTileNode, TILE_HEIGHT, TILE_WIDTH } from './tile.ts'
import { computeLeafHash } from './tree.ts'

/** The key's purpose contains the origin, because a log that continues under another name has other bundles. */
const BUNDLE_KEY_PURPOSE = 'hearthbus ledger bundles v1\n'

export function deriveEntryBundleMacKey(signer: Pick<LogSigner, 'deriveSecret' | 'key'>): KeyObject {
  return createSecretKey(signer.deriveSecret(`${BUNDLE_KEY_PURPOSE}${signer.key.name}`))
}

/** HMAC-SHA-256(key, index (64) ‖ bundle). */
export function computeEntryBundleMac(key: KeyObject, index: number, bundle: Uint8Array): Uint8Array {
  const number = Buffer.alloc(8)
  number.writeBigUInt64BE(BigInt(index))
  return createHmac('sha256', key).update(number).update(bundle).digest()
}

/**
 * Whether these 256 entries are in the signed tree. The first eight hashes in the proof of the first entry are its
 * siblings within the bundle, which commit to all other entries of it.
 */
export function isEntryBundleInTree(
  index: number,
  entries: readonly Uint8Array[],
  signed: Checkpoint | undefined,
  prove: (seq: number, size: number) => Result<InclusionProof, unknown>,
): boolean {
  const first = index * TILE_WIDTH
  if (signed === undefined || first + TILE_WIDTH > signed.size || entries.length !== TILE_WIDTH) return false
  const proof = prove(first, signed.size)
  if (!proof.ok || !areBytesEqual(proof.value.root, signed.root)) return false
  const nodes = expandTile(Buffer.concat(entries.map(computeLeafHash)))
  const { leaf, path } = proof.value
  const siblings = Array.from({ length: TILE_HEIGHT }, (_, height) => readTileNode(nodes, height, 1))
  return (
    areBytesEqual(leaf, readTileNode(nodes, 0, 0)) &&
    siblings.every((sibling, height) => areBytesEqual(sibling, path[height] ?? new Uint8Array(0)))
  )
}
