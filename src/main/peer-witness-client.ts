/**
 * Peer witness: nodes of one community cosign each other's checkpoints. Each remembers the last checkpoint it saw of
 * every other and cosigns only what extends it (C2SP tlog-witness, spoken through the mesh instead of a URL of its
 * own).
 *
 * What was cosigned is in this node's own log, too (cosigned-tree-memory.ts). A log is identified by its node's own key, which also
 * signs the manifest: nodes without a configured name give their logs the same name, so a name does not identify a log.
 */
import { systemClock } from '../core/clock.ts'
import { Database } from '../core/database-store.ts'
import type { Logger } from '../core/logger.ts'
import { verifyAndParseCheckpoint, parseDecimal } from '../ledger/checkpoint.ts'
import type { SignedCheckpoint } from '../ledger/checkpoint.ts'
import { formatLedgerFault } from '../ledger/ledger-state.ts'
import type { CosignedTreePin } from '../ledger/cosigned-tree-pin-store.ts'
import type { Ledger } from '../ledger/ledger.ts'
import {
  createCosigner,
  COSIGNATURE_NOTE_SIGNATURE_TYPE,
  ED25519_NOTE_SIGNATURE_TYPE,
  isKeyName,
  createNoteVerifier,
} from '../ledger/note-key.ts'
import { parseSignatures, verifyNote } from '../ledger/signed-note.ts'
import type { VerifiedSignature } from '../ledger/signed-note.ts'
import { CosignedCheckpointStore, witnessMigrations } from '../ledger/cosigned-checkpoint-store.ts'
import { formatAddCheckpointRequest } from '../ledger/witness.ts'
import type { WitnessService } from '../mesh/control-handler.ts'
import { stripNodeIdPrefix, decodeNodeId } from '../mesh/identity/node-key.ts'
import type { NodeIdentity } from '../mesh/identity/node-key.ts'
import type { Mesh } from '../mesh/mesh-server.ts'
import { formatNodeWitnessName } from './node-voter-identity.ts'
import { createCosignedTreeMemory } from './cosigned-tree-memory.ts'

export interface PeerWitnessDependencies {
  readonly path: string
  readonly identity: NodeIdentity
  readonly ledger: Ledger
  readonly mesh: Mesh
  /** Outside of the data directory; absent where nothing is kept there. */
  readonly pin?: CosignedTreePin | undefined
  readonly logger: Logger
}

export interface PeerWitnessExchange {
  readonly service: WitnessService
  readonly cosign: () => Promise<void>
  /** Records what was cosigned, and closes. */
  readonly stop: () => Promise<void>
}

/** The time-out for one request to one node. A second request corrects the assumed size; a third is for a race. */
const REQUEST_MS = 10_000
const TRIES = 3
/**
 * A log is continued under another name now and then (ADR 95); names are chosen by the member, so their number is
 * bounded.
 */
const MAX_LOGS_PER_NODE = 8

export function startPeerCosigning(parts: PeerWitnessDependencies): PeerWitnessExchange {
  const { identity, ledger, mesh } = parts
  const database = new Database({ path: parts.path, migrations: [witnessMigrations], isWhole: true })
  const signer = createCosigner(formatNodeWitnessName(identity.id), identity.privateKey, systemClock.now)
  const memory = createCosignedTreeMemory(ledger, systemClock, parts.pin)
  const rolledBack = new Set<string>()
  const onRollback = (log: string): void => {
    if (rolledBack.has(log)) return
    rolledBack.add(log)
    parts.logger.error({ log, path: parts.path }, 'what this node stored of a log that it cosigns was set back')
  }
  const namesOf = new Map<string, Set<string>>()
  // The log of a node, as its manifest describes it, identified by the key that signed the manifest.
  const logOf = (peer: string): { readonly origin: string; readonly store: CosignedCheckpointStore } | undefined => {
    const origin = mesh.peers.find(({ nodeId }) => nodeId === peer)?.manifest.ledgerOrigin
    const publicKey = decodeNodeId(peer)
    // A plus sign or a blank in a name would break the line of the key in a signed note.
    if (origin === undefined || publicKey === undefined || !isKeyName(origin)) return undefined
    const names = namesOf.get(peer) ?? new Set()
    if (!names.has(origin) && names.size >= MAX_LOGS_PER_NODE) return undefined
    namesOf.set(peer, names.add(origin))
    const logs = new Map([[origin, [createNoteVerifier(origin, ED25519_NOTE_SIGNATURE_TYPE, publicKey)]]])
    const owner = stripNodeIdPrefix(peer)
    return { origin, store: new CosignedCheckpointStore({ database, signer, logs, owner, memory, onRollback }) }
  }
  // Per node, the size that it cosigned last. This is only an assumption, which the node's 409 answer corrects.
  const remembered = new Map<string, number>()
  const disagreeing = new Set<string>()
  return {
    service: {
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
      if (ledger.state().kind !== 'refusing') await memory.record()
      const signed = ledger.latestCheckpoint()
      // While the ledger refuses, it does not show what it signed.
      if (signed === undefined || ledger.state().kind === 'refusing') return
      const { size } = signed.checkpoint
      // Nodes that were away, or joined later, are asked again; nodes that cosigned this checkpoint are not.
      const peers = mesh.peers.filter(({ isOnBus, nodeId }) => isOnBus && remembered.get(nodeId) !== size)
      const answers = await Promise.all(
        peers.map(({ nodeId }) => requestCosignature(parts, { nodeId, signed, remembered, disagreeing })),
      )
      const cosignatures = answers.filter((answer) => answer !== undefined)
      if (cosignatures.length > 0) await ledger.addCosignatures(signed, cosignatures)
    },
    stop: async () => {
      try {
        if (ledger.state().kind !== 'refusing') await memory.record('all')
      } finally {
        database.close()
      }
    },
  }
}

