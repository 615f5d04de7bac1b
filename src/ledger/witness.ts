/**
 * Witness: whether to cosign a log's new checkpoint, C2SP tlog-witness. A witness remembers the last checkpoint it
 * cosigned for each log and cosigns only what extends it.
 *
 *   old 20852014           the size that the client believes the witness remembers
 *   PlRNCrwHpqhG…          consistency proof, 0 to 63 lines
 *                          empty line
 *   example.com/log …      the signed checkpoint
 *
 * The decision comes in two parts: what the request alone decides, and what depends on the remembered state and must
 * happen in one step with storing the new one. Otherwise two requests could pass against the same old state, and the
 * smaller be remembered last.
 */
import { toBase64, areBytesEqual, fromBase64, toHex, toUtf8 } from '../core/bytes.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { formatSignedCheckpoint, formatDecimal, parseCheckpoint, parseDecimal } from './checkpoint.ts'
import type { Checkpoint, SignedCheckpoint } from './checkpoint.ts'
import { parseNote, verifyNote } from './signed-note.ts'
import type { NoteVerifier } from './note-key.ts'
import { EMPTY_TREE_ROOT, HASH_BYTES, computeSha256, verifyConsistency } from './tree.ts'

/** C2SP tlog-witness: a tree of 2^64 leaves needs no more lines. */
const MAX_PROOF_LINES = 63
export const TREE_SIZE_CONTENT_TYPE = 'text/x.tlog.size'

export interface AddCheckpointRequest {
  readonly oldSize: number
  readonly proof: readonly Uint8Array[]
  readonly signed: SignedCheckpoint
}

/** The logs a witness serves: the keys it trusts for each origin. */
export type LogKeysByOrigin = ReadonlyMap<string, readonly NoteVerifier[]>

export type WitnessRefusal =
  | { readonly status: 400; readonly reason: string }
  | { readonly status: 403; readonly reason: string }
  | { readonly status: 404; readonly reason: string }
  /** The client is to try again from `size`. */
  | { readonly status: 409; readonly size: number }
  | { readonly status: 422; readonly reason: string }

export function formatAddCheckpointRequest({ oldSize, proof, signed }: AddCheckpointRequest): string {
  return `old ${formatDecimal(oldSize)}\n${proof.map((hash) => `${toBase64(hash)}\n`).join('')}\n${formatSignedCheckpoint(signed)}`
}

/** Parses a request and decides what does not depend on the remembered state. */
export function parseAddCheckpointRequest(
  body: string,
  logs: LogKeysByOrigin,
): Result<AddCheckpointRequest, WitnessRefusal> {
  const divide = body.indexOf('\n\n')
  if (divide < 0) return refuse(400, 'no empty line divides proof and checkpoint')
  const [oldLine, ...lines] = body.slice(0, divide).split('\n')
  const oldSize = oldLine?.startsWith('old ') === true ? parseDecimal(oldLine.slice('old '.length)) : undefined
  if (oldSize === undefined) return refuse(400, 'the first line is not: old <size>')
  if (lines.length > MAX_PROOF_LINES) return refuse(400, `the proof has more than ${MAX_PROOF_LINES} lines`)
  const proof = lines.map(fromBase64).filter((hash) => hash?.length === HASH_BYTES) as Uint8Array[]
  if (proof.length !== lines.length) return refuse(400, 'a line of the proof is not a hash')

  const note = parseNote(body.slice(divide + 2))
  const checkpoint = note.ok ? parseCheckpoint(note.value.text) : note
  if (!note.ok || !checkpoint.ok) return refuse(400, 'the checkpoint cannot be read')
  const keys = logs.get(checkpoint.value.origin)
  if (keys === undefined) return refuse(404, 'this witness does not serve that log')
  const trusted = verifyNote(note.value, keys)
  if (!trusted.ok) return refuse(403, 'no trusted key signed the checkpoint')
  if (oldSize > checkpoint.value.size) return refuse(400, 'the old size is larger than the new one')
  // Anybody may add lines to a signed checkpoint. Signatures of unknown keys are neither stored nor shown to monitors.
  const signatures = trusted.value.map(({ signature }) => signature)
  return ok({ oldSize, proof, signed: { checkpoint: checkpoint.value, note: { text: note.value.text, signatures } } })
}

/** Decides against the last checkpoint cosigned for this log; `undefined` means to cosign and remember this one. */
export function checkAgainstKnownCheckpoint(
  { oldSize, proof, signed }: AddCheckpointRequest,
  remembered: Pick<Checkpoint, 'size' | 'root'> | undefined,
): WitnessRefusal | undefined {
  const { size, root } = signed.checkpoint
  const [fromSize, fromRoot] = [remembered?.size ?? 0, remembered?.root ?? EMPTY_TREE_ROOT]
  if (oldSize !== fromSize) return { status: 409, size: fromSize }
  if (size === 0 && !areBytesEqual(root, EMPTY_TREE_ROOT))
    return { status: 422, reason: 'that is not the root of no entries' }
  const consistent = verifyConsistency({ from: oldSize, to: size, fromRoot, toRoot: root, path: proof })
  return consistent ? undefined : { status: 422, reason: 'the checkpoint is not proven to extend the last one' }
}

/** The path under which a monitor finds the last checkpoint that was cosigned for a log. */
export function formatCosignedCheckpointPath(origin: string): string {
  return `/${toHex(computeSha256(toUtf8(origin)))}/checkpoint`
}

function refuse(status: 400 | 403 | 404, reason: string): { readonly ok: false; readonly fault: WitnessRefusal } {
  return fail({ status, reason })
}
