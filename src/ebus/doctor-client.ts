/**
 * eBUS doctor: whether each adapter is there and its bus alive, while no gateway runs.
 *
 * It connects and listens for a moment. Nothing is said on the bus.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { EbusConfig } from '../config/ebus.ts'
import { openEbus } from './adapter/bus-client.ts'
import { parseAdapterEndpoint } from './adapter/endpoint.ts'
import { adviseOnReach } from './advice.ts'
import { DEFINITION_LANGUAGE, openCatalog } from './definitions/definition-catalog-store.ts'
import { fileFaultText } from './definitions/definition-error.ts'
import { DefinitionSet } from './definitions/definition-set.ts'
import type { RegisterDisagreement } from './definitions/disagreement.ts'
import { disagreementText, findDisagreements } from './definitions/disagreement.ts'
import { matchFileName } from './definitions/file-defaults.ts'
import { DefinitionIndex } from './definitions/lookup.ts'
import type { MessageDefinition } from './definitions/message-definition.ts'
import type { TelegramExchange } from './wire/telegram.ts'

export interface EbusFinding {
  readonly status: 'ok' | 'failing'
  readonly advice: string
}

/** Somebody waits at a keyboard; a bus that is alive says so several times a second. */
const MAX_WAIT_MS = 5_000
const LOOK_EVERY_MS = 50
const DIALECT_MS = 2_000
/** Never used: to find a free address one would have to ask for it. */
const UNUSED_ADDRESS = 0xff

export async function examineEbus(
  { buses, definitions }: EbusConfig,
  dataRoot: string,
): Promise<readonly EbusFinding[]> {
  const found = await Promise.all(
    buses.map(async ({ id, adapter }) => {
      const { status, advice } = await busFinding(id, adapter)
      return { status, advice: buses.length > 1 ? `${id}: ${advice}` : advice }
    }),
  )
  return definitions === undefined ? found : [...found, ...(await definitionFindings(definitions, dataRoot))]
}

/** Every file is read, whatever devices there are: the owner asked what is wrong with them. */
async function definitionFindings(definitions: string, dataRoot: string): Promise<readonly EbusFinding[]> {
  const catalog = await openCatalog(definitions, { dataRoot, now: Date.now })
  if (!catalog.ok) return [{ status: 'failing', advice: catalog.fault }]
  const { folder } = catalog.value
  let messages = 0
  const disagreements: RegisterDisagreement[] = []
  const faults = folder.files().flatMap((file) => {
    const set = new DefinitionSet({ source: folder, mode: 'all', language: DEFINITION_LANGUAGE })
    set.load(file)
    messages += set.messages.length
    disagreements.push(...fileDisagreements(file, set.messages))
    return set.faults
  })
  const told = new Set([...folder.templateFaults, ...faults].map(fileFaultText))
  return [
    messages === 0
      ? { status: 'failing', advice: `${definitions} has no message definitions; it should be in ebusd’s layout.` }
      : { status: 'ok', advice: `${messages} messages are defined in ${definitions}.` },
    ...[...told].map((text): EbusFinding => ({
      status: 'failing',
      advice: `A definition file is not read to its end: ${text}.`,
    })),
    ...[...new Set(disagreements.map(disagreementText))].map((text): EbusFinding => ({
      status: 'failing',
      advice: `Definition and built-in map disagree: ${text}.`,
    })),
  ]
}

/** By the name of the file: what it says about a regulator with B524, or about a boiler that our map describes. */
function fileDisagreements(file: string, messages: readonly MessageDefinition[]): readonly RegisterDisagreement[] {
  const name = matchFileName(file.slice(file.lastIndexOf('/') + 1))
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

async function busFinding(id: string, adapter: string): Promise<EbusFinding> {
  const endpoint = parseAdapterEndpoint(adapter)
  if (!endpoint.ok) return { status: 'failing', advice: `${adapter} is no adapter; ${endpoint.fault.expected}.` }
  const bus = openEbus({ id, endpoint: endpoint.value, source: UNUSED_ADDRESS })
  try {
    const endMs = performance.now() + MAX_WAIT_MS
    while (adviseOnReach(bus.status(), adapter) !== undefined && performance.now() < endMs) await pause(LOOK_EVERY_MS)
    // SYN stands in enhanced bytes, too: only a while of listening tells whether they are read as what they are.
    await pause(DIALECT_MS)
    const advice = adviseOnReach(bus.status(), adapter)
    return advice === undefined
      ? { status: 'ok', advice: `The adapter at ${adapter} answers, and the bus carries a signal.` }
      : { status: 'failing', advice }
  } finally {
    await bus.close()
  }
}
