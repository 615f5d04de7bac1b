/**
 * Consensus house: what people and nodes do in a round, through the API of real gateways, and what a stranger makes of
 * the exports.
 */
import { spawnSync } from 'node:child_process'
import { createPrivateKey } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { newUlid } from '../src/core/ids.ts'
import type { JsonObject } from '../src/core/json.ts'
import { encodeEnvelopeHeaders } from '../src/mesh/http/envelope-headers.ts'
import { deriveNodeIdentity } from '../src/mesh/identity/node-key.ts'
import type { NodeIdentity } from '../src/mesh/identity/node-key.ts'
import { formatMeshTime } from '../src/mesh/identity/mesh-time.ts'
import { computeBodyHash, toEnvelopeFields, formatCallTextToSign } from '../src/mesh/mesh-envelope.ts'
import { createSignatureProof } from '../src/mesh/message-proof.ts'
import { completeSessionFromAnswer, createSessionProposal } from '../src/mesh/sessions.ts'
import { call, cliIn, executions, until } from './mesh-house.ts'
import type { CallAnswer, MeshNode } from './mesh-house.ts'

const AUDITOR = fileURLToPath(new URL('../examples/auditor.py', import.meta.url))

export interface ProposedRound {
  readonly round_id: string
  readonly digest: string
  readonly need: number
  readonly voters: readonly string[]
  readonly status: string
  readonly log_index: number
}

/** The door of a node, with a number that tells calls apart. */
export async function proposeDoor(node: MeshNode, x: number, more: object): Promise<ProposedRound> {
  const tool = `test.door.${node.name}`
  const { structured } = await call(node, 'consensus_propose', { tool, arguments: { x }, ...more })
  if (structured.data === undefined) throw new Error(JSON.stringify(structured))
  return structured.data as unknown as ProposedRound
}

export async function openDoor(node: MeshNode, x: number): Promise<string> {
  return (await call(node, `test.door.${node.name}`, { x })).outcome
}

/** How often it was really opened with that number. */
export function openings(node: MeshNode, x: number): number {
  return executions(node).filter((line) => line === `opened {"x":${x}}`).length
}

export function castVote(
  node: MeshNode,
  { round_id, digest }: Pick<ProposedRound, 'round_id' | 'digest'>,
  token: string | undefined,
  said = 'yes',
): Promise<CallAnswer> {
  return call(node, 'consensus_vote', { round_id, digest, vote: said }, token === undefined ? {} : { token })
}

/** What a vote was refused with: the code before the colon of the message, or what was signed. */
export function voteResult({ structured }: CallAnswer): string {
  const { message } = structured.error ?? {}
  return typeof message === 'string' ? (message.split(':')[0] ?? '') : String(structured.data?.['level'])
}

export function ownerToken({ home }: MeshNode): string {
  return readFileSync(join(home.data, 'keys', 'owner.token'), 'utf8').trim()
}

export async function finality(node: MeshNode, { round_id }: Pick<ProposedRound, 'round_id'>): Promise<FinalityView> {
  const { structured } = await call(node, 'consensus_finality', { round_id })
  return (structured.data ?? { level: 'none', votes: [], evidence: {} }) as unknown as FinalityView
}

export interface FinalityView {
  readonly level: string
  readonly votes: readonly { readonly voter: string; readonly vote: string; readonly body: string }[]
  readonly evidence: {
    readonly state?: string
    readonly conflicts?: readonly { readonly voter: string; readonly votes: readonly unknown[] }[]
    readonly draw?: { readonly witnesses: readonly string[]; readonly cosigned_by: string | null } | null
  }
}

/** Votes as soon as the node has heard of the round by itself. */
export async function voteWhenHeard(node: MeshNode, round: ProposedRound, said = 'yes'): Promise<void> {
  await until(`${node.name} has heard of the round`, async () => {
    const result = voteResult(await castVote(node, round, ownerToken(node), said))
    return result !== 'ROUND_NOT_FOUND'
  })
}

