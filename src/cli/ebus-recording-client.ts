/**
 * eBUS recordings on the command line: records a bus, replays a recording, lists telegrams without a definition, and
 * adds definitions for them.
 */
import { appendFileSync, createWriteStream, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { toHex } from '../core/bytes.ts'
import { explainUnreadableFile, readErrorMessage } from '../core/thrown-error.ts'
import { parseAdapterEndpoint } from '../ebus/adapter/adapter-endpoint.ts'
import { BusDefinitions } from '../ebus/definitions/bus-definitions.ts'
import { decodeMessage, formatDecodedMessage } from '../ebus/definitions/message-decoder.ts'
import { formatDefinitionErrorCode, formatDefinitionFileFault } from '../ebus/definitions/definition-error.ts'
import { DefinitionFolderReader } from '../ebus/definitions/definition-folder-store.ts'
import { toDefinitionExportRow } from '../ebus/definitions/definition-export-row.ts'
import { DefinitionSet } from '../ebus/definitions/definition-set.ts'
import { TelegramDefinitionIndex } from '../ebus/definitions/definition-index.ts'
import type { MessageDefinition } from '../ebus/definitions/message-definition.ts'
import { UnknownTelegramGrouper } from '../ebus/recording/unknown-telegram-grouper.ts'
import { startBusSymbolCapture } from '../ebus/recording/bus-symbol-capture-client.ts'
import type { RecordedSymbols, BusRecording } from '../ebus/recording/recording.ts'
import { parseBusRecording, formatRecordingHeader, formatRecordingLine } from '../ebus/recording/recording.ts'
import { decodeIdentity } from '../ebus/wire/device-identity.ts'
import { newBusLineDecoder, stepBusLineDecoder } from '../ebus/wire/bus-line-decoder.ts'
import type { TelegramExchange } from '../ebus/wire/telegram.ts'
import type { ExitCode } from './command-output.ts'
import { EXIT_CODES, sanitizeForTerminal, formatTable } from './command-output.ts'
import type { ListenAddress } from './sim-input-client.ts'
import { waitForSignal } from './process-signal.ts'

const LANGUAGE = 'en'
/** The columns of the official definition files. */
const COLUMNS = 'type,circuit,level,name,comment,qq,zz,pbsb,id,*name,part,type,divisor/values,unit,comment'
/**
 * Default lines, as the official files have them. Without them ebusd, and this reader too, ignores the circuit and the
 * address in the name of a file.
 */
const DEFAULT_LINES = ['*r,', '*w,', '*u,', '*uw,']

function complain(sentence: string): ExitCode {
  process.stderr.write(`${sanitizeForTerminal(sentence)}\n`)
  return EXIT_CODES.usage
}

/** Records until a signal, or for a number of seconds. Never overwrites a file. */
export async function recordEbus(options: {
  readonly file: string
  readonly adapter: string
  readonly dump: boolean
  readonly seconds: number | undefined
}): Promise<ExitCode> {
  const endpoint = parseAdapterEndpoint(options.adapter)
  if (!endpoint.ok) return complain(`${options.adapter} is not an adapter; ${endpoint.fault.expected}`)
  if (endpoint.value.kind === 'ebusd') return complain('ebusd shows telegrams, not symbols; name its adapter instead')
  const file = createWriteStream(options.file, { flags: 'wx' })
  const failed = new Promise<string>((resolve) => file.once('error', (error) => resolve(readErrorMessage(error))))
  if (!options.dump) file.write(formatRecordingHeader(new Date().toISOString()))
  let symbols = 0
  const recorder = startBusSymbolCapture({
    endpoint: endpoint.value,
    onSymbols: (piece) => {
      symbols += piece.symbols.length
      file.write(options.dump ? piece.symbols : formatRecordingLine(piece))
    },
    onState: (sentence) => process.stderr.write(`${sanitizeForTerminal(sentence)}\n`),
  })
  const ended = options.seconds === undefined ? waitForSignal() : pause(options.seconds * 1_000)
  const problem = await Promise.race([ended, failed])
  await recorder.close()
  if (typeof problem === 'string') return complain(problem)
  await new Promise((resolve) => file.end(resolve))
  process.stderr.write(`${symbols} symbols in ${options.file}\n`)
  return symbols === 0 ? EXIT_CODES.failed : EXIT_CODES.ok
}

function openRecording(file: string): BusRecording | string {
  try {
    const recording = parseBusRecording(readFileSync(file))
    return recording.ok ? recording.value : `${file}: ${recording.fault}`
  } catch (error) {
    return `${file}: ${explainUnreadableFile(error)}`
  }
}

/** Every finished telegram of a recording, with its time. */
function* exchangesOf({
  pieces,
}: BusRecording): Generator<{ readonly exchange: TelegramExchange; readonly atMs: number }> {
  const line = newBusLineDecoder()
  for (const { atMs, symbols } of pieces)
    for (const symbol of symbols) {
      const received = stepBusLineDecoder(line, symbol)
      if (received?.kind === 'exchange') yield { exchange: received.exchange, atMs }
    }
}

type FindMessage = (exchange: TelegramExchange) => MessageDefinition | undefined

/**
 * Finds messages in the definition files of those devices that identified themselves in the recording. A telegram of
 * any other device belongs to the first definition that matches it.
 */
function messageFinder(folder: string | undefined, recording: BusRecording): FindMessage | string {
  if (folder === undefined) return () => undefined
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return `${folder} is not a folder`
  const source = new DefinitionFolderReader(folder, LANGUAGE)
  const index = new TelegramDefinitionIndex()
  for (const file of source.files()) {
    const set = new DefinitionSet({ source, mode: 'all', language: LANGUAGE })
    set.load(file)
    for (const message of set.messages) index.add(message)
  }
  const known = new BusDefinitions(source, LANGUAGE)
  for (const { exchange, atMs } of exchangesOf(recording)) {
    const { target, primary, secondary } = exchange.telegram
    if (primary === 0x07 && secondary === 0x04 && exchange.response !== undefined) {
      const identity = decodeIdentity(exchange.response)
      if (identity.ok) known.identify(target, identity.value)
    }
    known.handleExchange(exchange, atMs)
  }
  return (exchange) => {
    const { source: qq, target, primary: pb, secondary: sb, data } = exchange.telegram
    return known.find(exchange) ?? index.find({ source: qq, target, pb, sb }, data)
  }
}

/**
 * Replays a recording: prints its telegrams decoded; with `listen`, serves its symbols to any client of a plain adapter
 * (`tcp:`).
 */
export async function replayRecording(options: {
  readonly file: string
  readonly definitions: string | undefined
  readonly listen: ListenAddress | undefined
  readonly speed: number
  readonly json: boolean
}): Promise<ExitCode> {
  const recording = openRecording(options.file)
  if (typeof recording === 'string') return complain(recording)
  if (options.listen !== undefined) return serveRecording(recording, options.listen, options.speed)
  const findMessage = messageFinder(options.definitions, recording)
  if (typeof findMessage === 'string') return complain(findMessage)
  for (const { exchange, atMs } of exchangesOf(recording)) {
    const { source, target, primary, secondary, data } = exchange.telegram
    const message = findMessage(exchange)
    const decoded =
      message === undefined || message.chain.length > 0
        ? undefined
        : decodeMessage(message, { command: data, response: exchange.response ?? new Uint8Array() })
    const name = message === undefined ? '' : `${message.circuit} ${message.name}`
    const text =
      decoded === undefined
        ? ''
        : decoded.ok
          ? formatDecodedMessage(decoded.value)
          : formatDefinitionErrorCode(decoded.fault)
    const row = {
      at_ms: Math.round(atMs),
      master_hex: toHex(Uint8Array.of(source, target, primary, secondary, data.length, ...data)),
      slave_hex:
        exchange.response === undefined ? '' : toHex(Uint8Array.of(exchange.response.length, ...exchange.response)),
      ...(message === undefined ? {} : { circuit: message.circuit, name: message.name, text }),
    }
    const line = options.json
      ? JSON.stringify(row)
      : `${row.at_ms} ${row.master_hex}${row.slave_hex === '' ? '' : ` / ${row.slave_hex}`}  ${name} ${sanitizeForTerminal(text)}`.trimEnd()
    process.stdout.write(`${line}\n`)
  }
  return EXIT_CODES.ok
}

/** Every client that connects gets the recording from its beginning, at the recorded pace. */
async function serveRecording(
  recording: BusRecording,
  { host, port }: ListenAddress,
  speed: number,
): Promise<ExitCode> {
  const stopping = new AbortController()
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    // Bytes that a client sends are ignored.
    socket.resume()
    void play(recording.pieces, { socket, speed, signal: stopping.signal })
  })
  const failed = new Promise<string>((resolve) => server.once('error', (error) => resolve(readErrorMessage(error))))
  server.listen(port, host, () => {
    const address = server.address()
    const bound = typeof address === 'object' && address !== null ? address.port : port
    process.stdout.write(`The recording plays at tcp:${host}:${bound}. Ctrl-C stops it.\n`)
  })
  const problem = await Promise.race([waitForSignal(), failed])
  stopping.abort()
  for (const socket of sockets) socket.destroy()
  server.close()
  return typeof problem === 'string' ? complain(problem) : EXIT_CODES.ok
}

