/**
 * Finality state: how a quorum becomes final. Which witness has to cosign it is drawn; nobody chooses.
 *
 *   QUORUM ─consensus.drawn─▶ an order of the witnesses ─the first of them cosigns─▶ HARD ─dispute window─▶ ABSOLUTE
 *                                        └─ an hour later: the next of them counts as well
 *
 * Whether the proof of a draw holds is looked at when the log is verified (ledger/random-draw-state.ts): that takes
 * some milliseconds each, and a start must not wait for all of them.
 *
 * Pure, but for the state that it is given.
 */
import { fromHex, toBase64url } from '../core/bytes.ts'
import { parseCheckpoint } from '../ledger/checkpoint.ts'
import { computeDrawnOrder } from '../ledger/random-draw.ts'
import { computeVrfOutput } from '../ledger/ecvrf.ts'
import type { LedgerEntry } from '../ledger/entry.ts'
import { readEntryNumberField, readEntryTextField, readEntryTime } from '../ledger/entry.ts'
import { COSIGNATURE_NOTE_SIGNATURE_TYPE, parseVerifierKey } from '../ledger/note-key.ts'
import { parseNote, verifyNote } from '../ledger/signed-note.ts'
import type { EntryHandler } from '../ledger/projection.ts'
import type { GuardState } from './guard-state.ts'
import { FINALITY_LEVELS } from './quorum-round-terms.ts'
import type { QuorumRoundRecord } from './quorum-round-terms.ts'

/** For this long, only the witnesses before one in the drawn order may cosign; then that one may as well. */
const WITNESS_TURN_MS = 3_600_000

export const finalityEntryHandlers: Readonly<Record<string, EntryHandler<GuardState>>> = {
  'consensus.drawn': (state, entry) => {
    const round = state.rounds.get(readEntryTextField(entry, 'approval') ?? '')
    const proof = readEntryTextField(entry, 'proof')
    if (round === undefined) return 'there is no such round'
    if (round.level !== 'QUORUM' || round.draw !== undefined) return 'there is nothing to draw for this round'
    if (round.witnesses.length === 0) return 'the round named no witnesses'
    if (readEntryNumberField(entry, 'number') !== state.approvals.get(round.id)?.askedSeq)
      return 'its number is not that of the round'
    const beta = readDrawOutput(proof)
    if (proof === undefined || beta === undefined) return 'its proof cannot be read'
    const order = computeDrawnOrder(beta, round.witnesses)
    if (readEntryTextField(entry, 'witness') !== order[0]) return 'it names another witness than was drawn'
    state.rounds.set(round.id, { ...round, draw: { proof, order, seq: entry.seq } })
    return undefined
  },

  'consensus.final': (state, entry) => {
    const round = state.rounds.get(readEntryTextField(entry, 'approval') ?? '')
    const level = FINALITY_LEVELS.find((each) => each === readEntryTextField(entry, 'level'))
    if (round === undefined) return 'there is no such round'
    const atMs = readEntryTime(entry)
    if (level === 'HARD') {
      if (round.level !== 'QUORUM' || round.quorumSeq === undefined) return `the round is ${round.level}`
      if ((readEntryNumberField(entry, 'size') ?? 0) <= round.quorumSeq)
        return 'that checkpoint does not cover the quorum'
      const flaw = round.witnesses.length === 0 ? undefined : explainCosignatureFlaw(state, round, entry)
      if (flaw !== undefined) return flaw
      state.rounds.set(round.id, { ...round, level, hardAtMs: atMs, hardWitness: readEntryTextField(entry, 'witness') })
      return undefined
    }
    if (level !== 'ABSOLUTE') return 'there is no such level'
    const windowMs = readEntryNumberField(entry, 'window_ms')
    if (round.level !== 'HARD' || round.hardAtMs === undefined || windowMs === undefined)
      return `the round is ${round.level}`
    if (round.conflicts.length > 0) return 'there is a conflict in the round'
    if (atMs - round.hardAtMs < windowMs) return 'the dispute window was open'
    state.rounds.set(round.id, { ...round, level })
    return undefined
  },
}

/** The witnesses whose cosignature counts at a time: the first of the drawn order, and one more with every hour. */
export function listEligibleWitnesses(state: GuardState, round: QuorumRoundRecord, atMs: number): readonly string[] {
  const waitedMs = atMs - (round.quorumAtMs ?? atMs)
  const living = (round.draw?.order ?? []).filter((witness) => !isRevokedWitness(state, witness))
  return living.slice(0, 1 + Math.max(0, Math.floor(waitedMs / WITNESS_TURN_MS)))
}

function explainCosignatureFlaw(state: GuardState, round: QuorumRoundRecord, entry: LedgerEntry): string | undefined {
  const [witness, text] = [readEntryTextField(entry, 'witness'), readEntryTextField(entry, 'note')]
  if (round.draw === undefined) return 'no witness was drawn for the round'
  if (witness === undefined || text === undefined) return 'it lacks the cosigned checkpoint'
  if (!listEligibleWitnesses(state, round, readEntryTime(entry)).includes(witness))
    return 'it was not the turn of that witness'
  const [key, note] = [parseVerifierKey(witness), parseNote(text)]
  if (!key.ok || key.value.type !== COSIGNATURE_NOTE_SIGNATURE_TYPE || !note.ok) return 'its checkpoint cannot be read'
  const checkpoint = parseCheckpoint(note.value.text)
  if (!checkpoint.ok || checkpoint.value.size !== readEntryNumberField(entry, 'size'))
    return 'its checkpoint is of another size'
  return verifyNote(note.value, [key.value]).ok ? undefined : 'the witness did not cosign it'
}

/** Other nodes cosign with the keys that are their node ids, so revoking a node revokes the witness. */
function isRevokedWitness({ revokedNodes }: GuardState, witness: string): boolean {
  const key = parseVerifierKey(witness)
  return key.ok && revokedNodes.has(`ed25519:${toBase64url(key.value.publicKey)}`)
}

function readDrawOutput(proof: string | undefined): Uint8Array | undefined {
  if (proof === undefined || !/^[0-9a-f]{160}$/.test(proof)) return undefined
  try {
    return computeVrfOutput(fromHex(proof))
  } catch {
    return undefined
  }
}
