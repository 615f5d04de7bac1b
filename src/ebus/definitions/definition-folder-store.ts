/**
 * Definition folder: definition files on disk in ebusd's layout, with the templates that apply to each.
 *
 *   root/_templates.csv  root/broadcast.csv  root/vaillant/_templates.csv  root/vaillant/15.360.csv
 *
 * A folder may hold several such trees beside each other, as the languages are; the root of a tree is its first folder
 * with a CSV file. Nothing outside the folder is read, whatever an include says.
 */
import { readFileSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'
import type { DefinitionFileFault } from './definition-error.ts'
import type { DefinitionFileReader } from './definition-set.ts'
import type { FieldTemplates } from './field-templates.ts'
import { parseTemplateFile } from './field-templates.ts'

const TEMPLATES = '_templates.csv'
/** A definition file has a few hundred kilobytes at most; a larger file is something else. */
const MAX_FILE_BYTES = 8_000_000

export class DefinitionFolderReader implements DefinitionFileReader {
  readonly folder: string
  readonly language: string
  /** Why templates files could not be read completely. */
  readonly templateFaults: DefinitionFileFault[] = []
  readonly #templates = new Map<string, FieldTemplates>()
  readonly #roots = new Map<string, string>()

  constructor(folder: string, language: string) {
    this.folder = folder
    this.language = language
  }

  readText(path: string): string | undefined {
    const normal = posix.normalize(path)
    if (normal.startsWith('../') || posix.isAbsolute(normal)) return undefined
    const file = join(this.folder, normal)
    try {
      const stats = statSync(file)
      return stats.isFile() && stats.size <= MAX_FILE_BYTES ? readFileSync(file, 'utf8') : undefined
    } catch {
      return undefined
    }
  }

  templatesFor(path: string): FieldTemplates {
    const folder = posix.dirname(path)
    return this.#templatesOf(folder, this.#rootOf(folder))
  }

  /** Every definition file below the folder, folder by folder, without templates. */
  files(folder = '.', parents: readonly string[] = []): readonly string[] {
    const path = resolveLinks(join(this.folder, folder))
    // A link to a folder around it would cause endless recursion.
    if (path === undefined || parents.includes(path)) return []
    const { files, folders } = this.list(folder)
    return [...files, ...folders.flatMap((child) => this.files(child, [...parents, path]))]
  }

  /** Definition files and folders in one folder, sorted; empty for a missing folder. */
  list(folder: string): { readonly files: readonly string[]; readonly folders: readonly string[] } {
    const files: string[] = []
    const folders: string[] = []
    for (const name of names(join(this.folder, folder))) {
      const path = posix.join(folder, name)
      const kind = statSync(join(this.folder, path), { throwIfNoEntry: false })
      if (kind?.isDirectory() === true) folders.push(path)
      else if (kind?.isFile() === true && name.endsWith('.csv') && name !== TEMPLATES) files.push(path)
    }
    return { files, folders }
  }

  #rootOf(folder: string): string {
    let root = this.#roots.get(folder)
    if (root === undefined) {
      const parents =
        folder === '.' ? ['.'] : ['.', ...folder.split('/').map((_, index, all) => all.slice(0, index + 1).join('/'))]
      root = parents.find((parent) => names(join(this.folder, parent)).some((name) => name.endsWith('.csv'))) ?? folder
      this.#roots.set(folder, root)
    }
    return root
  }

  /** The templates of a folder begin with a copy of those of the root. */
  #templatesOf(folder: string, root: string): FieldTemplates {
    let templates = this.#templates.get(folder)
    if (templates === undefined) {
      const inherited: FieldTemplates = folder === root ? new Map() : this.#templatesOf(root, root)
      const file = posix.join(folder, TEMPLATES)
      const text = this.readText(file)
      if (text === undefined) templates = inherited
      else {
        const read = parseTemplateFile(text, { file, inherited, language: this.language })
        if (read.fault !== undefined) this.templateFaults.push(read.fault)
        templates = read.templates
      }
      this.#templates.set(folder, templates)
    }
    return templates
  }
}

function names(folder: string): readonly string[] {
  try {
    return readdirSync(folder).toSorted()
  } catch {
    return []
  }
}

function resolveLinks(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
