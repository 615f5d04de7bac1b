/**
 * Monitor: follows the published files of another node's log and keeps a copy of its own, with which it detects a fork,
 * a rollback or silence.
 *
 *   checkpoint ▸ signed? ▸ not smaller, not another of the same size ▸ new tiles and bundles
 *     ▸ entries hash to the leaves ▸ each full tile has the root that the tile above it holds ▸ the tree still has the root that was kept ▸ and the new one ▸ kept
 *
 * The kept checkpoint is replaced only after all checks: it stays at the last sound one, which is the evidence.
 */
import { readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { areBytesEqual } from '../core/bytes.ts'
import { createPrivateFolder } from '../core/folder-store.ts'
import { readFileIfPresent, writeFileAtomically, writeFileWithoutDirectorySync } from './atomic-file-store.ts'
import { formatCheckpointFault, verifyAndParseCheckpoint } from './checkpoint.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import type { NoteVerifier } from './note-key.ts'
import {
  decodeEntryBundle,
  expandTile,
  countLevelHashes,
  TILE_HEIGHT,
  TILE_WIDTH,
  readTileNode,
  formatTilePath,
  listTiles,
} from './tile.ts'
import type { TileCoordinates } from './tile.ts'
import { computeLeafHash, computeRootAt, HASH_BYTES } from './tree.ts'

/** A published file of the log; `undefined` when there is none. */
export type PublishedFileReader = (path: string) => Promise<Uint8Array | undefined>

export type MonitorAlarmKind = 'fork' | 'rollback' | 'untrusted' | 'incomplete' | 'silence'

export type MonitorRoundResult =
  | { readonly kind: 'unchanged'; readonly size: number }
  | { readonly kind: 'grown'; readonly from: number; readonly size: number }
  | MonitorAlarm

interface MonitorAlarm {
  readonly kind: 'alarm'
  readonly alarm: MonitorAlarmKind
  readonly sentence: string
}

export interface MonitoredLog {
  readonly published: PublishedFileReader
  readonly key: NoteVerifier
  /** Where the copy is kept. */
  readonly folder: string
  /** Without a new checkpoint for longer than this, the log is silent. */
  readonly silenceMs: number
}

export async function checkMonitoredLog(log: MonitoredLog, nowMs: number): Promise<MonitorRoundResult> {
  const { folder, key } = log
  const storedText = await readFileIfPresent(join(folder, 'checkpoint'))
  const stored = storedText && verifyAndParseCheckpoint(storedText, key)
  if (stored?.ok === false)
    return alarm(
      'untrusted',
      `The checkpoint in ${folder} is not one of this log: ${formatCheckpointFault(stored.fault)}.`,
    )
  const known = stored?.value
  const text = await log.published('checkpoint').catch(async (error: unknown) => {
    // A log that cannot be reached publishes nothing new either, so it may be silent.
    const quiet = known && (await findSilence(log, nowMs))
    if (quiet === undefined) throw error
    return quiet
  })
  if (text !== undefined && 'alarm' in text) return text
  if (text === undefined) return alarm('incomplete', 'The log publishes no checkpoint.')
  const opened = verifyAndParseCheckpoint(text, key)
  if (!opened.ok)
    return alarm(
      'untrusted',
      `The log publishes a checkpoint that cannot be trusted: ${formatCheckpointFault(opened.fault)}.`,
    )
  const round = compareCheckpoints(opened.value, known)
  if (round !== undefined) return round.kind === 'unchanged' ? ((await findSilence(log, nowMs)) ?? round) : round
  const from = known?.checkpoint.size ?? 0
  const missing = await copyTiles(log, opened.value.checkpoint.size, from)
  if (missing !== undefined)
    return alarm(
      'incomplete',
      `The log signed ${opened.value.checkpoint.size} entries but does not publish ${missing}.`,
    )
  const flaw = await treeFlaw(folder, opened.value, known)
  if (flaw !== undefined) return alarm('fork', flaw)
  await writeFileAtomically(join(folder, 'checkpoint'), text)
  return { kind: 'grown', from, size: opened.value.checkpoint.size }
}

/** Compares the checkpoint with the known one; `undefined` when the tiles have to be compared. */
function compareCheckpoints(
  { checkpoint }: SignedCheckpoint,
  known: SignedCheckpoint | undefined,
): MonitorRoundResult | undefined {
  if (known === undefined) return undefined
  const { size, root } = known.checkpoint
  if (checkpoint.size < size)
    return alarm(
      'rollback',
      `The log had signed ${size} entries and now publishes ${checkpoint.size}: an older copy was restored.`,
    )
  if (checkpoint.size > size) return undefined
  return areBytesEqual(checkpoint.root, root)
    ? { kind: 'unchanged', size }
    : alarm('fork', `The log has signed two different trees of ${size} entries.`)
}

/** Since when the log is silent; `undefined` while the kept checkpoint is new enough. */
async function findSilence({ folder, silenceMs }: MonitoredLog, nowMs: number): Promise<MonitorAlarm | undefined> {
  const { mtimeMs } = await stat(join(folder, 'checkpoint'))
  const quietMs = nowMs - mtimeMs
  return quietMs > silenceMs
    ? alarm('silence', `The log has published nothing new for ${Math.round(quietMs / 60_000)} minutes.`)
    : undefined
}

/** Copies the new tiles. Returns the first file that is missing. */
async function copyTiles(log: MonitoredLog, size: number, from: number): Promise<string | undefined> {
  const done = (level: number): number => Math.floor(countLevelHashes(level, from) / TILE_WIDTH)
  for (const tile of listTiles(size, done))
    for (const name of tile.level === 0 ? [tile, { ...tile, level: 'entries' as const }] : [tile]) {
      const content = await log.published(formatTilePath(name))
      if (content === undefined) return formatTilePath(name)
      const path = join(log.folder, formatTilePath(name))
      createPrivateFolder(dirname(path))
      await writeFileWithoutDirectorySync(path, content)
    }
  return undefined
}

/** Why the copied tiles are not a tree that extends the saved one, as a sentence. */
async function treeFlaw(
  folder: string,
  { checkpoint: { size, root } }: SignedCheckpoint,
  known: SignedCheckpoint | undefined,
): Promise<string | undefined> {
  const from = known?.checkpoint.size ?? 0
  const tiles = new Map<string, Uint8Array>()
  const read = async (name: TileCoordinates): Promise<Uint8Array | undefined> => {
    const hashes = await readFile(join(folder, formatTilePath(name)))
    if (hashes.length !== name.width * HASH_BYTES) return undefined
    const nodes = expandTile(hashes)
    tiles.set(`${name.level}/${name.index}`, nodes)
    return nodes
  }
  for (const name of listTiles(size)) {
    const isNew = name.index >= Math.floor(countLevelHashes(Number(name.level), from) / TILE_WIDTH)
    const nodes = await read(name)
    if (nodes === undefined) return `Tile ${name.level}/${name.index} does not hold ${name.width} hashes.`
    if (name.level !== 0 || !isNew) continue
    const bundle = decodeEntryBundle(
      await readFile(join(folder, formatTilePath({ ...name, level: 'entries' }))),
      name.width,
    )
    if (
      !bundle.ok ||
      bundle.value.some((entry, at) => !areBytesEqual(computeLeafHash(entry), readTileNode(nodes, 0, at)))
    )
      return `Entry bundle ${name.index} does not hold the entries that its tile speaks of.`
  }
  const node = (height: number, index: number): Uint8Array => {
    const [level, within] = [Math.floor(height / TILE_HEIGHT), height % TILE_HEIGHT]
    const perTile = 2 ** (TILE_HEIGHT - within)
    const nodes = tiles.get(`${level}/${Math.floor(index / perTile)}`)
    if (nodes === undefined) throw new Error(`tile ${level}/${Math.floor(index / perTile)} was not copied`)
    return readTileNode(nodes, within, index % perTile)
  }
  // The root is computed from the upper tiles, so these must contain the roots of the full tiles below them.
  for (const { level, index, width } of listTiles(size)) {
    const nodes = tiles.get(`${level}/${index}`)
    const above = (Number(level) + 1) * TILE_HEIGHT
    if (width === TILE_WIDTH && nodes && !areBytesEqual(readTileNode(nodes, TILE_HEIGHT, 0), node(above, index)))
      return `Tile ${level}/${index} does not have the root that the tile above it holds.`
  }
  if (!areBytesEqual(computeRootAt(size, node), root))
    return `The tiles of ${size} entries do not have the root that was signed.`
  if (known !== undefined && !areBytesEqual(computeRootAt(from, node), known.checkpoint.root))
    return `The first ${from} entries are not the ones that the log had signed: the log has forked.`
  return undefined
}

function alarm(kind: MonitorAlarmKind, sentence: string): MonitorAlarm {
  return { kind: 'alarm', alarm: kind, sentence }
}
