/**
 * Two minutes of chaos: nodes and the broker killed and restarted at random under load. Every call has to end, nothing
 * may stay in flight, nothing that may happen once may happen twice, and the ledgers have to verify and to tell of each
 * other's calls under one trace.
 *
 *   CHAOS_SECONDS=30 npm run bench -- mesh-chaos
 */
import { seeded } from '../test/seeded-random.ts'
import { closeAll, formCommunity } from '../test/mesh-house.ts'
import { chaos } from '../test/mesh-load.ts'
import { NATS_SERVER, startNats } from '../test/nats-process.ts'

const SECONDS = Number(process.env['CHAOS_SECONDS'] ?? 120)
const seed = Number(process.env['CHAOS_SEED'] ?? 7)

const broker = NATS_SERVER === '' ? undefined : await startNats()
if (broker === undefined) process.stdout.write('*** NOT RUN with a broker: there is no nats-server here ***\n')
const mesh = broker === undefined ? '' : `  nats: { servers: ['${broker.url}'] }`
const formed = await formCommunity(['home', 'left', 'right'], { mesh, yaml: 'bus: { preferLocal: false }' })
const { nodes, ...report } = await chaos({
  nodes: formed,
  broker,
  ms: SECONDS * 1_000,
  callers: 8,
  random: seeded(seed),
})
await closeAll(nodes)
await broker?.stop()
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
const broken =
  report.duplicates.length +
  report.missing.length +
  report.inFlight +
  report.unlinked.length +
  (nodes.length - report.soundLedgers)
process.exitCode = broken === 0 ? 0 : 1
