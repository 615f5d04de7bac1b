/**
 * Node-RED process: the Node-RED runtime without its editor, with HomeSeer's own nodes as they are published, in a
 * process of its own. It is told what to do over the process's channel.
 *
 *   in    { flows, credentials }        deploys
 *         { input: { node, msg } }      a message to a node
 *         { hook: { … } }               a web hook of HomeSeer, posted to the nodes' own address
 *   out   { ready } ▸ { deployed } ▸ { sent: { node, msg } } | { failed: { node, error } } | { hooked: status }
 */
import { once } from 'node:events'
import type { EventEmitter } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'

interface RedNode {
  readonly receive: (msg: unknown) => void
}

interface RedRuntime {
  readonly init: (settings: object, server: object) => void
  readonly start: () => Promise<void>
  readonly httpAdmin: RequestListener & {
    readonly use: (
      handle: (req: IncomingMessage & { body?: unknown }, res: ServerResponse, next: () => void) => void,
    ) => void
  }
  readonly flows: { readonly setFlows: (options: object) => Promise<unknown> }
  readonly hooks: { readonly add: (name: string, hook: (event: HookEvent) => void) => void }
  readonly _: { readonly nodes: { readonly getNode: (id: string) => RedNode | undefined } }
}

interface HookEvent {
  readonly node?: { readonly node: { readonly id: string } }
  readonly source?: { readonly node: { readonly id: string } }
  readonly msg?: unknown
  readonly error?: unknown
}

interface Order {
  readonly flows?: readonly object[]
  readonly credentials?: object
  readonly input?: { readonly node: string; readonly msg: object }
  readonly hook?: object
}

// The runtime has no types, and is loaded as CommonJS.
const require = createRequire(import.meta.url)
const util = require('@node-red/util') as { readonly init: (settings: object) => void; readonly events: EventEmitter }
const runtime = require('@node-red/runtime') as RedRuntime

const userDir = process.argv[2] ?? ''
const coreNodesDir = join(userDir, 'core')
mkdirSync(join(coreNodesDir, 'examples'), { recursive: true })
const settings = {
  userDir,
  coreNodesDir,
  nodesDir: [join(dirname(require.resolve('node-red-contrib-homeseer/package.json')), 'homeseer')],
  externalModules: { autoInstall: false },
  flowFile: 'flows.json',
  credentialSecret: false,
  telemetry: { enabled: false },
  logging: { console: { level: 'warn' } },
}
util.init(settings)
const server = createServer()
runtime.init(settings, server)
// What the editor's own server would do for the web hook.
runtime.httpAdmin.use((request, _response, next) => {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    request.body = JSON.parse(Buffer.concat(pieces).toString()) as unknown
    next()
  })
})
server.on('request', runtime.httpAdmin)
server.listen(0, '127.0.0.1')
// The runtime loads the stored flows behind `start`, and with them credentials that would replace those of a deployment.
const started = once(util.events, 'flows:started')
await runtime.start()
await started

// Of several wires each is told; the tests use one.
runtime.hooks.add('onSend', (events) => {
  for (const { source, msg } of events as unknown as readonly HookEvent[])
    process.send?.({ sent: { node: source?.node.id, msg } })
})
runtime.hooks.add('onComplete', ({ node, error }) => {
  if (error !== undefined && error !== null)
    process.send?.({ failed: { node: node?.node.id, error: error instanceof Error ? error.message : error } })
})

process.on('message', (order: Order) => void obey(order))
process.send?.({ ready: true })

async function obey({ flows, credentials, input, hook }: Order): Promise<void> {
  if (flows !== undefined) {
    await runtime.flows.setFlows({ flows: { flows, credentials }, deploymentType: 'full' })
    process.send?.({ deployed: true })
  }
  if (input !== undefined) runtime._.nodes.getNode(input.node)?.receive(input.msg)
  if (hook !== undefined) {
    const { port } = server.address() as AddressInfo
    const answer = await fetch(`http://127.0.0.1:${port}/homeseer/webhook`, {
      method: 'POST',
      body: JSON.stringify(hook),
    })
    process.send?.({ hooked: answer.status })
  }
}
