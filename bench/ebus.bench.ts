/**
 * What listening costs: symbols through line, telegram, stores and planes against what a wire can carry, what full
 * stores take in memory, and how long it takes from the last byte on a socket until a subscriber is told.
 *
 *   an ordinary day   an hour of the virtual house's own talk, recorded symbol by symbol and played 24 times
 *   a full day        telegrams back to back without a pause: 240 symbols a second is all that 2400 Bd can carry
 *   all definitions   the same, with ten minutes of every message that the definitions know of
 */
import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { listenLocally } from '../test/local-port.ts'
import { ebusConfigSchema } from '../src/config/ebus.ts'
import { systemClock } from '../src/core/clock.ts'
import { Database } from '../src/core/database-store.ts'
import { silentLogger } from '../src/core/logger.ts'
import type { EbusEvent } from '../src/ebus/adapter/ebus-connection.ts'
import { BusDefinitions } from '../src/ebus/definitions/bus-definitions.ts'
import { isMappedMessage } from '../src/ebus/semantic/mapped-message.ts'
import { DefinitionFolderReader } from '../src/ebus/definitions/definition-folder-store.ts'
import { parseDefinitionFileName } from '../src/ebus/definitions/definition-file-name.ts'
import { createEbusService } from '../src/ebus/ebus.ts'
import { SEMANTIC_PLANE_NAMES } from '../src/ebus/semantic/planes.ts'
import { ebusMigrations } from '../src/ebus/register-value-store.ts'
import { encodeAdapterMessage } from '../src/ebus/wire/enhanced-protocol.ts'
import { encodeExchange } from '../test/telegram-exchange.ts'
import type { BusLineEvent } from '../src/ebus/wire/bus-line-decoder.ts'
import { newBusLineDecoder, stepBusLineDecoder } from '../src/ebus/wire/bus-line-decoder.ts'
import { SYMBOL_DURATION_MS, SYN } from '../src/ebus/wire/symbol.ts'
import { HeatingSystem } from '../src/sim/ebus/heating-system.ts'
import { listeningInstallation, situationAt } from '../test/listening-installation.ts'

const WIRE_PER_SECOND = 240
/** In this time a full wire carries some six thousand telegrams. */
const DEFINED_S = 600
const DAY_S = 86_400
const HOUR_MS = 3_600_000
const ROUNDS = 5
const LATENCY_ROUNDS = 500

type Sink = (symbols: Uint8Array, times: number) => void

function recordedHour(): Uint8Array {
  const system = new HeatingSystem({
    seed: 7,
    startMs: Date.UTC(2026, 0, 5, 6),
    regulator: '720',
    houseSpeed: 1,
    chatter: true,
    outsidePatienceMs: 0,
  })
  const symbols: number[] = []
  system.bus.join({
    heard: (symbol) => {
      symbols.push(symbol)
      return undefined
    },
  })
  system.advance(HOUR_MS)
  return Uint8Array.from(symbols)
}

/** A regulator read without a pause, every register in turn, every answer another one than before. */
function fullMinute(): Uint8Array {
  const symbols: number[] = [SYN]
  for (let turn = 0; symbols.length < 60 * WIRE_PER_SECOND; turn++) {
    const [group, register] = [
      [0x03, 0x0f],
      [0x03, 0x14],
      [0x01, 0x05],
      [0x00, 0x73],
      [0x02, 0x08],
      [0x00, 0x39],
    ][turn % 6] as [number, number]
    const telegram = {
      source: 0xf1,
      target: 0x15,
      primary: 0xb5,
      secondary: 0x24,
      data: Uint8Array.of(0x02, 0x00, group, group === 0x03 ? turn % 2 : 0, register, 0x00),
    }
    const value = Uint8Array.of(0x01, group, register, 0x00, turn & 0xff, (turn >> 8) & 0xff, 0xa4, 0x41)
    symbols.push(...encodeExchange(telegram, value), SYN)
  }
  return Uint8Array.from(symbols)
}

/** Every message that is defined, in turn, each time with another answer: conditions change their minds all the time. */
function definedMinutes(definitions: BusDefinitions): Uint8Array {
  const asked = definitions.messages.filter(
    ({ isPassive, isWrite, zz, chain }) => !isPassive && !isWrite && zz !== undefined && chain.length === 0,
  )
  const symbols: number[] = [SYN]
  for (let turn = 0; symbols.length < DEFINED_S * WIRE_PER_SECOND; turn++) {
    const { zz: target = 0, pb: primary, sb: secondary, id } = asked[(turn * 7_919) % asked.length] ?? never()
    const answer = Uint8Array.from({ length: 8 }, (_, at) => (turn * 31 + at * 17) & 0x3f)
    symbols.push(...encodeExchange({ source: 0xf1, target, primary, secondary, data: id }, answer), SYN)
  }
  return Uint8Array.from(symbols)
}

function never(): never {
  throw new Error('no message is defined')
}

const lineOnly: Sink = (symbols, times) => {
  const line = newBusLineDecoder()
  for (let round = 0; round < times; round++) for (const symbol of symbols) stepBusLineDecoder(line, symbol)
}

