/**
 * Telegram NDJSON codec: decoding and encoding one JSON row at a time, by a definition that the row names or by the
 * telegram itself.
 *
 *   {file, source?, circuit, name, type, nth?, master_hex, slave_hex} ▸ {…, decoded, text} | {…, error}
 *   {file, source?, circuit, name, type, nth?, values, dst?}          ▸ {…, master_hex}    | {…, error}
 */
import { toHex } from '../../core/bytes.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { DecodedMessage, TelegramData } from './message-decoder.ts'
import { decodeMessage, formatDecodedMessageNumerically, formatDecodedMessage } from './message-decoder.ts'
import { formatDefinitionErrorCode } from './definition-error.ts'
import { formatMessageTypeName, assignMessageNumbers } from './definition-export-row.ts'
import type { DefinitionFileReader } from './definition-set.ts'
import { DefinitionSet } from './definition-set.ts'
import { encodeCommands } from './message-encoder.ts'
import type { TelegramHeader } from './definition-index.ts'
import { TelegramDefinitionIndex } from './definition-index.ts'
import type { MessageDefinition } from './message-definition.ts'
import { joinChainParts } from './message-chain.ts'

/** ebusd sends from its own address, whatever QQ a definition has; this is its default. */
const DEFAULT_SOURCE = 0x31

const RESULT_KEYS = new Set('decoded decoded_raw text text_numeric error empty lookup invalid_json quirk'.split(' '))

export interface EnumerableDefinitionSource extends DefinitionFileReader {
  files(): readonly string[]
}

type Row = Readonly<Record<string, unknown>>

interface LoadedFile {
  /** By source, circuit, name and type. */
  readonly byName: ReadonlyMap<string, readonly MessageDefinition[]>
  readonly index: TelegramDefinitionIndex
}

export class NdjsonTelegramTranslator {
  readonly #source: EnumerableDefinitionSource
  readonly #language: string
  readonly #loaded = new Map<string, LoadedFile>()
  readonly #paths = new Map<string, string>()
  #everything: TelegramDefinitionIndex | undefined
  readonly #files = new Map<MessageDefinition, string>()

  constructor(source: EnumerableDefinitionSource, language: string) {
    this.#source = source
    this.#language = language
  }

  /** The result for a line, as a line. `kind` is used for a row without a kind of its own. */
  answer(line: string, kind: 'decode' | 'encode'): string {
    // A text that a Windows editor saved begins with a byte order mark.
    const row = parseRow(line.startsWith('\ufeff') ? line.slice(1) : line)
    if (row === undefined) return JSON.stringify({ error: 'not a JSON object' })
    return (row['kind'] ?? kind) === 'encode' ? this.#encode(row) : this.#decode(row)
  }

  #decode(row: Row): string {
    const telegrams = readTelegrams(row)
    if (telegrams === undefined)
      return withResult(row, { error: 'master_hex must be QQ ZZ PB SB NN data, slave_hex NN data, both in hex' })
    const named = this.#named(row)
    if (named !== undefined && !named.ok) return withResult(row, { error: named.fault })
    const [first] = telegrams
    const header = { source: first.source, target: first.target, pb: first.pb, sb: first.sb }
    const index = named?.value.loaded.index ?? this.#indexOf(row)
    const found = named?.value.message === undefined || wantsLookup(row) ? index.find(header, first.command) : undefined
    const message = named?.value.message ?? found
    if (message === undefined) return withResult(row, { error: formatDefinitionErrorCode('not-found') })
    const identity = named === undefined ? this.#identityOf(message) : {}
    const lookup = named !== undefined && wantsLookup(row) ? { lookup: lookupResult(named.value, found) } : {}
    const decoded = decodeMessage(message, telegrams.length === 1 ? first : joinChainParts(message, telegrams))
    if (!decoded.ok) return withResult(row, { ...identity, error: formatDefinitionErrorCode(decoded.fault), ...lookup })
    const text = formatDecodedMessage(decoded.value)
    const numeric = formatDecodedMessageNumerically(decoded.value)
    return withResult(
      row,
      {
        ...identity,
        text,
        ...(numeric === text ? {} : { text_numeric: numeric }),
        ...(decoded.value.isEmpty ? { empty: true } : {}),
        ...lookup,
      },
      formatDecodedMessageJson(decoded.value),
    )
  }

  #encode(row: Row): string {
    const named = this.#named(row)
    if (named === undefined) return withResult(row, { error: 'circuit, name and type must name a definition' })
    if (!named.ok) return withResult(row, { error: named.fault })
    const { values = '', dst } = row
    if (typeof values !== 'string' && typeof values !== 'number')
      return withResult(row, { error: 'values must be a text, with ; between several' })
    if (dst !== undefined && !(typeof dst === 'string' && /^[\da-f]{2}$/i.test(dst)))
      return withResult(row, { error: 'dst must be an address of two hexadecimal digits' })
    const target = dst === undefined ? undefined : Number.parseInt(dst, 16)
    const { message } = named.value
    const commands = encodeCommands(message, String(values), target)
    if (!commands.ok) return withResult(row, { error: formatDefinitionErrorCode(commands.fault) })
    const telegrams = commands.value.map(({ target: zz, data }) =>
      toHex(Uint8Array.from([DEFAULT_SOURCE, zz, message.pb, message.sb, data.length, ...data])),
    )
    return withResult(row, { master_hex: telegrams.length === 1 ? telegrams[0] : telegrams })
  }

  /** `undefined` for a row that names no definition. */
  #named(row: Row): Result<{ readonly loaded: LoadedFile; readonly message: MessageDefinition }, string> | undefined {
    const { file, circuit, name, type } = row
    if (typeof circuit !== 'string' || typeof name !== 'string') return undefined
    const path = typeof file === 'string' ? this.#path(file) : undefined
    if (path === undefined) return fail(`${formatDefinitionErrorCode('not-found')}, file ${String(file)}`)
    const loaded = this.#load(path)
    const source = typeof row['source'] === 'string' ? this.#path(row['source']) : path
    const found = loaded.byName.get(`${source}\n${circuit}\n${name}\n${typeof type === 'string' ? type : 'r'}`)
    const message = found?.[typeof row['nth'] === 'number' ? row['nth'] : 0]
    return message === undefined ? fail(formatDefinitionErrorCode('not-found')) : ok({ loaded, message })
  }

  /** The path in a row may begin with the name of the folder itself. */
  #path(file: string): string | undefined {
    const known = this.#paths.get(file)
    if (known !== undefined) return known
    const shorter = file.slice(file.indexOf('/') + 1)
    const path = [file, shorter].find((candidate) => this.#source.readText(candidate) !== undefined)
    if (path !== undefined) this.#paths.set(file, path)
    return path
  }

  #load(path: string): LoadedFile {
    let loaded = this.#loaded.get(path)
    if (loaded === undefined) {
      const set = new DefinitionSet({ source: this.#source, mode: 'all', language: this.#language })
      set.load(path)
      const byName = new Map<string, MessageDefinition[]>()
      for (const { message, key, nth } of assignMessageNumbers(set.messages)) {
        if (nth === 0) byName.set(key, [message])
        else byName.get(key)?.push(message)
        this.#files.set(message, path)
      }
      loaded = { byName, index: new TelegramDefinitionIndex(set.messages) }
      this.#loaded.set(path, loaded)
    }
    return loaded
  }

  /** The index of the file that a row names, otherwise of all files; the first definition is used. */
  #indexOf(row: Row): TelegramDefinitionIndex {
    const path = typeof row['file'] === 'string' ? this.#path(row['file']) : undefined
    if (path !== undefined) return this.#load(path).index
    if (this.#everything === undefined) {
      this.#everything = new TelegramDefinitionIndex()
      for (const file of this.#source.files())
        for (const messages of this.#load(file).byName.values())
          for (const message of messages) this.#everything.add(message)
    }
    return this.#everything
  }

  #identityOf(message: MessageDefinition): Row {
    const file = this.#files.get(message)
    return {
      file,
      ...(file === message.source ? {} : { source: message.source }),
      circuit: message.circuit,
      name: message.name,
      type: formatMessageTypeName(message),
    }
  }
}

