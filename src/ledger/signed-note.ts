/**
 * Note: text signed by one or more keys, in the form of C2SP signed-note.
 *
 *   hearthbus.example/attic          ┐
 *   3                                │ text, ends in a newline; this is what is signed
 *   CsUYapGGPo4dkMgIAUqom/Xajj7h2f…  ┘
 *                                      the last empty line divides
 *   — hearthbus.example/attic Az3g…    em dash, key name, base64(key id ‖ signature)
 *
 * Two kinds of signature are known: 0x01, Ed25519 over the text, and 0x04, a witness's cosignature, whose blob begins
 * with the time and which signs a header, that time and the text.
 */
import { toBase64, areBytesEqual, fromBase64, fromUtf8 } from '../core/bytes.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { NoteSignature, NoteSigner, NoteVerifier } from './note-key.ts'

/** The specification requires support for at least 16. A note with more than this is an attempt to cause work. */
const MAX_SIGNATURES = 100
export const MAX_NOTE_BYTES = 262_144

export interface SignedNote {
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

export type NoteFault =
  | { readonly kind: 'malformed-note'; readonly reason: string }
  | { readonly kind: 'bad-signature'; readonly name: string }
  | { readonly kind: 'no-known-signature' }

/** A signature that was verified; `atSeconds` only for a cosignature. */
export interface VerifiedSignature {
  readonly key: NoteVerifier
  readonly atSeconds: number | undefined
  readonly signature: NoteSignature
}

/** Throws on text that cannot be a note, because our own code wrote it. */
export function signNote(text: string, signers: readonly NoteSigner[]): SignedNote {
  if (!text.endsWith('\n') || hasControlCharacters(text) || !text.isWellFormed())
    throw new TypeError('a note is well-formed text without control characters that ends in a newline')
  return { text, signatures: signers.map((signer) => signer.sign(text)) }
}

export function formatNote(note: SignedNote): string {
  return `${note.text}\n${note.signatures.map(formatSignature).join('')}`
}

export function formatSignature({ name, blob }: NoteSignature): string {
  return `— ${name} ${toBase64(blob)}\n`
}

export function parseNote(input: string | Uint8Array): Result<SignedNote, NoteFault> {
  if (input.length > MAX_NOTE_BYTES) return malformed(`it is longer than ${MAX_NOTE_BYTES} bytes`)
  const text = typeof input === 'string' ? input : fromUtf8(input)
  if (text === undefined || !text.isWellFormed()) return malformed('it is not UTF-8')
  if (hasControlCharacters(text)) return malformed('it contains control characters')
  const divide = text.lastIndexOf('\n\n')
  if (divide < 0) return malformed('no empty line divides text and signatures')
  const signatures = parseSignatures(text.slice(divide + 2))
  if (!signatures.ok) return signatures
  return ok({ text: text.slice(0, divide + 1), signatures: signatures.value })
}

/** One or more signature lines and nothing else, as a witness returns them. */
export function parseSignatures(text: string): Result<readonly NoteSignature[], NoteFault> {
  if (!text.endsWith('\n')) return malformed('the last signature line does not end')
  const lines = text.slice(0, -1).split('\n')
  if (lines.length > MAX_SIGNATURES) return malformed(`it carries more than ${MAX_SIGNATURES} signatures`)
  const signatures: NoteSignature[] = []
  for (const line of lines) {
    const match = /^— ([^\s+\p{Cc}]+) ([A-Za-z0-9+/=]+)$/u.exec(line)
    const blob = fromBase64(match?.[2] ?? '')
    if (match?.[1] === undefined || blob === undefined || blob.length < 5)
      return malformed(`a signature line cannot be read: ${line.slice(0, 120)}`)
    signatures.push({ name: match[1], blob })
  }
  return ok(signatures)
}

/**
 * Verifies a note: signatures by unknown keys are ignored, an invalid one by a known key invalidates the note, and at
 * least one must be valid. A second signature by the same key is ignored as well, so that a quorum counts witnesses,
 * not lines.
 */
export function verifyNote(
  note: SignedNote,
  keys: readonly NoteVerifier[],
): Result<readonly VerifiedSignature[], NoteFault> {
  const verified: VerifiedSignature[] = []
  for (const signature of note.signatures) {
    const key = keys.find((known) => isSignatureAttributedToKey(signature, known))
    if (key === undefined || verified.some((earlier) => earlier.key === key)) continue
    const verdict = key.verify(note.text, signature.blob.subarray(4))
    if (!verdict.ok) return fail({ kind: 'bad-signature', name: signature.name })
    verified.push({ key, atSeconds: verdict.value, signature })
  }
  return verified.length > 0 ? ok(verified) : fail({ kind: 'no-known-signature' })
}

/** Name and id together identify a key; either alone may be shared. */
export function isSignatureAttributedToKey(signature: NoteSignature, key: NoteVerifier): boolean {
  return signature.name === key.name && areBytesEqual(signature.blob.subarray(0, 4), key.id)
}

/** The note with further signatures; a key that signs again, as a witness does later, replaces its own. */
export function addSignaturesToNote(note: SignedNote, more: readonly NoteSignature[]): SignedNote {
  const isReplaced = (old: NoteSignature) => more.some((signature) => isSameKey(signature, old))
  return { text: note.text, signatures: [...note.signatures.filter((old) => !isReplaced(old)), ...more] }
}

function isSameKey(left: NoteSignature, right: NoteSignature): boolean {
  return left.name === right.name && areBytesEqual(left.blob.subarray(0, 4), right.blob.subarray(0, 4))
}

function hasControlCharacters(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- the specification forbids exactly these
  return /[\u0000-\u0009\u000b-\u001f]/.test(text)
}

function malformed(reason: string): { readonly ok: false; readonly fault: NoteFault } {
  return fail({ kind: 'malformed-note', reason })
}
