/**
 * A gateway inside one's own program, with a service of one's own beside the built-in families.
 *
 *   node_modules/.bin/node examples/own-gateway.ts /tmp/garden
 *
 * It runs until Ctrl-C and says what to try meanwhile. Where Hearthbus is installed, `bin/hearthbus` is `hearthbus`.
 */
import { once } from 'node:events'
// Where the package is installed, this is `from 'hearthbus'`.
import { createLogger, parseConfig, startGateway } from '../src/hearthbus.ts'
import { gardenService } from './own-service.ts'
import { weatherService } from './small-service.ts'

const dataRoot = process.argv[2] ?? '/tmp/hearthbus-garden'
const config = parseConfig('inline', 'listen: { port: 0 }')
if (!config.ok) throw new Error(config.fault.map((problem) => problem.message).join('\n'))

const started = await startGateway({
  config: config.value,
  dataRoot,
  // A folder in /tmp is thrown away. Leave this out where the records matter.
  pinned: false,
  version: '1.0.0',
  logger: createLogger('warn'),
  listen: true,
  services: () => [gardenService(), weatherService],
})
if (!started.ok) throw new Error(started.fault.message)
const gateway = started.value

const watered = await gateway.bus.call(
  'garden.tap.set',
  undefined,
  { open: true },
  { caller: { kind: 'principal', id: 'gardener', role: 'agent' }, channel: 'service' },
)
// Before it says so: whoever reads it may stop it at once.
const stopped = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
process.stdout
  .write(`${JSON.stringify(watered.ok ? watered.value.data : watered.fault)}\n${gateway.ledger.size()} entries in the ledger

Try, in another terminal:
  bin/hearthbus --data ${dataRoot} call garden.tap.get
  bin/hearthbus --data ${dataRoot} call garden.tap.set '{"open": false}'
  bin/hearthbus --data ${dataRoot} call garden.bed.water '{"litres": 3}'
  bin/hearthbus --data ${dataRoot} call weather.rain.get
  bin/hearthbus --data ${dataRoot} traces
Agents find it at ${gateway.url}/mcp. Ctrl-C stops it.
`)
await stopped
await gateway.stop()