async function play(
  pieces: readonly RecordedSymbols[],
  { socket, speed, signal }: { readonly socket: Socket; readonly speed: number; readonly signal: AbortSignal },
): Promise<void> {
  const startMs = performance.now()
  for (const { atMs, symbols } of pieces) {
    const waitMs = atMs / speed - (performance.now() - startMs)
    if (waitMs > 0) await pause(waitMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted || socket.destroyed) return
    socket.write(symbols)
  }
}

/** Prints the telegrams that no definition describes. */
export function printUnknownTelegrams(options: {
  readonly file: string
  readonly definitions: string | undefined
  readonly json: boolean
}): ExitCode {
  const recording = openRecording(options.file)
  if (typeof recording === 'string') return complain(recording)
  const findMessage = messageFinder(options.definitions, recording)
  if (typeof findMessage === 'string') return complain(findMessage)
  const grab = new UnknownTelegramGrouper()
  for (const { exchange } of exchangesOf(recording)) if (findMessage(exchange) === undefined) grab.add(exchange)
  const telegrams = grab.telegrams()
  if (options.json) {
    for (const telegram of telegrams) process.stdout.write(`${JSON.stringify(telegram)}\n`)
    return EXIT_CODES.ok
  }
  const byte = (value: number): string => value.toString(16).padStart(2, '0')
  const rows = telegrams.map(({ source, target, service, times, command, response }) => [
    String(times),
    byte(source),
    byte(target),
    service,
    command,
    response ?? '',
  ])
  process.stdout.write(`${formatTable(['times', 'qq', 'zz', 'pbsb', 'command', 'answer'], rows)}\n`)
  return EXIT_CODES.ok
}

