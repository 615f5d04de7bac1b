/**
 * Peer witness: nodes of one community vouch for each other's ledgers. Each remembers the last checkpoint it saw of
 * every other and cosigns only what extends it (C2SP tlog-witness, spoken through the mesh instead of a URL of its
 * own).
 *
 * A log is known by its node's own key, which the manifest is signed with: nodes that nobody gave a name of their own
 * all call their logs the same, and each is remembered by itself.
 */
import { systemClock } from '../core/clock.ts'
import { Database } from '../core/database-store.ts'
import type { Logger } from '../core/logger.ts'
import { openCheckpoint, parseDecimal } from '../ledger/checkpoint.ts'
import type { SignedCheckpoint } from '../ledger/checkpoint.ts'
import { ledgerFaultSentence } from '../ledger/fork.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { createCosigner, COSIGNATURE_TYPE, ED25519_SIGNATURE_TYPE, isKeyName, verifierKey } from '../ledger/note-key.ts'
import { parseSignatures, verifyNote } from '../ledger/note.ts'
import type { VerifiedSignature } from '../ledger/note.ts'
import { WitnessStore, witnessMigrations } from '../ledger/witness-store.ts'
import { formatAddCheckpoint } from '../ledger/witness.ts'
import type { WitnessService } from '../mesh/control-handler.ts'
import { stripNodeIdPrefix, decodeNodeId } from '../mesh/identity/node-key.ts'
import type { NodeIdentity } from '../mesh/identity/node-key.ts'
import type { Mesh } from '../mesh/mesh-server.ts'

export interface PeerWitnessParts {
  readonly path: string
  readonly identity: NodeIdentity
  readonly ledger: Ledger
  readonly mesh: Mesh
  readonly logger: Logger
}

export interface PeerWitness {
  readonly desk: WitnessService
  readonly cosign: () => Promise<void>
  readonly close: () => void
}

/** For one question to one node; a second try corrects what we believed of it, a third is for a race. */
const ASK_MS = 10_000
const TRIES = 3
/**
 * A log goes on under another name now and then (ADR 95); names are whatever a member says, so there has to be an end.
 */
const MAX_LOGS_PER_NODE = 8

export function openPeerWitness(parts: PeerWitnessParts): PeerWitness {
  const { identity, ledger, mesh } = parts
  const database = new Database({ path: parts.path, migrations: [witnessMigrations] })
  const signer = createCosigner(witnessName(identity.id), identity.privateKey, systemClock.now)
  const namesOf = new Map<string, Set<string>>()
  // A node's log is known from its manifest, by the key that this is signed with.
  const logOf = (peer: string): { readonly origin: string; readonly store: WitnessStore } | undefined => {
    const origin = mesh.peers.find(({ nodeId }) => nodeId === peer)?.manifest.ledgerOrigin
    const publicKey = decodeNodeId(peer)
    // A plus sign or a blank in a name would end the key's line in a signed note.
    if (origin === undefined || publicKey === undefined || !isKeyName(origin)) return undefined
    const names = namesOf.get(peer) ?? new Set()
    if (!names.has(origin) && names.size >= MAX_LOGS_PER_NODE) return undefined
    namesOf.set(peer, names.add(origin))
    const logs = new Map([[origin, [verifierKey(origin, ED25519_SIGNATURE_TYPE, publicKey)]]])
    return { origin, store: new WitnessStore({ database, signer, logs, owner: stripNodeIdPrefix(peer) }) }
  }
  // Per node, the size it cosigned last: only a guess, which its 409 corrects.
  const remembered = new Map<string, number>()
  const disagreeing = new Set<string>()
  return {
    desk: {
      addCheckpoint: async (peer, body) => {
        const log = logOf(peer)
        if (log === undefined) return { status: 404, text: 'this node does not know that log' }
        const added = await log.store.addCheckpoint(body)
        if (added.ok) return { status: 200, text: added.value }
        const { fault } = added
        // C2SP tlog-witness: a conflict answers with the size that is remembered.
        return { status: fault.status, text: fault.status === 409 ? `${fault.size}\n` : fault.reason }
      },
      latest: (peer) => {
        const log = logOf(peer)
        return log?.store.latest(log.origin)
      },
    },
    cosign: async () => {
      const signed = ledger.latestCheckpoint()
      // What a ledger signed that refuses is not its own to show.
      if (signed === undefined || ledger.state().kind === 'refusing') return
      const { size } = signed.checkpoint
      // Whoever was away, or came later, is asked again; whoever signed this one is left in peace.
      const peers = mesh.peers.filter(({ isOnBus, nodeId }) => isOnBus && remembered.get(nodeId) !== size)
      const answers = await Promise.all(
        peers.map(({ nodeId }) => askOne(parts, { nodeId, signed, remembered, disagreeing })),
      )
      const cosignatures = answers.filter((answer) => answer !== undefined)
      if (cosignatures.length > 0) await ledger.addCosignatures(signed, cosignatures)
    },
    close: () => database.close(),
  }
}

