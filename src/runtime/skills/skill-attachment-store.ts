/**
 * Skill attachment store: the other files of a skill. These are regular files below the skill's folder, bounded in
 * number and size; symbolic links are not followed, so that nothing outside the folder is served.
 */
import { hash } from 'node:crypto'
import { constants } from 'node:fs'
import type { BigIntStats } from 'node:fs'
import { access, lstat, open, readdir, readlink, realpath } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { canonicalJson } from '../../core/json.ts'

const MAX_FILES = 64
const MAX_FILE_BYTES = 262_144
const MAX_DEPTH = 4
/** The limit for names in one folder. */
const MAX_NAMES = 1_000

export interface SkillAttachment {
  /** Below the skill's folder, with slashes. */
  readonly path: string
  readonly bytes: number
  readonly sha256: string
}

export interface SkillAttachmentListing {
  /** In the order of their paths. */
  readonly files: readonly SkillAttachment[]
  /** The number of links, and of files that are too many, too large or too deep, which are not served. */
  readonly omitted: number
  /** SHA-256 over the canonical JSON of `[[path, sha256], …]`, hex. */
  readonly filesHash: string
}

/** The hash of a file, and the stamp of the file's state for which it was computed. */
export type SkillAttachmentHashCache = Map<string, { readonly stamp: string; readonly sha256: string }>

export async function listSkillAttachments(
  folder: string,
  known: SkillAttachmentHashCache,
): Promise<SkillAttachmentListing> {
  const found: SkillAttachment[] = []
  let omitted = 0
  const walk = async (below: string, depth: number): Promise<void> => {
    const names = (await readdir(join(folder, below))).toSorted()
    omitted += Math.max(0, names.length - MAX_NAMES)
    for (const name of names.slice(0, MAX_NAMES)) {
      const path = below === '' ? name : `${below}/${name}`
      if (path === 'SKILL.md') continue
      const file = await lstat(join(folder, path), { bigint: true })
      if (file.isDirectory() && depth < MAX_DEPTH) await walk(path, depth + 1)
      else if (!file.isFile() || file.size > MAX_FILE_BYTES || found.length >= MAX_FILES || !path.isWellFormed())
        omitted += 1
      else {
        const stamp = formatFileStamp(file)
        const place = join(folder, path)
        const before = known.get(place)
        const bytes = before?.stamp === stamp ? undefined : await readSkillAttachment(folder, path)
        const sha256 = bytes === undefined ? before?.sha256 : hash('sha256', bytes)
        if (sha256 === undefined) {
          omitted += 1
          continue
        }
        known.set(place, { stamp, sha256 })
        found.push({ path, bytes: Number(file.size), sha256 })
      }
    }
  }
  await walk('', 0)
  return {
    files: found,
    omitted,
    filesHash: hash('sha256', canonicalJson(found.map(({ path, sha256 }) => [path, sha256]))),
  }
}

/** A stamp that differs when a file has changed. */
export function formatFileStamp({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [ino, size, mtimeNs, ctimeNs].join(' ')
}

/**
 * Returns `undefined` if it is not a regular file of this skill any more, or too large. A folder, or one on the way to the
 * file, may be exchanged for a link while a scan runs, so what was opened has to be where it was looked for.
 */
export async function readSkillAttachment(folder: string, path: string): Promise<Uint8Array | undefined> {
  try {
    const skill = await realpath(folder)
    // A link to any other folder is no skill.
    await access(join(skill, 'SKILL.md'))
    const place = join(skill, path)
    const file = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const state = await file.stat()
      const isServed = state.isFile() && state.size <= MAX_FILE_BYTES && (await isOpenedAt(file, place))
      return isServed ? await file.readFile() : undefined
    } finally {
      await file.close()
    }
  } catch {
    return undefined
  }
}

/** Whether no link was followed. */
async function isOpenedAt(file: FileHandle, place: string): Promise<boolean> {
  const opened = await readlink(`/proc/self/fd/${file.fd}`).catch(() => undefined)
  if (opened !== undefined) return opened === place
  // Where there is no such folder, as on macOS: the path leads through no link, and to the same file.
  const [{ dev, ino }, found] = [await file.stat({ bigint: true }), await lstat(place, { bigint: true })]
  return (await realpath(place)) === place && found.dev === dev && found.ino === ino
}
