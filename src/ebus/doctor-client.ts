/**
 * eBUS doctor: whether each adapter is there and its bus alive, and what is wrong with the definition files.
 *
 * A running gateway hands over what it hears. Before the start the doctor connects and listens for a moment; nothing is
 * sent on the bus.
 */
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { ServiceFinding } from '../bus/capability.ts'
import type { EbusConfig } from '../config/ebus.ts'
import { openEbus } from './adapter/bus-client.ts'
import { parseAdapterEndpoint } from './adapter/adapter-endpoint.ts'
import { adviseOnBusConnection } from './bus-advice.ts'
import { DEFINITION_LANGUAGE, openCatalog } from './definitions/definition-catalog-store.ts'
import type { DefinitionFileFault } from './definitions/definition-error.ts'
import { formatDefinitionFileFault } from './definitions/definition-error.ts'
import { DefinitionSet } from './definitions/definition-set.ts'
import type { RegisterDisagreement } from './semantic/register-disagreement.ts'
import { formatDisagreement, findDisagreements } from './semantic/register-disagreement.ts'
import { parseDefinitionFileName } from './definitions/file-defaults.ts'
import { DefinitionIndex } from './definitions/definition-index.ts'
import type { MessageDefinition } from './definitions/message-definition.ts'
import type { TelegramExchange } from './wire/telegram.ts'

/** Somebody waits at a keyboard; a bus that is alive says so several times a second. */
const MAX_WAIT_MS = 5_000
const LOOK_EVERY_MS = 50
const DIALECT_MS = 2_000
/** Never used: to find a free address one would have to ask for it. */
const UNUSED_ADDRESS = 0xff

/** Before a start. */
export async function examineEbusAlone(config: EbusConfig, dataRoot: string): Promise<readonly ServiceFinding[]> {
  const heard = await Promise.all(
    config.buses.map(async ({ id, adapter }) => {
      const advice = await listenToBus(id, adapter)
      return { id, adapter, hasSignal: advice === undefined, advice }
    }),
  )
  return examineEbus(config, { dataRoot, heard })
}

export interface ExaminedBus {
  readonly id: string
  readonly adapter: string
  /** Whether its bus carries a signal; if so, what else is wrong leaves most of it working. */
  readonly hasSignal: boolean
  /** `undefined`: nothing needs doing. */
  readonly advice: string | undefined
}

export async function examineEbus(
  { definitions }: Pick<EbusConfig, 'definitions'>,
  { dataRoot, heard }: { readonly dataRoot: string; readonly heard: readonly ExaminedBus[] },
): Promise<readonly ServiceFinding[]> {
  const found = heard.map(({ id, adapter, hasSignal, advice }): ServiceFinding => {
    const sentence = advice ?? `The adapter at ${adapter} answers, and the bus carries a signal.`
    const status = advice === undefined ? 'ok' : hasSignal ? 'degraded' : 'failing'
    return { status, advice: heard.length > 1 ? `${id}: ${sentence}` : sentence }
  })
  return definitions === undefined ? found : [...found, ...(await definitionFindings(definitions, dataRoot))]
}

/** Every file is read, whatever devices there are: the owner asked what is wrong with them. */
async function definitionFindings(definitions: string, dataRoot: string): Promise<readonly ServiceFinding[]> {
  const catalog = await openCatalog(definitions, { dataRoot, now: Date.now })
  if (!catalog.ok) return [{ status: 'failing', advice: catalog.fault }]
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
    // Hundreds of files are read, and a running gateway has calls to answer in between.
    await nextTurn()
  }
  const told = new Set([...folder.templateFaults, ...faults].map(formatDefinitionFileFault))
  return [
    messages === 0
      ? { status: 'failing', advice: `${definitions} has no message definitions; it should be in ebusd’s layout.` }
      : { status: 'ok', advice: `${messages} messages are defined in ${definitions}.` },
    ...[...told].map((text): ServiceFinding => ({
      status: 'failing',
      advice: `A definition file is not read to its end: ${text}.`,
    })),
    ...[...new Set(disagreements.map(formatDisagreement))].map((text): ServiceFinding => ({
      status: 'failing',
      advice: `Definition and built-in map disagree: ${text}.`,
    })),
  ]
}

/** By the name of the file: what it says about a regulator with B524, or about a boiler that our map describes. */
function fileDisagreements(file: string, messages: readonly MessageDefinition[]): readonly RegisterDisagreement[] {
  const name = parseDefinitionFileName(file.slice(file.lastIndexOf('/') + 1))
  if (name === undefined || !/(?:^|\/)vaillant\/[^/]*$/.test(file)) return []
  const index = new DefinitionIndex()
  for (const message of messages) index.add(message)
  const find = ({
    telegram: { source, target, primary: pb, secondary: sb, data },
  }: TelegramExchange): MessageDefinition | undefined => index.find({ source, target, pb, sb }, data)
  return findDisagreements(find, {
    regulator: messages.some(({ pb, sb }) => pb === 0xb5 && sb === 0x24) ? name.address : undefined,
    boiler: name.ident === 'bai' ? name.address : undefined,
  })
}

async function listenToBus(id: string, adapter: string): Promise<string | undefined> {
  const endpoint = parseAdapterEndpoint(adapter)
  if (!endpoint.ok) return `${adapter} is no adapter; ${endpoint.fault.expected}.`
  const bus = openEbus({ id, endpoint: endpoint.value, source: UNUSED_ADDRESS })
  try {
    const endMs = performance.now() + MAX_WAIT_MS
    while (adviseOnBusConnection(bus.status(), adapter) !== undefined && performance.now() < endMs)
      await pause(LOOK_EVERY_MS)
    // SYN stands in enhanced bytes, too: only a while of listening tells whether they are read as what they are.
    await pause(DIALECT_MS)
    return adviseOnBusConnection(bus.status(), adapter)
  } finally {
    await bus.close()
  }
}