/** As the adapter tells it. */
function eventOf(heard: BusLineEvent, atMs: number): EbusEvent {
  return heard.kind === 'exchange'
    ? { kind: 'exchange', exchange: heard.exchange, own: false, atMs }
    : { ...heard, own: false, atMs }
}

function everything(symbols: Uint8Array, times: number, definitions?: BusDefinitions): void {
  const line = newBusLineDecoder()
  const heating = listeningInstallation()
  if (definitions !== undefined) heating.define(definitions)
  heating.handleEvent({ kind: 'connected', atMs: 0 }, situationAt(0))
  for (let round = 0; round < times; round++)
    for (const symbol of symbols) {
      const heard = stepBusLineDecoder(line, symbol)
      if (heard === undefined) continue
      const nowMs = line.symbols * SYMBOL_DURATION_MS
      heating.handleEvent(eventOf(heard, nowMs), situationAt(nowMs, line.symbols))
    }
  for (const name of SEMANTIC_PLANE_NAMES)
    if (name !== 'runtime_status' && name !== 'adapter_info') heating.plane(name, line.symbols * SYMBOL_DURATION_MS)
}

const OFFICIAL = fileURLToPath(new URL('../../shared/data/ebusd/definitions/en', import.meta.url))
const hasOfficial = existsSync(OFFICIAL)

/** The whole tree of ebusd has more messages than one bus can have devices for: copies at other addresses make up for it. */
const WANTED_MESSAGES = 16_000
/** Of these, which have most; the copies are called otherwise, as circuits are. */
const COPIED = ['15.720', '15.ctlv2', '15.basv', '15.700', '15.ctls2', '15.bass', '15.ctlv3', '15.470']
const COPY_ADDRESSES = [0xa5, 0xb5, 0x75, 0x7b, 0x0b, 0x0d, 0x2b, 0x2d]

class DevicesOfEveryFile extends DefinitionFolderReader {
  readonly #copies = new Map<string, string>()

  copy(file: string, as: string): void {
    this.#copies.set(as, file)
  }

