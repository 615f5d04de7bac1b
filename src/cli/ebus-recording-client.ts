/**
 * eBUS recordings from the command line: record a bus, play one, list what nobody has described, and describe it.
 */
import { appendFileSync, createWriteStream, existsSync, readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { toHex } from '../core/bytes.ts'
import { thrownMessage } from '../core/thrown.ts'
import { parseAdapterEndpoint } from '../ebus/adapter/endpoint.ts'
import { decodeMessage, decodedText } from '../ebus/definitions/decode.ts'
import { errorText, fileFaultText } from '../ebus/definitions/definition-error.ts'
import { DefinitionFolder } from '../ebus/definitions/definition-folder-store.ts'
import { definitionRow } from '../ebus/definitions/definition-row.ts'
import { DefinitionSet } from '../ebus/definitions/definition-set.ts'
import { DefinitionIndex } from '../ebus/definitions/lookup.ts'
import type { MessageDefinition } from '../ebus/definitions/message-definition.ts'
import { TelegramGrabber } from '../ebus/recording/grab.ts'
import { startRecorder } from '../ebus/recording/recorder-client.ts'
import type { RecordedSymbols, Recording } from '../ebus/recording/recording.ts'
import { readRecording, recordingHeader, recordingLine } from '../ebus/recording/recording.ts'
import { newBusLine, stepLine } from '../ebus/wire/line.ts'
import type { TelegramExchange } from '../ebus/wire/telegram.ts'
import type { ExitCode } from './print.ts'
import { EXIT, stripControls, formatTable } from './print.ts'
import type { ListenAddress } from './sim-typed-client.ts'
import { waitForSignal } from './until-signal.ts'

const LANGUAGE = 'en'
/** The columns of the official files. */
const COLUMNS = 'type,circuit,level,name,comment,qq,zz,pbsb,id,*name,part,type,divisor/values,unit,comment'

function complain(sentence: string): ExitCode {
  process.stderr.write(`${stripControls(sentence)}\n`)
  return EXIT.usage
}

/** Until somebody says stop, or for so many seconds. Never writes over a file. */
export async function recordBus(options: {
  readonly file: string
  readonly adapter: string
  readonly dump: boolean
  readonly seconds: number | undefined
}): Promise<ExitCode> {
  const endpoint = parseAdapterEndpoint(options.adapter)
  if (!endpoint.ok) return complain(`${options.adapter} is no adapter; ${endpoint.fault.expected}`)
  if (endpoint.value.kind === 'ebusd') return complain('ebusd shows telegrams, not symbols; name its adapter instead')
  const file = createWriteStream(options.file, { flags: 'wx' })
  const failed = new Promise<string>((resolve) => file.once('error', (error) => resolve(thrownMessage(error))))
  if (!options.dump) file.write(recordingHeader(new Date().toISOString()))
  let symbols = 0
  const recorder = startRecorder({
    endpoint: endpoint.value,
    onSymbols: (piece) => {
      symbols += piece.symbols.length
      file.write(options.dump ? piece.symbols : recordingLine(piece))
    },
    onState: (sentence) => process.stderr.write(`${stripControls(sentence)}\n`),
  })
  const ended = options.seconds === undefined ? waitForSignal() : pause(options.seconds * 1_000)
  const problem = await Promise.race([ended, failed])
  await recorder.close()
  if (typeof problem === 'string') return complain(problem)
  await new Promise((resolve) => file.end(resolve))
  process.stderr.write(`${symbols} symbols in ${options.file}\n`)
  return EXIT.ok
}

function openRecording(file: string): Recording | string {
  try {
    const recording = readRecording(readFileSync(file))
    return recording.ok ? recording.value : `${file}: ${recording.fault}`
  } catch (error) {
    return thrownMessage(error)
  }
}

/** Every finished telegram of a recording, with its time. */
function* exchangesOf({
  pieces,
}: Recording): Generator<{ readonly exchange: TelegramExchange; readonly atMs: number }> {
  const line = newBusLine()
  for (const { atMs, symbols } of pieces)
    for (const symbol of symbols) {
      const heard = stepLine(line, symbol)
      if (heard?.kind === 'exchange') yield { exchange: heard.exchange, atMs }
    }
}

function indexOf(folder: string | undefined): DefinitionIndex {
  const index = new DefinitionIndex()
  if (folder === undefined) return index
  const source = new DefinitionFolder(folder, LANGUAGE)
  for (const file of source.files()) {
    const set = new DefinitionSet({ source, mode: 'all', language: LANGUAGE })
    set.load(file)
    for (const message of set.messages) index.add(message)
  }
  return index
}

function findMessage(index: DefinitionIndex, { telegram }: TelegramExchange): MessageDefinition | undefined {
  const { source, target, primary: pb, secondary: sb, data } = telegram
  return index.find({ source, target, pb, sb }, data)
}

/** Telegrams in words; with `listen`, the symbols themselves for any client of a plain adapter (`tcp:`). */
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
  const index = indexOf(options.definitions)
  for (const { exchange, atMs } of exchangesOf(recording)) {
    const { source, target, primary, secondary, data } = exchange.telegram
    const message = findMessage(index, exchange)
    const decoded =
      message === undefined || message.chain.length > 0
        ? undefined
        : decodeMessage(message, { command: data, response: exchange.response ?? new Uint8Array() })
    const name = message === undefined ? '' : `${message.circuit} ${message.name}`
    const text = decoded === undefined ? '' : decoded.ok ? decodedText(decoded.value) : errorText(decoded.fault)
    const row = {
      at_ms: Math.round(atMs),
      master_hex: toHex(Uint8Array.of(source, target, primary, secondary, data.length, ...data)),
      slave_hex:
        exchange.response === undefined ? '' : toHex(Uint8Array.of(exchange.response.length, ...exchange.response)),
      ...(message === undefined ? {} : { circuit: message.circuit, name: message.name, text }),
    }
    const line = options.json
      ? JSON.stringify(row)
      : `${row.at_ms} ${row.master_hex}${row.slave_hex === '' ? '' : ` / ${row.slave_hex}`}  ${name} ${stripControls(text)}`.trimEnd()
    process.stdout.write(`${line}\n`)
  }
  return EXIT.ok
}

