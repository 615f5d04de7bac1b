/**
 * Monitor: follows the published files of another node's log and keeps a copy of its own, by which it notices a fork, a
 * rollback or silence.
 *
 *   checkpoint ▸ signed? ▸ not smaller, not another of the same size ▸ new tiles and bundles
 *     ▸ entries hash to the leaves ▸ the tree still has the root that was kept ▸ and the new one ▸ kept
 *
 * What does not pass is never kept: the copy stays at the last checkpoint that was sound, which is the evidence.
 */
import { readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { equalBytes } from '../core/bytes.ts'
import { makeFolder } from '../core/folder-store.ts'
import { readIfThere, writeAtomically, writeFileWithoutDirectorySync } from './atomic-file-store.ts'
import { checkpointFaultReason, openCheckpoint } from './checkpoint.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import type { VerifierKey } from './note-key.ts'
import {
  decodeBundle,
  expandTile,
  countLevelHashes,
  TILE_HEIGHT,
  TILE_WIDTH,
  tileNode,
  tilePath,
  listTiles,
} from './tile.ts'
import type { TileName } from './tile.ts'
import { leafHash, computeRootAt } from './tree.ts'

/** A published file of the log; `undefined` when there is none. */
export type PublishedFileReader = (path: string) => Promise<Uint8Array | undefined>

export type MonitorAlarm = 'fork' | 'rollback' | 'untrusted' | 'incomplete' | 'silence'

export type MonitorRound =
  | { readonly kind: 'unchanged'; readonly size: number }
  | { readonly kind: 'grown'; readonly from: number; readonly size: number }
  | { readonly kind: 'alarm'; readonly alarm: MonitorAlarm; readonly sentence: string }

export interface MonitoredLog {
  readonly published: PublishedFileReader
  readonly key: VerifierKey
  /** Where the copy is kept. */
  readonly folder: string
  /** Without a new checkpoint for longer than this, the log is silent. */
  readonly silenceMs: number
}

export async function checkMonitoredLog(log: MonitoredLog, nowMs: number): Promise<MonitorRound> {
  const { folder, key } = log
  const keptText = await readIfThere(join(folder, 'checkpoint'))
  const kept = keptText && openCheckpoint(keptText, key)
  if (kept?.ok === false)
    return alarm(
      'untrusted',
      `The checkpoint in ${folder} is not one of this log: ${checkpointFaultReason(kept.fault)}.`,
    )
  const known = kept?.value
  const text = await log.published('checkpoint')
  if (text === undefined) return alarm('incomplete', 'The log shows no checkpoint.')
  const opened = openCheckpoint(text, key)
  if (!opened.ok) return alarm('untrusted', `The log shows a checkpoint that ${checkpointFaultReason(opened.fault)}.`)
  const round = judge(opened.value, known)
  if (round !== undefined) return round.kind === 'unchanged' ? silence(log, round, nowMs) : round
  const from = known?.checkpoint.size ?? 0
  const missing = await copyTiles(log, opened.value.checkpoint.size, from)
  if (missing !== undefined)
    return alarm('incomplete', `The log signed ${opened.value.checkpoint.size} entries and does not show ${missing}.`)
  const flaw = await treeFlaw(folder, opened.value, known)
  if (flaw !== undefined) return alarm('fork', flaw)
  await writeAtomically(join(folder, 'checkpoint'), text)
  return { kind: 'grown', from, size: opened.value.checkpoint.size }
}

/** `undefined` when the tiles have to decide. */
function judge({ checkpoint }: SignedCheckpoint, known: SignedCheckpoint | undefined): MonitorRound | undefined {
  if (known === undefined) return undefined
  const { size, root } = known.checkpoint
  if (checkpoint.size < size)
    return alarm(
      'rollback',
      `The log has signed ${size} entries, and now shows ${checkpoint.size}: an older copy was put back.`,
    )
  if (checkpoint.size > size) return undefined
  return equalBytes(checkpoint.root, root)
    ? { kind: 'unchanged', size }
    : alarm('fork', `The log has signed two different trees of ${size} entries.`)
}

async function silence({ folder, silenceMs }: MonitoredLog, round: MonitorRound, nowMs: number): Promise<MonitorRound> {
  const { mtimeMs } = await stat(join(folder, 'checkpoint'))
  const quietMs = nowMs - mtimeMs
  return quietMs > silenceMs
    ? alarm('silence', `The log has shown nothing new for ${Math.round(quietMs / 60_000)} minutes.`)
    : round
}

/** Answers the first file that is not there. */
async function copyTiles(log: MonitoredLog, size: number, from: number): Promise<string | undefined> {
  const done = (level: number): number => Math.floor(countLevelHashes(level, from) / TILE_WIDTH)
  for (const tile of listTiles(size, done))
    for (const name of tile.level === 0 ? [tile, { ...tile, level: 'entries' as const }] : [tile]) {
      const content = await log.published(tilePath(name))
      if (content === undefined) return tilePath(name)
      const path = join(log.folder, tilePath(name))
      makeFolder(dirname(path))
      await writeFileWithoutDirectorySync(path, content)
    }
  return undefined
}

/** Why the copied tiles are not a tree that extends what was kept, in a sentence. */
async function treeFlaw(
  folder: string,
  { checkpoint: { size, root } }: SignedCheckpoint,
  known: SignedCheckpoint | undefined,
): Promise<string | undefined> {
  const from = known?.checkpoint.size ?? 0
  const tiles = new Map<string, Uint8Array>()
  const read = async (name: TileName): Promise<Uint8Array> => {
    const nodes = expandTile(await readFile(join(folder, tilePath(name))))
    tiles.set(`${name.level}/${name.index}`, nodes)
    return nodes
  }
  for (const name of listTiles(size)) {
    const isNew = name.index >= Math.floor(countLevelHashes(Number(name.level), from) / TILE_WIDTH)
    const nodes = await read(name)
    if (name.level !== 0 || !isNew) continue
    const bundle = decodeBundle(await readFile(join(folder, tilePath({ ...name, level: 'entries' }))), name.width)
    if (!bundle.ok || bundle.value.some((entry, at) => !equalBytes(leafHash(entry), tileNode(nodes, 0, at))))
      return `Entry bundle ${name.index} does not hold the entries that its tile speaks of.`
  }
  const node = (height: number, index: number): Uint8Array => {
    const [level, within] = [Math.floor(height / TILE_HEIGHT), height % TILE_HEIGHT]
    const perTile = 2 ** (TILE_HEIGHT - within)
    const nodes = tiles.get(`${level}/${Math.floor(index / perTile)}`)
    if (nodes === undefined) throw new Error(`tile ${level}/${Math.floor(index / perTile)} was not copied`)
    return tileNode(nodes, within, index % perTile)
  }
  if (!equalBytes(computeRootAt(size, node), root))
    return `The tiles of ${size} entries do not have the root that was signed.`
  if (known !== undefined && !equalBytes(computeRootAt(from, node), known.checkpoint.root))
    return `The first ${from} entries are not the ones that the log had signed: it has told two stories.`
  return undefined
}

function alarm(kind: MonitorAlarm, sentence: string): MonitorRound {
  return { kind: 'alarm', alarm: kind, sentence }
}
