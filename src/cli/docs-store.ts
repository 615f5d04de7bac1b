/**
 * Documents: writes the generated documents, `docs/contract.md` and the key table in `docs/running.md`.
 */
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Offer } from '../bus/capability.ts'
import { openGuardedBus } from '../call/guarded-bus.ts'
import { parseConfig } from '../config/config-file.ts'
import { buildDataDirectoryPaths } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import { Database } from '../core/database-store.ts'
import { silentLogger } from '../core/logger.ts'
import { createRandomDrawKey, RANDOM_DRAW_KEY_PURPOSE } from '../ledger/random-draw.ts'
import { deriveNodeSecret } from '../ledger/key-store.ts'
import { Ledger } from '../ledger/ledger.ts'
import { createLogSigner } from '../ledger/note-key.ts'
import { createFamilyServices } from '../main/families.ts'
import { nodeDatabaseMigrations } from '../main/node-database-migrations.ts'
import { toGuardConfig } from '../main/guard-config.ts'
import { createNodeVoterIdentity } from '../main/node-voter-identity.ts'
import { createLanguageModelServices } from '../main/models.ts'
import { formatToolContractDocument } from './contract-doc.ts'
import { insertConfigKeyTable } from './config-docs-table.ts'

const DOCS = fileURLToPath(new URL('../../docs/', import.meta.url))

/**
 * A configuration with everything in it, so that the document has every family's offers. Nothing in it is ever
 * contacted.
 */
const EVERYTHING = `
ebus: { buses: [{ adapter: 'enh:127.0.0.1:9' }] }
homeseer: { url: 'http://127.0.0.1:9' }
devices: { enabled: true, host: 127.0.0.1, port: 0 }
models: { builtin: true }
`

/** The path of each document, and the text that it should have. */
export async function generateDocuments(): Promise<ReadonlyMap<string, string>> {
  const running = join(DOCS, 'running.md')
  return new Map([
    [join(DOCS, 'contract.md'), formatToolContractDocument(await collectAllCapabilityOffers())],
    [running, insertConfigKeyTable(readFileSync(running, 'utf8'))],
  ])
}

export async function writeDocuments(): Promise<readonly string[]> {
  const documents = await generateDocuments()
  for (const [path, text] of documents) writeFileSync(path, text)
  return [...documents.keys()]
}

/** Offers of services that are created and never started: the documents need no sockets and no house. */
export async function collectAllCapabilityOffers(): Promise<readonly Offer[]> {
  const read = parseConfig('everything', EVERYTHING)
  if (!read.ok) throw new Error(JSON.stringify(read.fault))
  const root = mkdtempSync(join(tmpdir(), 'hearthbus-docs-'))
  const database = new Database({ path: ':memory:', migrations: nodeDatabaseMigrations })
  try {
    return await offersOf(read.value, root, database)
  } finally {
    database.close()
    rmSync(root, { recursive: true })
  }
}

async function offersOf(config: Config, root: string, database: Database): Promise<readonly Offer[]> {
  const origin = 'hearthbus.local/docs'
  const key = generateKeyPairSync('ed25519')
  const signer = createLogSigner(origin, key.privateKey)
  const data = buildDataDirectoryPaths(root)
  const draws = createRandomDrawKey('docs', deriveNodeSecret(key, RANDOM_DRAW_KEY_PURPOSE))
  const ledger = await Ledger.open({ database, signer, origin, lastSignedPath: data.lastSigned, clock: systemClock })
  const spine = await openGuardedBus({
    database,
    ledger,
    clock: systemClock,
    logger: silentLogger,
    guard: toGuardConfig(config),
    voting: createNodeVoterIdentity(key, {
      name: 'docs',
      community: () => undefined,
      witnesses: [],
      draws,
    }),
    bus: { nodeId: 'docs', config: config.bus },
  })
  const rest = { database, logger: silentLogger, key, draws, reporters: () => [] }
  const parts = { config, version: 'docs', data, spine, ...rest }
  const services = await createFamilyServices(parts)
  if (!services.ok) throw new Error(services.fault.message)
  return [...services.value, ...(await createLanguageModelServices(config, silentLogger))]
    .flatMap((service) => service.capabilities())
    .map((capability) => capability.offer)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}
