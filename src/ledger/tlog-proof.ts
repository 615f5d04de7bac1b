/**
 * Tlog proof: one text that shows an entry to be in a log, checked without network or database, C2SP tlog-proof.
 *
 *   c2sp.org/tlog-proof@v1
 *   extra YWdl…                 opaque, vouched for by nobody; optional
 *   index 73894
 *   gSKyXoYZ…                   the path, from the leaf's sibling up
 *                               empty line
 *   example.com/fancylog        the checkpoint as it was signed and cosigned
 *   …
 */
import { toBase64, fromBase64 } from '../core/bytes.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { formatSignedCheckpoint, formatDecimal, verifyAndParseCheckpoint, parseDecimal } from './checkpoint.ts'
import type { CheckpointFault, SignedCheckpoint } from './checkpoint.ts'
import { MAX_NOTE_BYTES, verifyNote } from './signed-note.ts'
import type { VerifiedSignature } from './signed-note.ts'
import { isPolicySatisfied } from './tlog-policy.ts'
import type { WitnessPolicy } from './tlog-policy.ts'
import { HASH_BYTES, computeLeafHash, verifyInclusion } from './tree.ts'

const FIRST_LINE = 'c2sp.org/tlog-proof@v1'
/** A tree of 2^63 leaves has paths of 63 hashes. */
const MAX_PATH = 63
/** A note, and the opening of the largest body in base64. */
const MAX_PROOF_BYTES = MAX_NOTE_BYTES * 2 + 16_777_216

export interface TlogProof {
  readonly extra: Uint8Array | undefined
  readonly index: number
  readonly path: readonly Uint8Array[]
  /** The checkpoint, verbatim. */
  readonly checkpoint: string
}

export type TlogProofFault =
  | { readonly kind: 'malformed-proof'; readonly reason: string }
  | { readonly kind: 'untrusted-checkpoint'; readonly faults: readonly CheckpointFault[] }
  | { readonly kind: 'quorum-not-met'; readonly cosigned: readonly string[] }
  | { readonly kind: 'not-included' }

export interface VerifiedTlogProof {
  readonly checkpoint: SignedCheckpoint
  readonly cosignatures: readonly VerifiedSignature[]
}

export function formatTlogProof({ extra, index, path, checkpoint }: TlogProof): string {
  const extraLine = extra === undefined ? '' : `extra ${toBase64(extra)}\n`
  return `${FIRST_LINE}\n${extraLine}index ${formatDecimal(index)}\n${path.map((hash) => `${toBase64(hash)}\n`).join('')}\n${checkpoint}`
}

export function createTlogProof(index: number, path: readonly Uint8Array[], signed: SignedCheckpoint): TlogProof {
  return { extra: undefined, index, path, checkpoint: formatSignedCheckpoint(signed) }
}

export function parseTlogProof(text: string): Result<TlogProof, TlogProofFault> {
  if (text.length > MAX_PROOF_BYTES) return malformed('it is too long')
  const divide = text.indexOf('\n\n')
  if (divide < 0) return malformed('no empty line divides proof and checkpoint')
  const [first, ...lines] = text.slice(0, divide).split('\n')
  if (first !== FIRST_LINE) return malformed(`it does not begin with ${FIRST_LINE}`)

  let extra: Uint8Array | undefined
  if (lines[0]?.startsWith('extra ') === true) {
    extra = fromBase64(lines.shift()?.slice('extra '.length) ?? '')
    if (extra === undefined) return malformed('its extra data is not base64')
  }
  const indexLine = lines.shift()
  const index = indexLine?.startsWith('index ') === true ? parseDecimal(indexLine.slice('index '.length)) : undefined
  if (index === undefined) return malformed('its index line cannot be read')
  if (lines.length > MAX_PATH) return malformed(`its path is longer than ${MAX_PATH}`)
  const path = lines.map(fromBase64)
  if (!path.every((hash) => hash?.length === HASH_BYTES)) return malformed('a line of its path is not a hash')
  return ok({ extra, index, path: path as Uint8Array[], checkpoint: text.slice(divide + 2) })
}

/** Checks in the order that the specification gives: leaf, log signature and origin, quorum, inclusion. */
export function verifyTlogProof(
  text: string,
  entry: Uint8Array,
  policy: WitnessPolicy,
): Result<VerifiedTlogProof, TlogProofFault> {
  const proof = parseTlogProof(text)
  if (!proof.ok) return proof
  const { index, path, checkpoint } = proof.value
  const leaf = computeLeafHash(entry)

  const faults: CheckpointFault[] = []
  for (const { key } of policy.logs) {
    const opened = verifyAndParseCheckpoint(checkpoint, key)
    if (!opened.ok) {
      faults.push(opened.fault)
      continue
    }
    const signed = opened.value
    const cosigned = verifyNote(
      signed.note,
      policy.witnesses.map((witness) => witness.key),
    )
    if (!cosigned.ok && cosigned.fault.kind === 'bad-signature')
      return fail({ kind: 'untrusted-checkpoint', faults: [cosigned.fault] })
    const cosignatures = cosigned.ok ? cosigned.value : []
    const names = policy.witnesses
      .filter((witness) => cosignatures.some((cosignature) => cosignature.key === witness.key))
      .map(({ name }) => name)
    if (!isPolicySatisfied(policy, names)) return fail({ kind: 'quorum-not-met', cosigned: names })
    const { size, root } = signed.checkpoint
    if (!verifyInclusion({ leaf, index, size, path, root })) return fail({ kind: 'not-included' })
    return ok({ checkpoint: signed, cosignatures })
  }
  return fail({ kind: 'untrusted-checkpoint', faults })
}

function malformed(reason: string): { readonly ok: false; readonly fault: TlogProofFault } {
  return fail({ kind: 'malformed-proof', reason })
}
