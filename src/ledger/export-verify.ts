/**
 * Export verification: an exported copy held against the checkpoint that came with it, knowing nothing but the log's
 * key. The entries are read, everything above them is computed again, and every tile must be what was computed.
 *
 * Pure, given a way to read files.
 */
import { equalBytes } from '../core/bytes.ts'
import { Audit } from './audit.ts'
import { checkpointFaultReason, openCheckpoint } from './checkpoint.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import { Edge } from './edge.ts'
import type { FullTile } from './edge.ts'
import { Findings } from './finding.ts'
import type { Finding } from './finding.ts'
import type { VerifierKey } from './note-key.ts'
import { decodeBundle, TILE_BYTES, TILE_HEIGHT, TILE_WIDTH, tilePath, tilesOf } from './tile.ts'
import type { BundleFault, TileName } from './tile.ts'
import { leafHash } from './tree.ts'

/** `undefined` when there is no such file. */
export type FileReader = (path: string) => Promise<Uint8Array | undefined>

export interface ExportVerifyOptions {
  readonly onProgress?: ((checked: number, size: number) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

export interface ExportReport {
  /** With whatever cosignatures it carries, for a caller who trusts witnesses. */
  readonly signed: SignedCheckpoint | undefined
  /** Entries read. */
  readonly size: number
  /** Empty when all is well. */
  readonly findings: readonly Finding[]
  readonly more: number
}

export async function verifyTiles(
  read: FileReader,
  key: VerifierKey,
  options: ExportVerifyOptions = {},
): Promise<ExportReport> {
  const findings = new Findings()
  const signed = await readCheckpoint({ read, findings }, key)
  const checked = signed === undefined ? 0 : await verifyTree({ read, findings }, signed, options)
  return { signed, size: checked, findings: findings.list, more: findings.more }
}

interface Copy {
  readonly read: FileReader
  readonly findings: Findings
}

async function readCheckpoint({ read, findings }: Copy, key: VerifierKey): Promise<SignedCheckpoint | undefined> {
  const text = await read('checkpoint')
  if (text === undefined) {
    findings.add({ kind: 'file-missing', path: 'checkpoint' })
    return undefined
  }
  const opened = openCheckpoint(text, key)
  if (opened.ok) return opened.value
  findings.add({ kind: 'checkpoint-untrusted', where: 'export', reason: checkpointFaultReason(opened.fault) })
  return undefined
}

/** Answers how many entries could be read; stops at the first bundle that is not what the checkpoint promises. */
async function verifyTree(
  copy: Copy,
  { checkpoint }: SignedCheckpoint,
  { onProgress, signal }: ExportVerifyOptions,
): Promise<number> {
  const { findings } = copy
  const { size, root } = checkpoint
  const full: FullTile[] = []
  const edge = new Edge((tile) => full.push(tile))
  const audit = new Audit(findings)
  while (edge.size < size) {
    const index = edge.size / TILE_WIDTH
    const entries = await readBundle(copy.read, {
      level: 'entries',
      index,
      width: Math.min(TILE_WIDTH, size - edge.size),
    })
    if ('kind' in entries) {
      findings.add(entries)
      return edge.size
    }
    for (const bytes of entries) {
      audit.read(edge.size, bytes)
      edge.append(leafHash(bytes))
    }
    for (const { level, index: at, nodes } of full.splice(0))
      await checkTile(copy, { level, index: at, width: TILE_WIDTH }, nodes.subarray(0, TILE_BYTES))
    onProgress?.(edge.size, size)
    signal?.throwIfAborted()
  }
  for (const name of tilesOf(size)) if (name.width < TILE_WIDTH) await checkTile(copy, name, partialHashes(edge, name))
  if (!equalBytes(edge.root(), root)) findings.add({ kind: 'root-differs', where: 'export', signed: size })
  return edge.size
}

async function readBundle(read: FileReader, name: TileName): Promise<readonly Uint8Array[] | Finding> {
  const bundle = await read(tilePath(name))
  if (bundle === undefined) return { kind: 'file-missing', path: tilePath(name) }
  const decoded = decodeBundle(bundle, name.width)
  return decoded.ok ? decoded.value : { kind: 'bundle-unreadable', index: name.index, reason: words(decoded.fault) }
}

async function checkTile({ read, findings }: Copy, name: TileName, hashes: Uint8Array): Promise<void> {
  const path = tilePath(name)
  const stored = await read(path)
  if (stored === undefined) findings.add({ kind: 'file-missing', path })
  else if (!equalBytes(stored, hashes) && name.level !== 'entries')
    findings.add({ kind: 'tile-differs', level: name.level, index: name.index })
}

function partialHashes(edge: Edge, { level, index, width }: TileName): Uint8Array {
  if (level === 'entries') throw new TypeError('a bundle is not a tile of hashes')
  const hashes = Array.from({ length: width }, (_, offset) =>
    edge.node(level * TILE_HEIGHT, index * TILE_WIDTH + offset),
  )
  return Buffer.concat(hashes.map((hash) => hash ?? new Uint8Array(0)))
}

function words(fault: BundleFault): string {
  return fault.kind === 'cut-off' ? 'it ends in the middle of an entry' : `it holds ${fault.count} entries`
}