export function makePerson(node: MeshNode, name: string): string {
  return String(cliIn(node.namespace, node.home, 'token', 'create', name, '--role', 'approver')['token'])
}

/** Everything that a stranger with Python alone says of what a node exports. */
export function auditExport(node: MeshNode): { readonly status: number | null; readonly text: string } {
  const folder = mkdtempSync(join(tmpdir(), 'hearthbus-consensus-'))
  try {
    const out = join(folder, 'export')
    cliIn(node.namespace, node.home, 'ledger', 'export', out, '--with-bodies')
    const vkey = String(cliIn(node.namespace, node.home, 'ledger', 'key')['vkey'])
    const args = [AUDITOR, out, '--vkey', vkey, '--rounds', '--draws']
    const { status, stdout, stderr } = spawnSync('python3', args, { encoding: 'utf8' })
    return { status, text: `${stdout}${stderr}` }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Entries of one kind, as the files of the log have them. */
export function entriesOfKind(node: MeshNode, kind: string): readonly JsonObject[] {
  const folder = mkdtempSync(join(tmpdir(), 'hearthbus-entries-'))
  try {
    cliIn(node.namespace, node.home, 'ledger', 'export', folder)
    const script = `import json,sys,pathlib
sys.path.insert(0, ${JSON.stringify(join(AUDITOR, '..'))})
import auditor
folder = pathlib.Path(${JSON.stringify(folder)})
size = int((folder / 'checkpoint').read_text().split('\\n')[1])
print(json.dumps([e for e in map(json.loads, auditor.entries_of(folder, size)) if e['kind'] == ${JSON.stringify(kind)}]))`
    const { stdout, stderr } = spawnSync('python3', ['-c', script], { encoding: 'utf8', maxBuffer: 64_000_000 })
    if (stderr !== '') throw new Error(stderr)
    return JSON.parse(stdout) as readonly JsonObject[]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export function identityOf({ home }: Pick<MeshNode, 'home'>): NodeIdentity {
  return deriveNodeIdentity(createPrivateKey(readFileSync(join(home.data, 'keys', 'node.key'))))
}

/** Gossip with the key of a member, whatever it says: over the wire, as any program could. */
export async function gossipAs(member: NodeIdentity, node: MeshNode, events: readonly object[]): Promise<void> {
  const community = String(cliIn(node.namespace, node.home, 'mesh', 'members')['community'])
  const { mesh } = (await node.say({ do: 'stats' })) as { mesh?: { port: number } }
  const send = async (capability: string, keyId: string | undefined, content: object): Promise<JsonObject> => {
    const body = JSON.stringify(content)
    const fields = toEnvelopeFields({
      capability,
      version: [1, 0],
      requestId: newUlid(),
      from: member.id,
      to: node.nodeId,
      community,
      timestamp: formatMeshTime(Date.now()),
      deadlineMs: 30_000,
      keyId,
      session: undefined,
      hops: 0,
      stream: false,
      schemaHash: undefined,
      traceparent: undefined,
    })
    const proof = createSignatureProof(formatCallTextToSign(fields, computeBodyHash(body)), member)
    return JSON.parse(await postMesh(mesh?.port ?? 0, encodeEnvelopeHeaders(fields, proof), body)) as JsonObject
  }
  const offer = createSessionProposal()
  const granted = await send('mesh.session', undefined, offer.body)
  const session = completeSessionFromAnswer(offer, granted['data'] as Parameters<typeof completeSessionFromAnswer>[1], {
    self: member.id,
    peer: node.nodeId,
    nowMs: 0,
  })
  await send('mesh.gossip', session?.id, { events })
}

function postMesh(port: number, headers: Readonly<Record<string, string>>, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        path: '/bus/v1/call',
        method: 'POST',
        // A node is known by its key, which is inside what it signs.
        rejectUnauthorized: false,
        headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
      },
      (response) => {
        let text = ''
        response.on('data', (chunk: Buffer) => (text += chunk.toString()))
        response.on('end', () => (response.statusCode === 200 ? resolve(text) : reject(new Error(text))))
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