/** Everybody who connects hears the recording from its beginning, at its own pace. */
async function serveRecording(recording: Recording, { host, port }: ListenAddress, speed: number): Promise<ExitCode> {
  const stopping = new AbortController()
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    // What a client says is not on this bus.
    socket.resume()
    void play(recording.pieces, { socket, speed, signal: stopping.signal })
  })
  const failed = new Promise<string>((resolve) => server.once('error', (error) => resolve(thrownMessage(error))))
  server.listen(port, host, () => {
    const address = server.address()
    const bound = typeof address === 'object' && address !== null ? address.port : port
    process.stdout.write(`The recording plays at tcp:${host}:${bound}. Ctrl-C stops it.\n`)
  })
  const problem = await Promise.race([waitForSignal(), failed])
  stopping.abort()
  for (const socket of sockets) socket.destroy()
  server.close()
  return typeof problem === 'string' ? complain(problem) : EXIT.ok
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

/** What no definition describes. */
export function grabUnknown(options: {
  readonly file: string
  readonly definitions: string | undefined
  readonly json: boolean
}): ExitCode {
  const recording = openRecording(options.file)
  if (typeof recording === 'string') return complain(recording)
  const index = indexOf(options.definitions)
  const grab = new TelegramGrabber()
  for (const { exchange } of exchangesOf(recording)) if (findMessage(index, exchange) === undefined) grab.add(exchange)
  const telegrams = grab.telegrams()
  if (options.json) {
    for (const telegram of telegrams) process.stdout.write(`${JSON.stringify(telegram)}\n`)
    return EXIT.ok
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
  return EXIT.ok
}

/** A line is added only if it can be read; the file is made if it is not there. */
export function defineMessage(options: {
  readonly file: string
  readonly line: string
  readonly json: boolean
}): ExitCode {
  const { file, line } = options
  const isNew = !existsSync(file)
  const text = isNew ? `${COLUMNS}\n` : readFileSync(file, 'utf8')
  const name = file.slice(file.lastIndexOf('/') + 1)
  const whole = `${text.endsWith('\n') ? text : `${text}\n`}${line}\n`
  const source = { readText: (path: string) => (path === name ? whole : undefined), templatesFor: () => new Map() }
  const set = new DefinitionSet({ source, mode: 'all', language: LANGUAGE })
  const fault = set.load(name)
  if (fault !== undefined) return complain(fileFaultText(fault))
  const message = set.messages.at(-1)
  if (line.includes('\n') || message === undefined || message.line !== whole.split('\n').length - 1)
    return complain('that line defines no message')
  appendFileSync(file, isNew ? whole : `${text.endsWith('\n') ? '' : '\n'}${line}\n`)
  process.stdout.write(
    options.json
      ? `${JSON.stringify(definitionRow(message, file, 0))}\n`
      : `${message.circuit} ${message.name} is defined in ${stripControls(file)}\n`,
  )
  return EXIT.ok
}