/** Adds a definition line only if it can be parsed; creates the file if it does not exist. */
export function appendDefinitionLine(options: {
  readonly file: string
  readonly line: string
  readonly json: boolean
}): ExitCode {
  const { file, line } = options
  const isNew = !existsSync(file)
  const text = isNew ? `${[COLUMNS, ...DEFAULT_LINES].join('\n')}\n` : readFileSync(file, 'utf8')
  const whole = `${text.endsWith('\n') ? text : `${text}\n`}${line}\n`
  // Template files are beside the file, or in the root of its tree, which is the folder above.
  const maker = dirname(resolve(file))
  const isInTree = existsSync(join(dirname(maker), '_templates.csv'))
  const folder = new DefinitionFolderReader(isInTree ? dirname(maker) : maker, LANGUAGE)
  const name = isInTree ? `${basename(maker)}/${basename(file)}` : basename(file)
  const source = {
    readText: (path: string) => (path === name ? whole : folder.readText(path)),
    templatesFor: (path: string) => folder.templatesFor(path),
  }
  const set = new DefinitionSet({ source, mode: 'all', language: LANGUAGE })
  const fault = set.load(name)
  if (fault !== undefined) return complain(formatDefinitionFileFault(fault))
  const own = set.messages.filter((message) => message.source === name)
  const message = own.at(-1)
  if (line.includes('\n') || message === undefined || message.line !== whole.split('\n').length - 1)
    return complain('that line does not define a message')
  const twin = own.find(
    (other) => other.line !== message.line && other.conditions.length === 0 && definesTheSame(other, message),
  )
  if (twin !== undefined) return complain(`line ${twin.line} has ${twin.circuit} ${twin.name} already`)
  try {
    if (isNew) mkdirSync(maker, { recursive: true })
    appendFileSync(file, isNew ? whole : `${text.endsWith('\n') ? '' : '\n'}${line}\n`)
  } catch (error) {
    return complain(readErrorMessage(error))
  }
  process.stdout.write(
    options.json
      ? `${JSON.stringify(toDefinitionExportRow(message, file, 0))}\n`
      : `${message.circuit} ${message.name} is defined in ${sanitizeForTerminal(file)}\n`,
  )
  return EXIT_CODES.ok
}

/** A running ebusd reads a file only up to the first duplicate definition. */
function definesTheSame(left: MessageDefinition, right: MessageDefinition): boolean {
  return (
    left.circuit.toLowerCase() === right.circuit.toLowerCase() &&
    left.name.toLowerCase() === right.name.toLowerCase() &&
    left.isWrite === right.isWrite &&
    left.isPassive === right.isPassive
  )
}
