/**
 * eBUS definitions: rows from standard input to standard output, and the check of a folder.
 */
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { DefinitionFileFault } from '../ebus/definitions/definition-error.ts'
import { formatDefinitionFileFault } from '../ebus/definitions/definition-error.ts'
import { DefinitionFolderReader } from '../ebus/definitions/definition-folder-store.ts'
import { toDefinitionExportRow, assignMessageNumbers } from '../ebus/definitions/definition-export-row.ts'
import { DefinitionSet } from '../ebus/definitions/definition-set.ts'
import { NdjsonTelegramTranslator } from '../ebus/definitions/ndjson-telegram-translator.ts'
import type { ExitCode } from './command-output.ts'
import { EXIT_CODES, sanitizeForTerminal, formatTable } from './command-output.ts'

const BATCH_CHARACTERS = 65_536

/** Writes lines in batches, so that 68,000 lines do not need as many writes, and waits while nobody reads. */
class LineWriter {
  #pending = ''

  async write(line: string): Promise<void> {
    this.#pending += `${line}\n`
    if (this.#pending.length >= BATCH_CHARACTERS) await this.flush()
  }

  async flush(): Promise<void> {
    const text = this.#pending
    this.#pending = ''
    if (!process.stdout.write(text)) await once(process.stdout, 'drain')
  }
}

/** Writes one row for each row that it reads, in order. */
export async function decodeOrEncodeTelegramRows(options: {
  readonly folder: string
  readonly language: string
  readonly kind: 'decode' | 'encode'
}): Promise<ExitCode> {
  const { folder, language, kind } = options
  if (!isFolder(folder)) return refuseFolder(folder)
  const rows = new NdjsonTelegramTranslator(new DefinitionFolderReader(folder, language), language)
  const writer = new LineWriter()
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY }))
    if (line.trim() !== '') await writer.write(rows.answer(line, kind))
  await writer.flush()
  return EXIT_CODES.ok
}

/** Checks each file by itself, with the files that it includes, whatever their conditions say. */
export async function checkDefinitionFiles(options: {
  readonly folder: string
  readonly language: string
  readonly strict: boolean
  readonly summary: boolean
  readonly json: boolean
}): Promise<ExitCode> {
  const { folder, language, strict, summary, json } = options
  if (!isFolder(folder)) return refuseFolder(folder)
  const definitions = new DefinitionFolderReader(folder, language)
  const writer = new LineWriter()
  const faults: DefinitionFileFault[] = []
  const counts: (readonly [string, string])[] = []
  for (const file of definitions.files()) {
    const set = new DefinitionSet({ source: definitions, mode: 'all', language })
    set.load(file)
    faults.push(...set.faults)
    counts.push([file, String(set.messages.length)])
    if (!json) continue
    if (summary) {
      const row = {
        file,
        summary: true,
        messages: set.messages.length,
        errors: set.faults.map(formatDefinitionFileFault),
      }
      await writer.write(JSON.stringify(row))
    }
    for (const { message, nth } of assignMessageNumbers(set.messages))
      await writer.write(JSON.stringify(toDefinitionExportRow(message, file, nth)))
  }
  await writer.flush()
  const all = [...definitions.templateFaults, ...faults]
  if (!json) process.stdout.write(`${formatTable(['file', 'messages'], counts)}\n`)
  for (const fault of all) process.stderr.write(`${sanitizeForTerminal(formatDefinitionFileFault(fault))}\n`)
  return strict && all.length > 0 ? EXIT_CODES.integrity : EXIT_CODES.ok
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function refuseFolder(folder: string): ExitCode {
  process.stderr.write(`${sanitizeForTerminal(folder)} is not a folder\n`)
  return EXIT_CODES.usage
}