function lookupResult(
  { loaded, message }: { readonly loaded: LoadedFile; readonly message: MessageDefinition },
  found: MessageDefinition | undefined,
): unknown {
  if (found === undefined) return null
  if (found === message) return 'self'
  const key = `${found.source}\n${found.circuit}\n${found.name}\n${formatMessageTypeName(found)}`
  return {
    source: found.source,
    circuit: found.circuit,
    name: found.name,
    type: formatMessageTypeName(found),
    nth: loaded.byName.get(key)?.indexOf(found) ?? 0,
  }
}

function wantsLookup(row: Row): boolean {
  // A single part of a chain has no complete values.
  return typeof row['master_hex'] === 'string' && (row['payload'] === undefined || row['payload'] === 'plausible')
}

function parseRow(line: string): Row | undefined {
  try {
    const row: unknown = JSON.parse(line)
    return typeof row === 'object' && row !== null && !Array.isArray(row) ? (row as Row) : undefined
  } catch {
    return undefined
  }
}

interface ReadTelegram extends TelegramData, TelegramHeader {}

function readTelegrams(row: Row): readonly [ReadTelegram, ...ReadTelegram[]] | undefined {
  const masters = hexTexts(row['master_hex'])
  const slaves = hexTexts(row['slave_hex'] ?? '')
  if (masters === undefined || slaves === undefined) return undefined
  const telegrams: ReadTelegram[] = []
  for (const [index, master] of masters.entries()) {
    const bytes = hexBytes(master)
    const [source, target, pb, sb, length] = bytes
    if (source === undefined || target === undefined || pb === undefined || sb === undefined) return undefined
    const response = hexBytes(slaves[index] ?? '')
    telegrams.push({
      source,
      target,
      pb,
      sb,
      command: bytes.subarray(5, 5 + (length ?? 0)),
      response: response.subarray(1, 1 + (response[0] ?? 0)),
    })
  }
  const [first, ...rest] = telegrams
  return first === undefined ? undefined : [first, ...rest]
}

/** Returns `undefined` for anything but whole bytes in hex. */
function hexTexts(value: unknown): readonly string[] | undefined {
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value]
  return texts.every((text) => typeof text === 'string' && /^(?:[\da-f]{2})*$/i.test(text))
    ? (texts as readonly string[])
    : undefined
}

function hexBytes(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'hex'))
}

/** Numbers keep the digits that are printed: 0.000 stays 0.000. */
export function formatDecodedMessageJson({ fields }: DecodedMessage): string {
  return `{${fields.map(({ key, reading }) => `${JSON.stringify(key)}:${typeof reading.value === 'number' ? reading.printed : JSON.stringify(reading.value)}`).join()}}`
}

/** The row without the results that it came with, followed by ours. */
function withResult(row: Row, result: Row, decoded?: string): string {
  const isDecode = row['values'] === undefined
  const fields: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(row))
    if (!RESULT_KEYS.has(key) && (isDecode || key !== 'master_hex')) fields[key] = value
  try {
    const text = JSON.stringify({ ...fields, ...result })
    return decoded === undefined ? text : `${text.slice(0, -1)},"decoded":${decoded}}`
  } catch {
    // A value that can be parsed may still be nested too deep to be serialised.
    return JSON.stringify({ error: 'the row nests too deeply' })
  }
}
