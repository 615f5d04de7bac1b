/**
 * Checkpoint: what a log says about itself at one size, C2SP tlog-checkpoint. The text of a signed note:
 *
 *   hearthbus.example/attic                         origin
 *   20852163                                        size
 *   CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=    root
 */
import { toBase64, fromBase64 } from '../core/bytes.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { formatNote, parseNote, verifyNote } from './signed-note.ts'
import type { SignedNote, NoteFault } from './signed-note.ts'
import type { NoteVerifier } from './note-key.ts'
import { HASH_BYTES } from './tree.ts'

export interface Checkpoint {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
  /** Opaque lines that monitors cannot audit. This program writes none, and preserves those of others. */
  readonly extensions: readonly string[]
}

export interface SignedCheckpoint {
  readonly checkpoint: Checkpoint
  readonly note: SignedNote
}

export type CheckpointFault =
  | NoteFault
  | { readonly kind: 'malformed-checkpoint'; readonly reason: string }
  | { readonly kind: 'other-origin'; readonly origin: string }

export function formatCheckpoint({ origin, size, root, extensions }: Checkpoint): string {
  const lines = [origin, formatDecimal(size), toBase64(root), ...extensions]
  if (lines.some((line) => line === '' || line.includes('\n'))) throw new TypeError('a checkpoint has no empty lines')
  return `${lines.join('\n')}\n`
}

export function parseCheckpoint(text: string): Result<Checkpoint, CheckpointFault> {
  if (!text.endsWith('\n')) return malformed('its last line does not end')
  const [origin, sizeLine, rootLine, ...extensions] = text.slice(0, -1).split('\n')
  if (origin === undefined || origin === '' || extensions.includes('')) return malformed('it has an empty line')
  const size = parseDecimal(sizeLine ?? '')
  if (size === undefined) return malformed('its second line is not a size')
  const root = fromBase64(rootLine ?? '')
  if (root?.length !== HASH_BYTES) return malformed('its third line is not a hash')
  return ok({ origin, size, root, extensions })
}

/** Accepts a checkpoint only when `key` signed it and it is about the log that `key` is named after. */
export function verifyAndParseCheckpoint(
  input: string | Uint8Array,
  key: NoteVerifier,
): Result<SignedCheckpoint, CheckpointFault> {
  const note = parseNote(input)
  if (!note.ok) return note
  const signed = verifyNote(note.value, [key])
  if (!signed.ok) return signed
  const checkpoint = parseCheckpoint(note.value.text)
  if (!checkpoint.ok) return checkpoint
  if (checkpoint.value.origin !== key.name) return fail({ kind: 'other-origin', origin: checkpoint.value.origin })
  return ok({ checkpoint: checkpoint.value, note: note.value })
}

export function formatSignedCheckpoint(signed: SignedCheckpoint): string {
  return formatNote(signed.note)
}

export function formatDecimal(value: number): string {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} is not a count`)
  return String(value)
}

/** Parses ASCII digits without leading zeros, up to 2^53 − 1. */
export function parseDecimal(text: string): number | undefined {
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(text)) return undefined
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : undefined
}

export function formatCheckpointFault(fault: CheckpointFault): string {
  switch (fault.kind) {
    case 'malformed-note':
    case 'malformed-checkpoint':
      return `it cannot be read: ${fault.reason}`
    case 'bad-signature':
      return `the signature of ${fault.name} is not good`
    case 'no-known-signature':
      return 'no known key signed it'
    default:
      return `it belongs to another log, ${fault.origin}`
  }
}

function malformed(reason: string): { readonly ok: false; readonly fault: CheckpointFault } {
  return fail({ kind: 'malformed-checkpoint', reason })
}