  override list(folder: string): ReturnType<DefinitionFolderReader['list']> {
    const listed = super.list(folder)
    const copies = [...this.#copies.keys()].filter((file) => file.startsWith(`${folder}/`))
    return { ...listed, files: [...listed.files, ...copies] }
  }

  override readText(file: string): string | undefined {
    return super.readText(this.#copies.get(file) ?? file)
  }
}

/** Every file is loaded: as if each device that has one were on the bus, and those of the house last. */
function allDefinitions(): BusDefinitions {
  const folder = new DevicesOfEveryFile(OFFICIAL, 'en')
  const definitions = new BusDefinitions(folder, 'en', isMappedMessage)
  const identify = (file: string): void => {
    const name = parseDefinitionFileName(file.slice(file.lastIndexOf('/') + 1))
    const maker = MAKERS.get(file.split('/').at(-2) ?? '')
    if (name === undefined || maker === undefined) return
    definitions.identify(name.address, {
      ...maker,
      deviceId: name.ident.toUpperCase(),
      software: String(name.software ?? 507).padStart(4, '0'),
      hardware: String(name.hardware ?? 1_704).padStart(4, '0'),
    })
  }
  for (const file of folder.files()) identify(file)
  for (const [turn, address] of COPY_ADDRESSES.entries()) {
    if (definitions.messages.length >= WANTED_MESSAGES) break
    const original = `vaillant/${COPIED[turn]}.csv`
    const copy = `vaillant/${address.toString(16).padStart(2, '0')}.copy${turn}.csv`
    folder.copy(original, copy)
    identify(copy)
  }
  return definitions
}

const MAKERS: ReadonlyMap<string, { readonly manufacturerCode: number; readonly manufacturer: string }> = new Map([
  ['vaillant', { manufacturerCode: 0xb5, manufacturer: 'Vaillant' }],
  ['wolf', { manufacturerCode: 0x19, manufacturer: 'Wolf' }],
  ['kromschroeder', { manufacturerCode: 0x50, manufacturer: 'Kromschroeder' }],
  ['encon', { manufacturerCode: 0x40, manufacturer: 'ENCON' }],
  ['tem', { manufacturerCode: 0x10, manufacturer: 'TEM' }],
])

/** Loading is not counted: it happens once. */
const loaded = hasOfficial ? allDefinitions() : undefined
if (loaded !== undefined) process.stdout.write(`${loaded.messages.length} messages are defined\n`)

function withDefinitions(symbols: Uint8Array, times: number): void {
  everything(symbols, times, loaded)
}

/** Processor time, collecting garbage included: what else runs on the machine is not our doing. */
function best(sink: Sink, symbols: Uint8Array, times: number): number {
  let bestMs = Infinity
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage()
    sink(symbols, times)
    const { user, system } = process.cpuUsage(before)
    bestMs = Math.min(bestMs, (user + system) / 1_000)
  }
  return bestMs
}

function throughput(): void {
  const hour = recordedHour()
  const minute = fullMinute()
  const defined = loaded === undefined ? undefined : definedMinutes(loaded)
  const days = [
    { day: `ordinary day, ${Math.round(hour.length / 3_600)} symbols/s`, symbols: hour, times: 24 },
    { day: 'full day, 240 symbols/s', symbols: minute, times: Math.round((DAY_S * WIRE_PER_SECOND) / minute.length) },
    ...(defined === undefined
      ? []
      : [
          {
            day: 'full day, all definitions in turn',
            symbols: defined,
            times: Math.round((DAY_S * WIRE_PER_SECOND) / defined.length),
          },
        ]),
  ]
  console.table(
    days.flatMap(({ day, symbols, times }) =>
      [
        { through: 'line', sink: lineOnly },
        { through: 'line ▸ telegram ▸ stores ▸ planes', sink: (each: Uint8Array, n: number) => everything(each, n) },
        ...(hasOfficial ? [{ through: 'the same, with the official definitions', sink: withDefinitions }] : []),
      ].map(({ through, sink }) => {
        const ms = best(sink, symbols, times)
        const perSecond = (symbols.length * times) / (ms / 1_000)
        return {
          day,
          through,
          'symbols/s': Math.round(perSecond).toLocaleString('en'),
          'times a full wire': Math.round(perSecond / WIRE_PER_SECOND).toLocaleString('en'),
          'a day takes (cpu)': `${(ms / 1_000).toFixed(2)} s`,
        }
      }),
    ),
  )
}

/** Every store as full as it gets: telegrams of all sources to all targets, every register of every device. */
function memory(): void {
  globalThis.gc?.()
  const before = process.memoryUsage().heapUsed
  const heating = listeningInstallation()
  heating.handleEvent({ kind: 'connected', atMs: 0 }, situationAt(0))
  const sources = [0x00, 0x10, 0x30, 0x70, 0xf0, 0x03, 0xf1]
  for (let turn = 0; turn < 40_000; turn++) {
    const register = turn % 6_000
    const telegram = {
      source: sources[turn % sources.length] ?? 0x10,
      target: 0x08 + (turn % 24) * 5,
      primary: 0xb5,
      secondary: 0x09,
      data: Uint8Array.of(0x0d, register >> 8, register & 0xff),
    }
    heating.handleEvent(
      {
        kind: 'exchange',
        own: false,
        atMs: turn,
        exchange: { telegram, response: Uint8Array.of(1, 2, 3), commandRepeats: 0, responseRepeats: 0 },
      },
      situationAt(turn),
    )
  }
  globalThis.gc?.()
  const megabytes = (process.memoryUsage().heapUsed - before) / 1_048_576
  const { messages, periodicity } = heating.observatory
  process.stdout.write(
    `\nfull stores: ${megabytes.toFixed(2)} MB for ${messages.size} messages, ${periodicity.size} periodic tuples, ${heating.shadow.size} values, ${heating.registry.slots().length} addresses\n`,
  )
}

/** An adapter that only tells: every value of the hot water is another one than before. */
async function latency(): Promise<void> {
  const connected = Promise.withResolvers<Socket>()
  const server = createServer({ noDelay: true }, (socket) => {
    connected.resolve(socket)
    socket.on('error', () => undefined)
    socket.write(encodeAdapterMessage({ event: 'resetted', data: 0 }))
  })
  const port = await listenLocally(server)
  let told: () => void = () => undefined
  const database = new Database({ path: ':memory:', migrations: [ebusMigrations] })
  const service = createEbusService({
    dataRoot: '/nonexistent',
    config: ebusConfigSchema.parse({ buses: [{ adapter: `enh:127.0.0.1:${port}`, source: 49, readOnly: true }] }),
    bus: {
      announceResource: (uri) => (uri === 'ebus://main/dhw' ? told() : undefined),
    },
    database,
    clock: systemClock,
    logger: silentLogger,
    version: '0',
  })
  await service.start()
  const client = await connected.promise
  const took: number[] = []
  for (let round = 0; round < LATENCY_ROUNDS; round++) {
    // Steps of a thousandth of a degree: what is shown has to differ, not only what is sent.
    const value = Uint8Array.of(0x01, 0x01, 0x05, 0x00, 0x00, round & 0xff, 0x48 | (round >> 8), 0x42)
    const telegram = {
      source: 0xf1,
      target: 0x15,
      primary: 0xb5,
      secondary: 0x24,
      data: Uint8Array.of(2, 0, 1, 0, 5, 0),
    }
    const wire = [SYN, ...encodeExchange(telegram, value), SYN]
    const bytes = Buffer.concat(wire.map((symbol) => encodeAdapterMessage({ event: 'received', data: symbol })))
    const { promise, resolve } = Promise.withResolvers<void>()
    told = resolve
    const startedMs = performance.now()
    client.write(bytes)
    await promise
    took.push(performance.now() - startedMs)
  }
  await service.stop()
  client.destroy()
  server.close()
  database.close()
  const sorted = took.toSorted((left, right) => left - right)
  const at = (share: number): string => `${(sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(2)} ms`
  process.stdout.write(
    `last byte on the socket ▸ resource announced: p50 ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)}\n`,
  )
}

throughput()
memory()
await latency()