interface Asked {
  readonly nodeId: string
  readonly signed: SignedCheckpoint
  /** Per node, the size that it cosigned last. */
  readonly remembered: Map<string, number>
  /** Nodes of which the log has said so. */
  readonly disagreeing: Set<string>
}

/** From the size that we believe it remembers; it says if it is another. */
async function askOne(
  parts: PeerWitnessParts,
  { nodeId, signed, remembered, disagreeing }: Asked,
): Promise<VerifiedSignature | undefined> {
  const { ledger, mesh } = parts
  const { size } = signed.checkpoint
  for (let tries = 0; tries < TRIES; tries++) {
    const from = remembered.get(nodeId) ?? 0
    const proof = from <= size ? ledger.consistency(from, size) : undefined
    if (proof?.ok !== true) break
    const body = formatAddCheckpoint({ oldSize: from, proof: proof.value.path, signed })
    const answer = await mesh.ask(nodeId, 'mesh.witness', { body }, ASK_MS)
    if (!answer.ok) return undefined
    const { status, text } = answer.value
    if (status === 200 && typeof text === 'string') {
      remembered.set(nodeId, size)
      disagreeing.delete(nodeId)
      return cosignatureIn(text, nodeId, signed)
    }
    const other = status === 409 && typeof text === 'string' ? parseDecimal(text.slice(0, -1)) : undefined
    if (other === undefined) {
      // 422: our proof does not lead from its tree to ours. Anything else is about the request, not about the log.
      if (status !== 422) return undefined
      break
    }
    remembered.set(nodeId, other)
  }
  remembered.delete(nodeId)
  const isFork = await confront(parts, nodeId)
  // Once for each node: it is asked every few seconds, and will not change its mind.
  if (!disagreeing.has(nodeId)) tell(parts, nodeId, isFork)
  disagreeing.add(nodeId)
  return undefined
}

/**
 * It remembers another tree than ours: if it can show our own signature under it, the ledger must refuse from now on.
 */
async function confront({ ledger, mesh }: PeerWitnessParts, nodeId: string): Promise<boolean> {
  const shown = await mesh.ask(nodeId, 'mesh.checkpoint', {}, ASK_MS)
  const text = shown.ok ? shown.value['text'] : undefined
  const evidence = typeof text === 'string' ? openCheckpoint(text, ledger.verifierKey) : undefined
  return evidence?.ok === true && (await ledger.confront(evidence.value)) !== undefined
}

function tell({ ledger, logger }: PeerWitnessParts, nodeId: string, isFork: boolean): void {
  const state = ledger.state()
  const why = state.kind === 'refusing' ? `: ${ledgerFaultSentence(state.fault)}` : ''
  logger.error({ node: nodeId, isFork }, `another node remembers another ledger of ours${why}`)
}

function cosignatureIn(text: string, nodeId: string, signed: SignedCheckpoint): VerifiedSignature | undefined {
  const publicKey = decodeNodeId(nodeId)
  const signatures = parseSignatures(text)
  if (publicKey === undefined || !signatures.ok) return undefined
  const key = verifierKey(witnessName(nodeId), COSIGNATURE_TYPE, publicKey)
  const verified = verifyNote({ text: signed.note.text, signatures: signatures.value }, [key])
  return verified.ok ? verified.value[0] : undefined
}

function witnessName(nodeId: string): string {
  return `hearthbus.local/witness/${stripNodeIdPrefix(nodeId)}`
}
