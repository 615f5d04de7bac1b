/** Mesh: commands with which nodes become a community, and stop being one. */
import { Option } from 'commander'
import type { Command } from 'commander'
import { explainInaccessibleDataRoot } from '../main/data-directory-check-store.ts'
import type { StatusView } from '../web/api-requests.ts'
import { readCommandConfig, readDataRoot, readGlobalOptions, printAnswer } from './command-client.ts'
import { findRunningGateway, requestGateway } from './gateway-client.ts'
import type * as meshClient from './mesh-client.ts'
import { EXIT_CODES } from './command-output.ts'
import type { CommandAnswer } from './command-output.ts'
import { createWholeNumberParser } from './whole-number.ts'

type MeshWork = typeof meshClient

/** Spec 2's trust levels for another node; `self` is only for this node. */
const LEVELS = ['member', 'trusted', 'anchor'] as const

export function addMeshCommands(program: Command): void {
  const mesh = program.command('mesh').description('other nodes, and the community that they form')
  mesh
    .command('init')
    .description('found a community; this node is its first anchor')
    .option('--name <name>', 'what it is called', 'home')
    .action((options: { name: string }, command: Command) =>
      run(command, (work, given) => work.createOwnCommunity(given, options.name)),
    )
  mesh
    .command('invite')
    .description('make an invitation for one node')
    .addOption(new Option('--level <level>', 'what the node will be').choices(LEVELS).default('member'))
    .option('--minutes <n>', 'how long it is good for', createWholeNumberParser(1, 43_200), 60)
    .action((options: { level: (typeof LEVELS)[number]; minutes: number }, command: Command) =>
      run(command, (work, given) => work.inviteNode(given, options)),
    )
  mesh
    .command('join <invitation>')
    .description('enter a community')
    .action((text: string, _, command: Command) => run(command, (work, given) => work.joinCommunity(given, text)))
  mesh
    .command('members')
    .description('who belongs to the community, and who no longer does')
    .action((_, command: Command) => run(command, (work, given) => work.listMembers(given)))
  mesh
    .command('offers [node]')
    .description('what other nodes offer that is withheld here, because it is not what was first seen')
    .action((node: string | undefined, _, command: Command) =>
      run(command, async (_work, given) =>
        (await import('./mesh-offers-client.ts')).listWithheldPeerCapabilities(given, node),
      ),
    )
  mesh
    .command('accept <node>')
    .description('take what is withheld of a node as it is described now')
    .option('--digest <digest>', 'only if it is still what hearthbus mesh offers showed')
    .action((node: string, options: { digest?: string }, command: Command) =>
      run(command, async (_work, given) =>
        (await import('./mesh-offers-client.ts')).acceptWithheldPeerCapabilities(given, node, options),
      ),
    )
  mesh
    .command('nkey')
    .description('this node’s key as a NATS server wants to have it')
    .action((_, command: Command) => run(command, (work, given) => work.showNatsKey(given)))
  mesh
    .command('leave')
    .description('belong to no community any more; the node keeps its key, its ledger and everything about this house')
    .option('--abandon', 'also where this node founded it and others are in it; the root key is put aside')
    .action(({ abandon = false }: { abandon?: boolean }, command: Command) =>
      run(command, async (_, given) => (await import('./mesh-leaving-client.ts')).leaveCommunity(given, { abandon })),
    )
  mesh
    .command('revoke <node>')
    .description('refuse a node from now on; its name, its id or its short id')
    .action((node: string, _, command: Command) => run(command, (work, given) => work.revokeNode(given, node)))
}

async function run(
  command: Command,
  request: (work: MeshWork, given: meshClient.MeshCommandContext) => Promise<CommandAnswer>,
): Promise<void> {
  const config = readCommandConfig(command)
  if (config === undefined) return
  const work = await import('./mesh-client.ts')
  // The demo has a directory of its own; while it runs, commands are about the demo.
  const running = findRunningGateway(readGlobalOptions(command))
  const dataRoot = running.ok ? running.value.dataRoot : readDataRoot(command)
  const closed = explainInaccessibleDataRoot(dataRoot)
  if (closed !== undefined)
    return printAnswer(command, { json: { ok: false, message: closed }, text: closed, exit: EXIT_CODES.integrity })
  // It may have been started with another configuration than this command was given.
  const status = running.ok ? await requestGateway(running.value, { path: '/api/status' }) : undefined
  const name = status?.ok === true ? (status.value as unknown as StatusView).node : config.node.name
  printAnswer(command, await request(work, { config, dataRoot, name }))
}
