/**
 * Witness client: asks one witness to cosign our checkpoints.
 *
 *   add-checkpoint from the size we believe it remembers ▸ 200 ▸ cosignature, checked
 *                                                        ▸ 409 size ▸ once more from that size
 *
 * Witnesses exist to detect the case that one remembers more entries than we have, or does not accept our proof: it may
 * be able to show a checkpoint with our own signature that our tree does not extend.
 */
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { readErrorMessage } from '../core/thrown-error.ts'
import { verifyAndParseCheckpoint, parseDecimal } from './checkpoint.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import { parseSignatures, verifyNote } from './signed-note.ts'
import type { VerifiedSignature } from './signed-note.ts'
import type { NoteVerifier } from './note-key.ts'
import type { ConsistencyProof, ProofCreationFault } from './proof.ts'
import { formatAddCheckpointRequest, formatCosignedCheckpointPath, TREE_SIZE_CONTENT_TYPE } from './witness.ts'
import { readResponseText } from '../toolbox/response-body.ts'

export interface WitnessClientOptions {
  /** The submission prefix, without `/add-checkpoint`. */
  readonly url: string
  /** A cosignature key, type 4. */
  readonly key: NoteVerifier
  readonly timeoutMs: number
}

export type WitnessFault =
  | { readonly kind: 'witness-unreachable'; readonly url: string; readonly reason: string }
  | { readonly kind: 'witness-refused'; readonly url: string; readonly status: number; readonly reason: string }
  | { readonly kind: 'witness-answer-unreadable'; readonly url: string; readonly reason: string }
  /** It remembers another tree than ours; `evidence` is the checkpoint, signed by us, that it can show. */
  | { readonly kind: 'witness-disagrees'; readonly url: string; readonly evidence: SignedCheckpoint | undefined }
  | ProofCreationFault

/** Proves that the submitted tree extends the one of size `from`. */
export type ConsistencyProver = (from: number, to: number) => Result<ConsistencyProof, ProofCreationFault>

/** Another client may use the witness between our two attempts; further attempts would not help. */
const TRIES = 3
const MAX_ANSWER_BYTES = 65_536

interface Reply {
  readonly status: number
  readonly type: string
  readonly text: string
}

export class WitnessClient {
  readonly #options: WitnessClientOptions
  #remembered = 0

  constructor(options: WitnessClientOptions) {
    this.#options = options
  }

  get key(): NoteVerifier {
    return this.#options.key
  }

  /** `log` is the key that signed the checkpoint. */
  async cosign(
    signed: SignedCheckpoint,
    log: NoteVerifier,
    prove: ConsistencyProver,
  ): Promise<Result<VerifiedSignature, WitnessFault>> {
    const { url } = this.#options
    const { size } = signed.checkpoint
    for (let tries = 0; tries < TRIES; tries++) {
      if (this.#remembered > size) return fail(await this.#disagreement(log))
      const proof = prove(this.#remembered, size)
      if (!proof.ok) return proof
      const body = formatAddCheckpointRequest({ oldSize: this.#remembered, proof: proof.value.path, signed })
      const reply = await this.#request('/add-checkpoint', body)
      if (!reply.ok) return reply
      if (reply.value.status === 200) return this.#accept(signed, reply.value.text)
      if (reply.value.status === 422) return fail(await this.#disagreement(log))
      const remembered = sizeIn(reply.value)
      if (remembered === undefined)
        return fail({
          kind: 'witness-refused',
          url,
          status: reply.value.status,
          reason: reply.value.text.slice(0, 200),
        })
      this.#remembered = remembered
    }
    return fail({ kind: 'witness-refused', url, status: 409, reason: 'it reports another size each time' })
  }

  #accept(signed: SignedCheckpoint, text: string): Result<VerifiedSignature, WitnessFault> {
    const { url, key } = this.#options
    const unreadable = (reason: string) => fail<WitnessFault>({ kind: 'witness-answer-unreadable', url, reason })
    const signatures = parseSignatures(text)
    if (!signatures.ok) return unreadable('its answer is not made of signature lines')
    const verified = verifyNote({ text: signed.note.text, signatures: signatures.value }, [key])
    const [cosignature] = verified.ok ? verified.value : []
    if (cosignature === undefined) return unreadable(`its answer holds no valid signature of ${key.name}`)
    this.#remembered = signed.checkpoint.size
    return ok(cosignature)
  }

  async #disagreement(log: NoteVerifier): Promise<WitnessFault> {
    // Not kept: next time the witness is asked again.
    this.#remembered = 0
    const reply = await this.#request(formatCosignedCheckpointPath(log.name), undefined)
    const shown = reply.ok && reply.value.status === 200 ? verifyAndParseCheckpoint(reply.value.text, log) : undefined
    const evidence = shown?.ok === true ? shown.value : undefined
    return { kind: 'witness-disagrees', url: this.#options.url, evidence }
  }

  async #request(path: string, body: string | undefined): Promise<Result<Reply, WitnessFault>> {
    const { url, timeoutMs } = this.#options
    const unreachable = (reason: string) => fail<WitnessFault>({ kind: 'witness-unreachable', url, reason })
    try {
      const response = await fetch(`${url.replace(/\/$/, '')}${path}`, {
        signal: AbortSignal.timeout(timeoutMs),
        redirect: 'error',
        ...(body === undefined
          ? {}
          : { method: 'POST', body, headers: { 'Content-Type': 'text/plain; charset=utf-8' } }),
      })
      const text = await readResponseText(response, MAX_ANSWER_BYTES)
      if (text === undefined) return unreachable(`it answered more than ${MAX_ANSWER_BYTES} bytes`)
      return ok({ status: response.status, type: response.headers.get('content-type') ?? '', text })
    } catch (error) {
      return unreachable(readErrorMessage(error))
    }
  }
}

function sizeIn({ status, type, text }: Reply): number | undefined {
  if (status !== 409 || !type.startsWith(TREE_SIZE_CONTENT_TYPE) || !text.endsWith('\n')) return undefined
  return parseDecimal(text.slice(0, -1))
}
