/** Memory definitions: definition files that a test wrote, without a folder on disk. */
import type { DefinitionFileFault } from '../src/ebus/definitions/definition-error.ts'
import type { EnumerableDefinitionSource } from '../src/ebus/definitions/ndjson-telegram-translator.ts'
import type { FieldTemplates } from '../src/ebus/definitions/field-templates.ts'
import { parseTemplateFile } from '../src/ebus/definitions/field-templates.ts'

export class MemoryDefinitions implements EnumerableDefinitionSource {
  readonly templateFaults: DefinitionFileFault[] = []
  readonly #files: Readonly<Record<string, string>>
  readonly #templates: FieldTemplates

  /** Templates of the root are the only ones. */
  constructor(files: Readonly<Record<string, string>>, language: string) {
    this.#files = files
    const file = '_templates.csv'
    const read = parseTemplateFile(files[file] ?? '', { file, inherited: new Map(), language })
    this.#templates = read.templates
    if (read.fault !== undefined) this.templateFaults.push(read.fault)
  }

  readText(path: string): string | undefined {
    return this.#files[path]
  }

  templatesFor(): FieldTemplates {
    return this.#templates
  }

  files(): readonly string[] {
    return Object.keys(this.#files).filter((file) => file.endsWith('.csv') && file !== '_templates.csv')
  }
}
