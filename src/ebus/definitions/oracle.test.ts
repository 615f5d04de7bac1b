/**
 * Definitions against the oracle beside the project: what ebusd 26.1 parsed of its official files, and what it decodes
 * and encodes by them. Rows that carry `quirk` show behaviour that the facts say not to copy; where else we depart, the
 * rows are counted with the reason.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { fromHex } from '../../core/bytes.ts'
import { decodeExchange } from '../../../test/telegram-exchange.ts'
import { sharedData, vectorRows } from '../../../test/shared-data.ts'
import type { RecordedTelegram } from '../../../test/shared-data.ts'
import { MemoryDefinitions } from '../../../test/memory-definitions.ts'
import { decodeMessage, formatDecodedMessage } from './message-decoder.ts'
import { formatDefinitionFileFault } from './definition-error.ts'
import { DefinitionFolderReader } from './definition-folder-store.ts'
import { toDefinitionExportRow, assignMessageNumbers } from './definition-export-row.ts'
import { DefinitionSet } from './definition-set.ts'
import { NdjsonTelegramTranslator } from './ndjson-telegram-translator.ts'

/** The bytes of a row, and what ebusd called and read them as. */
const CAPTURE =
  /^([\da-f]+)\t[^\t]*\[ebusd26\.1: (?:read|write|update-read|update|update-write) (\S+) (\S+) (?:QQ=\S+)?: ?([^\]]*)\]/gm

type Row = Readonly<Record<string, unknown>>

interface OracleCase {
  readonly id: string
  readonly main: string
  readonly lang: string
  readonly mode: 'check' | 'live'
  readonly files: Readonly<Record<string, string>>
  readonly error: string
  readonly messages: readonly Row[]
  readonly vectors: readonly Row[]
}

const FOLDER = fileURLToPath(new URL('../../../../shared/data/ebusd/definitions', import.meta.url))
const isHere = existsSync(FOLDER)

function rowsOf(name: string): readonly unknown[] {
  const text = sharedData(`ebusd/${name}`) ?? ''
  return text === ''
    ? []
    : text
        .trimEnd()
        .split('\n')
        .map((line): unknown => JSON.parse(line))
}

/** What an answer must have in common with a row of the oracle. */
function comparable(row: Row): Row {
  const { text, text_numeric: numeric, decoded, error, empty, lookup } = row
  const isEncode = row['kind'] === 'encode'
  return { text, numeric, decoded, error, empty, lookup, ...(isEncode ? { master: row['master_hex'] } : {}) }
}

const LEADING_ZERO = 'a leading zero is decimal, also before an 8 or 9'
const BACKSLASH = 'a backslash in the name of a value is escaped in JSON'
const QUOTED_CONSTANT = 'a verified constant that is not a number is compared without the quotes of JSON'

/** Why an answer may differ from a row without `quirk`; `undefined` when nothing excuses it. */
function departure(row: Row): string | undefined {
  const { kind, error, text, values } = row
  if (kind === 'encode')
    return typeof values === 'string' && /(?:^|;)0\d*[89]/.test(values) && error !== undefined
      ? LEADING_ZERO
      : undefined
  if (typeof text === 'string' && text.includes('\\')) return BACKSLASH
  return error === 'ERR: argument value out of valid range' ? QUOTED_CONSTANT : undefined
}

/** Differences between answers and rows: those with a reason are counted, any other is kept to be shown. */
class Departures {
  readonly counts: Record<string, number> = {}
  readonly unexcused: unknown[] = []

  compare(name: string, row: Row, answer: Row): void {
    const [ours, theirs] = [comparable(answer), comparable(row)]
    if (isDeepStrictEqual(ours, theirs)) return
    const reason = departure(row)
    if (reason === undefined) this.unexcused.push({ name, ours, theirs })
    else this.counts[reason] = (this.counts[reason] ?? 0) + 1
  }
}

