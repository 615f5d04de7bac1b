/**
 * eBUS examination: whether each adapter can be reached and its bus has a signal, whether the adapter can be shared,
 * and errors in the definition files.
 *
 * A running gateway passes what it knows. Before a start, the examination connects and listens for a moment, without
 * sending anything on the bus.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { EbusConfig } from '../config/ebus.ts'
import { readSharedAdapterListener } from '../config/listeners.ts'
import type { DoctorFinding } from '../core/doctor-finding.ts'
import { findListenFaults } from '../toolbox/listen-check-client.ts'
import { openEbusConnection } from './adapter/ebus-connection-client.ts'
import { parseAdapterEndpoint } from './adapter/adapter-endpoint.ts'
import { adviseOnBusConnection } from './bus-advice.ts'
import { DEFINITION_LANGUAGE, openDefinitionCatalog } from './definitions/definition-catalog-store.ts'
import type { DefinitionFileFault } from './definitions/definition-error.ts'
import { formatDefinitionFileFault } from './definitions/definition-error.ts'
import { DefinitionSet } from './definitions/definition-set.ts'
import type { RegisterDisagreement } from './semantic/register-disagreement.ts'
import { formatDisagreement, findRegistersContradictingDefinitions } from './semantic/register-disagreement.ts'
import { parseDefinitionFileName } from './definitions/definition-file-name.ts'
import { TelegramDefinitionIndex } from './definitions/definition-index.ts'
import type { MessageDefinition } from './definitions/message-definition.ts'
import type { TelegramExchange } from './wire/telegram.ts'

/** A person waits; a bus with a signal has several SYN per second. */
const MAX_WAIT_MS = 5_000
const LOOK_EVERY_MS = 50
const DIALECT_MS = 2_000
/** Never used, because nothing is sent: a free address could only be found by probing. */
const UNUSED_ADDRESS = 0xff

export interface BusExaminationResult {
  readonly id: string
  readonly adapter: string
  /** Whether the bus has a signal; if so, other problems leave most of it working. */
  readonly hasSignal: boolean
  /** The advice; `undefined` if nothing has to be done. */
  readonly advice: string | undefined
}

/** The findings that a running gateway passes. */
export interface RunningEbusFindings {
  readonly results: readonly BusExaminationResult[]
  /** Why adapters are not shared although they should be. */
  readonly unshared: readonly string[]
}

export async function examineEbus(
  config: EbusConfig,
  { dataRoot, running }: { readonly dataRoot: string; readonly running?: RunningEbusFindings },
): Promise<readonly DoctorFinding[]> {
  if (config.buses.length === 0) return []
  const { results, unshared } = running ?? (await examineAdapters(config))
  const found = results.map(({ id, adapter, hasSignal, advice }) => {
    const sentence = advice ?? `The adapter at ${adapter} answers, and the bus carries a signal.`
    const level = advice === undefined ? 'ok' : hasSignal ? 'warn' : 'fail'
    return toFinding(level, results.length > 1 ? `${id}: ${sentence}` : sentence)
  })
  const { definitions } = config
  return [
    ...found,
    ...unshared.map((why) => toFinding('warn', `The adapter cannot be shared. ${why}`)),
    ...(definitions === undefined
      ? []
      : await inExistingRoot(dataRoot, (root) => examineDefinitions(definitions, root))),
  ]
}

function toFinding(level: DoctorFinding['level'], sentence: string): DoctorFinding {
  return { level, about: 'ebus', sentence }
}

async function examineAdapters(config: EbusConfig): Promise<RunningEbusFindings> {
  const { buses } = config
  const listeners = buses.flatMap(({ id }) => readSharedAdapterListener(config, id) ?? [])
  const [unshared, ...results] = await Promise.all([findListenFaults(listeners), ...buses.map(listenToBus)])
  return { results, unshared }
}

/** Definitions that are downloaded for an examination must not create a data directory. */
async function inExistingRoot<Value>(dataRoot: string, work: (root: string) => Promise<Value>): Promise<Value> {
  if (existsSync(dataRoot)) return work(dataRoot)
  const temporary = mkdtempSync(join(tmpdir(), 'hearthbus-doctor-'))
  try {
    return await work(temporary)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

/** Every file is read, whatever devices there are, because the owner wants to know all errors. */
async function examineDefinitions(definitions: string, dataRoot: string): Promise<readonly DoctorFinding[]> {
  const catalog = await openDefinitionCatalog(definitions, { dataRoot, now: Date.now })
  if (!catalog.ok) return [toFinding('fail', catalog.fault)]
  const { folder } = catalog.value
  let messages = 0
  const disagreements: RegisterDisagreement[] = []
  const faults: DefinitionFileFault[] = []
  for (const file of folder.files()) {
    const set = new DefinitionSet({ source: folder, mode: 'all', language: DEFINITION_LANGUAGE })
    set.load(file)
    messages += set.messages.length
    disagreements.push(...fileDisagreements(file, set.messages))
    faults.push(...set.faults)
    // Yields, because hundreds of files are read, and a running gateway has calls to answer.
    await nextTurn()
  }
  const faultTexts = new Set([...folder.templateFaults, ...faults].map(formatDefinitionFileFault))
  return [
    messages === 0
      ? toFinding('fail', `${definitions} has no message definitions; it should be in ebusd’s layout.`)
      : toFinding('ok', `${messages} messages are defined in ${definitions}.`),
    ...[...faultTexts].map((text) => toFinding('fail', `A definition file is not read to its end: ${text}.`)),
    ...[...new Set(disagreements.map(formatDisagreement))].map((text) =>
      toFinding('fail', `Definition and built-in map disagree: ${text}.`),
    ),
  ]
}

/**
 * Differences between our register map and a file, found by the file's name: for a regulator with B524, or a boiler
 * that our map describes.
 */
function fileDisagreements(file: string, messages: readonly MessageDefinition[]): readonly RegisterDisagreement[] {
  const name = parseDefinitionFileName(file.slice(file.lastIndexOf('/') + 1))
  if (name === undefined || !/(?:^|\/)vaillant\/[^/]*$/.test(file)) return []
  const index = new TelegramDefinitionIndex()
  for (const message of messages) index.add(message)
  const find = ({
    telegram: { source, target, primary: pb, secondary: sb, data },
  }: TelegramExchange): MessageDefinition | undefined => index.find({ source, target, pb, sb }, data)
  return findRegistersContradictingDefinitions(find, {
    regulator: messages.some(({ pb, sb }) => pb === 0xb5 && sb === 0x24) ? name.address : undefined,
    boiler: name.ident === 'bai' ? name.address : undefined,
  })
}

async function listenToBus({ id, adapter }: EbusConfig['buses'][number]): Promise<BusExaminationResult> {
  const endpoint = parseAdapterEndpoint(adapter)
  if (!endpoint.ok)
    return { id, adapter, hasSignal: false, advice: `${adapter} is not an adapter; ${endpoint.fault.expected}.` }
  const bus = openEbusConnection({ id, endpoint: endpoint.value, source: UNUSED_ADDRESS })
  try {
    const endMs = performance.now() + MAX_WAIT_MS
    while (adviseOnBusConnection(bus.status(), adapter) !== undefined && performance.now() < endMs)
      await pause(LOOK_EVERY_MS)
    // SYN also occurs in enhanced bytes, so only listening for a while shows whether the protocol is right.
    await pause(DIALECT_MS)
    const advice = adviseOnBusConnection(bus.status(), adapter)
    return { id, adapter, hasSignal: advice === undefined, advice }
  } finally {
    await bus.close()
  }
}
