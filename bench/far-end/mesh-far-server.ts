/**
 * The other process of the mesh bench: an echo, behind whichever wire is asked for.
 *
 *   node mesh-far-server.ts http | nats <url> | raw <url> | request <url> | moleculer-nats <url> | moleculer-tcp
 *
 * Does I/O.
 */
import { connect } from '@nats-io/transport-node'
import { echoProvider, moleculer } from '../mesh-contenders.ts'

const [, , kind = '', url = ''] = process.argv

switch (kind) {
  case 'http':
  case 'nats':
    await echoProvider(kind, url)
    break
  case 'raw': {
    const connection = await connect({ servers: url })
    connection.subscribe('bench.echo', { callback: (_, message) => void message.respond(message.data) })
    process.stdout.write('ready\n')
    break
  }
  default: {
    const broker = moleculer(`far-${process.pid}`, kind === 'moleculer-nats' ? url : '')
    broker.createService({ name: 'bench', actions: { echo: (context: { params: object }) => context.params } })
    await broker.start()
    process.stdout.write('ready\n')
  }
}