interface CosignatureRequest {
  readonly nodeId: string
  readonly signed: SignedCheckpoint
  /** Per node, the size that it cosigned last. */
  readonly remembered: Map<string, number>
  /** Nodes whose disagreement was logged. */
  readonly disagreeing: Set<string>
}

/** Starts from the size that the node is assumed to remember; the node answers if it is another. */
async function requestCosignature(
  parts: PeerWitnessDependencies,
  { nodeId, signed, remembered, disagreeing }: CosignatureRequest,
): Promise<VerifiedSignature | undefined> {
  const { ledger, mesh } = parts
  const { size } = signed.checkpoint
  for (let tries = 0; tries < TRIES; tries++) {
    const from = remembered.get(nodeId) ?? 0
    const proof = from <= size ? ledger.consistency(from, size) : undefined
    if (proof?.ok !== true) break
    const body = formatAddCheckpointRequest({ oldSize: from, proof: proof.value.path, signed })
    const answer = await mesh.request(nodeId, 'mesh.witness', { body }, REQUEST_MS)
    if (!answer.ok) return undefined
    const { status, text } = answer.value
    if (status === 200 && typeof text === 'string') {
      remembered.set(nodeId, size)
      disagreeing.delete(nodeId)
      return cosignatureIn(text, nodeId, signed)
    }
    const other = status === 409 && typeof text === 'string' ? parseDecimal(text.slice(0, -1)) : undefined
    if (other === undefined) {
      // 422 means that the proof does not lead from the node's tree to ours. Any other status is about the request, not
      // about the log.
      if (status !== 422) return undefined
      break
    }
    remembered.set(nodeId, other)
  }
  remembered.delete(nodeId)
  const isFork = await checkForFork(parts, nodeId)
  // Logged once for each node: it is asked every few seconds, and its answer will not change.
  if (!disagreeing.has(nodeId)) logDisagreement(parts, nodeId, isFork)
  disagreeing.add(nodeId)
  return undefined
}

/**
 * The node remembers another tree of this log. If it can show our own signature under that tree, the ledger must refuse
 * from now on.
 */
async function checkForFork({ ledger, mesh }: PeerWitnessDependencies, nodeId: string): Promise<boolean> {
  const answer = await mesh.request(nodeId, 'mesh.checkpoint', {}, REQUEST_MS)
  const text = answer.ok ? answer.value['text'] : undefined
  const evidence = typeof text === 'string' ? verifyAndParseCheckpoint(text, ledger.verifierKey) : undefined
  return evidence?.ok === true && (await ledger.compareWithCheckpoint(evidence.value)) !== undefined
}

function logDisagreement({ ledger, logger }: PeerWitnessDependencies, nodeId: string, isFork: boolean): void {
  const state = ledger.state()
  const why = state.kind === 'refusing' ? `: ${formatLedgerFault(state.fault)}` : ''
  logger.error({ node: nodeId, isFork }, `another node remembers a different ledger of this node${why}`)
}

function cosignatureIn(text: string, nodeId: string, signed: SignedCheckpoint): VerifiedSignature | undefined {
  const publicKey = decodeNodeId(nodeId)
  const signatures = parseSignatures(text)
  if (publicKey === undefined || !signatures.ok) return undefined
  const key = createNoteVerifier(formatNodeWitnessName(nodeId), COSIGNATURE_NOTE_SIGNATURE_TYPE, publicKey)
  const verified = verifyNote({ text: signed.note.text, signatures: signatures.value }, [key])
  return verified.ok ? verified.value[0] : undefined
}
