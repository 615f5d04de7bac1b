/**
 * Skill folder store: the SKILL.md files on disk, read again when they change.
 *
 *   <root>/<folder>/SKILL.md      one skill each; of two with one name the first root's counts
 *
 * A change of a file is detected by its inode, size and times; files that cannot be read are listed with the reason.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { readSystemErrorCode } from '../../core/thrown-error.ts'
import { formatFileStamp, listSkillAttachments } from './skill-attachment-store.ts'
import type { SkillAttachmentHashCache, SkillAttachmentListing } from './skill-attachment-store.ts'
import { parseSkill } from './skill-document.ts'
import type { Skill } from './skill-document.ts'

/** A quarter of a mebibyte of Markdown is more than a model reads. The limits on folders bound the cost of one scan. */
const MAX_SKILL_BYTES = 262_144
const MAX_FOLDERS = 500

export interface SkillWithSource extends Skill {
  /** As configured root, folder and file: where the owner finds it. */
  readonly source_path: string
  readonly folder: string
  readonly files: SkillAttachmentListing
}

interface SkippedFile {
  readonly path: string
  readonly reason: string
}

export interface SkillScanResult {
  readonly skills: readonly SkillWithSource[]
  readonly skipped: readonly SkippedFile[]
}

/** The result for a file, and the stamp of its state. Failures are kept, too, or they would be read at every call. */
interface Known {
  readonly stamp: string
  readonly parsed: Result<Skill, string>
}

export type SkillScanner = () => Promise<SkillScanResult>

export function createSkillScanner(roots: readonly string[]): SkillScanner {
  let known = new Map<string, Known>()
  const knownFiles: SkillAttachmentHashCache = new Map()
  return async () => {
    const seen = new Map<string, Known>()
    const skills = new Map<string, SkillWithSource>()
    const skipped: SkippedFile[] = []
    for (const root of roots) {
      const folders = await foldersIn(root)
      if (!folders.ok) skipped.push({ path: root, reason: folders.fault })
      // A root that is not there yet is reported and does not keep the others from being read.
      const names = folders.ok ? folders.value : []
      if (names.length > MAX_FOLDERS)
        skipped.push({ path: root, reason: `has ${names.length} folders; only the first ${MAX_FOLDERS} are read` })
      for (const folder of names.slice(0, MAX_FOLDERS)) {
        const path = join(root, folder, 'SKILL.md')
        const file = await readSkill(path, known.get(path))
        if (file === undefined) continue
        seen.set(path, file)
        if (!file.parsed.ok) skipped.push({ path, reason: file.parsed.fault })
        else if (skills.has(file.parsed.value.name))
          skipped.push({ path, reason: `has the name of ${skills.get(file.parsed.value.name)?.source_path}` })
        else {
          const files = await filesBeside(join(root, folder), knownFiles)
          if (files.ok)
            skills.set(file.parsed.value.name, {
              ...file.parsed.value,
              source_path: path,
              folder: join(root, folder),
              files: files.value,
            })
          else skipped.push({ path, reason: files.fault })
        }
      }
    }
    // Files that are gone are dropped together with the old map.
    known = seen
    return { skills: [...skills.values()].sort((one, other) => (one.name < other.name ? -1 : 1)), skipped }
  }
}

async function foldersIn(root: string): Promise<Result<readonly string[], string>> {
  try {
    const entries = await readdir(root, { withFileTypes: true })
    const folders = entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink()).map(({ name }) => name)
    // Sorted, because the order of a directory depends on the file system, and decides which of two skills with one
    // name counts.
    return ok(folders.sort())
  } catch (error) {
    return fail(`cannot be listed: ${codeOf(error)}`)
  }
}

async function filesBeside(
  folder: string,
  known: SkillAttachmentHashCache,
): Promise<Result<SkillAttachmentListing, string>> {
  try {
    return ok(await listSkillAttachments(folder, known))
  } catch (error) {
    return fail(`has files that cannot be listed: ${codeOf(error)}`)
  }
}

/** `undefined` for a folder without a SKILL.md. */
async function readSkill(path: string, known: Known | undefined): Promise<Known | undefined> {
  try {
    const file = await stat(path, { bigint: true })
    const stamp = formatFileStamp(file)
    if (known?.stamp === stamp) return known
    // Reading a pipe or a device would never end.
    if (!file.isFile()) return { stamp, parsed: fail('is not a file') }
    if (file.size > MAX_SKILL_BYTES) return { stamp, parsed: fail(`is larger than ${MAX_SKILL_BYTES} bytes`) }
    return { stamp, parsed: parseSkill(await readFile(path)) }
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    // No stamp equals the empty one, so the file is tried again next time.
    return { stamp: '', parsed: fail(`cannot be read: ${code}`) }
  }
}

function codeOf(error: unknown): string {
  return readSystemErrorCode(error) ?? 'unknown'
}
