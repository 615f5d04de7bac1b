/**
 * What definitions cost: reading a tree of them, finding the one that a telegram belongs to, and decoding by it.
 *
 * With the official files beside the project (`../shared/data/ebusd/definitions/en`) those are read; otherwise a tree of
 * the same size is made up, so that a stranger's clone measures as much.
 */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { fromHex } from '../src/core/bytes.ts'
import { decodeMessage } from '../src/ebus/definitions/message-decoder.ts'
import { DefinitionFolderReader } from '../src/ebus/definitions/definition-folder-store.ts'
import { DefinitionSet } from '../src/ebus/definitions/definition-set.ts'
import type { DefinitionFileReader } from '../src/ebus/definitions/definition-set.ts'
import { TelegramDefinitionIndex } from '../src/ebus/definitions/definition-index.ts'
import type { MessageDefinition } from '../src/ebus/definitions/message-definition.ts'

const ROUNDS = 15
const OFFICIAL = fileURLToPath(new URL('../../shared/data/ebusd/', import.meta.url))
const MADE_UP_FILES = 64
const MADE_UP_LINES = 256

interface Tree extends DefinitionFileReader {
  files(): readonly string[]
}

function madeUpTree(): Tree {
  const lines = Array.from({ length: MADE_UP_LINES }, (_, index) => {
    const id = index.toString(16).padStart(2, '0')
    return `r,,Value${index},value ${index},,,b509,0d${id}00,temp,,D2C,,°C,temperature,state,,UCH,0=off;1=on,,`
  })
  const text = `# built-in columns\n*r,\n${lines.join('\n')}\n`
  const files = Array.from(
    { length: MADE_UP_FILES },
    (_, index) => `${(0x08 + index).toString(16).padStart(2, '0')}.dev.csv`,
  )
  return { files: () => files, readText: () => text, templatesFor: () => new Map() }
}

function loadAll(tree: Tree): MessageDefinition[] {
  return tree.files().flatMap((file) => {
    const set = new DefinitionSet({ source: tree, mode: 'all', language: 'en' })
    set.load(file)
    return set.messages
  })
}

/** Processor time, collecting garbage included: what else runs on the machine is not our doing. */
function best(work: () => void): number {
  let ms = Infinity
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    ms = Math.min(ms, (user + system) / 1_000)
  }
  return ms
}

interface Sample {
  readonly source: number
  readonly target: number
  readonly pb: number
  readonly sb: number
  readonly command: Uint8Array
  readonly response: Uint8Array
}

function sample(master: string, slave: string): Sample {
  const [source = 0, target = 0, pb = 0, sb = 0, , ...command] = fromHex(master)
  return { source, target, pb, sb, command: Uint8Array.from(command), response: fromHex(slave).subarray(1) }
}

/** Plausible telegrams of the official oracle, or one for each made-up message. */
function samples(messages: readonly MessageDefinition[], hasOfficial: boolean): Sample[] {
  if (!hasOfficial)
    return messages.map(({ zz = 0, pb, sb, id }) => ({
      source: 0x31,
      target: zz,
      pb,
      sb,
      command: id,
      response: Uint8Array.of(0x50, 0x01, 0x01),
    }))
  return readFileSync(`${OFFICIAL}messages.jsonl`, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{"file":"en/') && line.includes('"payload":"plausible","master_hex":"'))
    .map((line) => JSON.parse(line) as { readonly master_hex: string; readonly slave_hex?: string })
    .map(({ master_hex: master, slave_hex: slave = '' }) => sample(master, slave))
}

const hasOfficial = existsSync(`${OFFICIAL}definitions/en`)
const tree = hasOfficial ? new DefinitionFolderReader(`${OFFICIAL}definitions/en`, 'en') : madeUpTree()

globalThis.gc?.()
const before = process.memoryUsage().heapUsed
const started = process.cpuUsage()
const messages = loadAll(tree)
const first = process.cpuUsage(started)
const index = new TelegramDefinitionIndex(messages)
globalThis.gc?.()
const heldMb = (process.memoryUsage().heapUsed - before) / 1_048_576
const warmMs = best(
  () => void loadAll(hasOfficial ? new DefinitionFolderReader(`${OFFICIAL}definitions/en`, 'en') : tree),
)
console.table([
  {
    definitions: hasOfficial ? 'official tree' : 'made up',
    messages: messages.length,
    'first read ms': Math.round((first.user + first.system) / 1_000),
    'again ms': Math.round(warmMs),
    'held MB': Math.round(heldMb),
  },
])

const heard = samples(messages, hasOfficial)
const busiest = heard.filter(({ target }) => target === 0x08)
const ofBusiest = new TelegramDefinitionIndex(messages.filter(({ zz }) => zz === 0x08))

function decodeAll(telegrams: readonly Sample[], through: TelegramDefinitionIndex): number {
  let fields = 0
  for (const telegram of telegrams) {
    const message = through.find(telegram, telegram.command)
    const decoded = message === undefined ? undefined : decodeMessage(message, telegram)
    if (decoded?.ok === true) fields += decoded.value.fields.length
  }
  return fields
}

function findAll(telegrams: readonly Sample[], through: TelegramDefinitionIndex): void {
  for (const telegram of telegrams) through.find(telegram, telegram.command)
}

console.table(
  [
    { work: 'find and decode, all definitions', telegrams: heard, run: () => void decodeAll(heard, index) },
    { work: 'find, all definitions', telegrams: busiest, run: () => findAll(busiest, index) },
    { work: 'find, those of the target alone', telegrams: busiest, run: () => findAll(busiest, ofBusiest) },
  ].map(({ work, telegrams, run }) => ({
    work,
    telegrams: telegrams.length,
    fields: decodeAll(telegrams, index),
    'telegrams/s': Math.round(telegrams.length / (best(run) / 1_000)).toLocaleString('en'),
  })),
)