describe.skipIf(!isHere)('definitions compared with recorded ebusd results', () => {
  it('parse every message of every file as ebusd does', () => {
    const folder = new DefinitionFolderReader(FOLDER, 'en')
    const ours = new Map<string, unknown>()
    for (const file of folder.files()) {
      const set = new DefinitionSet({ source: folder, mode: 'all', language: 'en' })
      set.load(file)
      for (const { message, key, nth } of assignMessageNumbers(set.messages))
        ours.set(`${file}\n${key}\n${nth}`, JSON.parse(JSON.stringify(toDefinitionExportRow(message, file, nth))))
    }
    const parsed = (rowsOf('parsed.jsonl') as readonly Row[]).filter((row) => row['summary'] !== true)
    const different = parsed.filter((row) => {
      const key = [row['file'], row['source'], row['circuit'], row['name'], row['type'], row['nth']].join('\n')
      return !isDeepStrictEqual(ours.get(key), row)
    })
    expect(different).toEqual([])
    expect(ours.size).toBe(parsed.length)
  })

  it('load the files that a running ebusd loads', () => {
    const folder = new DefinitionFolderReader(FOLDER, 'en')
    const rows = rowsOf('live-load.jsonl') as readonly {
      readonly file: string
      readonly messages: number
      readonly error: string
    }[]
    for (const { file, messages, error } of rows) {
      const set = new DefinitionSet({ source: folder, mode: 'daemon', language: 'en' })
      const fault = set.load(file)
      // ebusd counts paths from the root of its tree, which is the language here.
      const faultText =
        fault === undefined ? '' : formatDefinitionFileFault({ ...fault, file: fault.file.replace(/^[^/]*\//, '') })
      expect([file, set.messages.length, faultText]).toEqual([file, messages, error])
    }
  })

  it('decode and encode every telegram as ebusd does', () => {
    const telegrams = new NdjsonTelegramTranslator(new DefinitionFolderReader(FOLDER, 'en'), 'en')
    const departures = new Departures()
    for (const row of rowsOf('messages.jsonl') as readonly Row[])
      if (row['quirk'] === undefined)
        departures.compare('', row, JSON.parse(telegrams.answer(JSON.stringify(row), 'decode')) as Row)
    expect(departures.unexcused).toEqual([])
    expect(departures.counts).toEqual({ [LEADING_ZERO]: 1 })
  })

  it('treat the synthetic cases as ebusd does', () => {
    const departures = new Departures()
    for (const { id, main, lang, mode, files, error, messages, vectors } of rowsOf(
      'cases.jsonl',
    ) as readonly OracleCase[]) {
      const source = new MemoryDefinitions(files, lang)
      const set = new DefinitionSet({ source, mode: mode === 'live' ? 'daemon' : 'all', language: lang })
      const fault = set.load(main)
      expect([id, fault === undefined ? '' : formatDefinitionFileFault(fault)]).toEqual([id, error])
      const ours = [...assignMessageNumbers(set.messages)].map(({ message, nth }) => {
        const { file: _, ...row } = toDefinitionExportRow(message, main, nth)
        return JSON.parse(JSON.stringify(row)) as unknown
      })
      expect(ours.length).toBe(messages.length)
      expect(ours).toEqual(expect.arrayContaining([...messages]))
      const telegrams = new NdjsonTelegramTranslator(source, lang)
      for (const vector of vectors) {
        if (vector['quirk'] !== undefined) continue
        // Rows are answered as in check mode, in which more files are loaded than in a daemon.
        const row = mode === 'live' ? { ...vector, lookup: undefined, payload: 'live' } : vector
        const answer = JSON.parse(telegrams.answer(JSON.stringify({ file: main, ...row }), 'decode')) as Row
        departures.compare(id, row, answer)
      }
    }
    expect(departures.unexcused).toEqual([])
    expect(departures.counts).toEqual({ [LEADING_ZERO]: 1, [BACKSLASH]: 2, [QUOTED_CONSTANT]: 14 })
  })

  it('decode public captures as ebusd does', () => {
    const folder = new DefinitionFolderReader(`${FOLDER}/en`, 'en')
    const messages = folder.files().flatMap((file) => {
      const set = new DefinitionSet({ source: folder, mode: 'all', language: 'en' })
      set.load(file)
      return set.messages
    })
    const captured = [
      ...(vectorRows('ebus-telegrams') as readonly RecordedTelegram[])
        .map(([wire, text]) => `${wire}\t${text}`)
        .join('\n')
        .matchAll(CAPTURE),
    ]
      .map(([, wire = '', circuit = '', name = '', text = '']) => ({ wire, circuit, name, text }))
      // Parts of a chain are joined with whatever came before them.
      .filter(({ circuit }) => !circuit.toLowerCase().startsWith('scan'))
    for (const { wire, circuit, name, text } of captured) {
      const exchange = decodeExchange(fromHex(wire))
      if (!exchange.ok) throw new Error(wire)
      const { telegram, response = new Uint8Array() } = exchange.value
      const decoded = messages
        .filter((message) => message.circuit === circuit && message.name === name)
        .map((message) => decodeMessage(message, { command: telegram.data, response }))
        .map((result) => (result.ok ? formatDecodedMessage(result.value) : result.fault))
      // ebusd prints nothing for a float that is not a number.
      const shown = decoded.map((each) => (text === '' && each === '-' ? '' : each))
      expect([wire, circuit, name, shown]).toEqual([wire, circuit, name, expect.arrayContaining([text])])
    }
    expect(captured.length).toBeGreaterThan(80)
  })
})
