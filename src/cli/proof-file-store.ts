/**
 * Proof files: a proof, the entry that it is about and the policy that it has to satisfy, read from files.
 */
import { readFile } from 'node:fs/promises'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { explainUnreadableFile } from '../core/thrown-error.ts'
import { parseWitnessPolicy } from '../ledger/tlog-policy.ts'
import type { WitnessPolicy } from '../ledger/tlog-policy.ts'

/** A proof and the entry that it is about, as files. The fault is a sentence. */
export async function readProofAndEntryFiles(
  proof: string,
  entry: string,
): Promise<Result<{ readonly text: string; readonly bytes: Uint8Array }, string>> {
  const [text, bytes] = [await readFileBytes(proof), await readFileBytes(entry)]
  if (!text.ok) return text
  if (!bytes.ok) return bytes
  // An entry has no line break of its own; what printed it added one.
  const exact = bytes.value.at(-1) === NEWLINE ? bytes.value.subarray(0, -1) : bytes.value
  return ok({ text: text.value.toString(), bytes: exact })
}

const NEWLINE = 0x0a

/** The fault is a sentence. */
export async function readFileBytes(path: string): Promise<Result<Buffer, string>> {
  try {
    return ok(await readFile(path))
  } catch (error) {
    return fail(`${path}: ${explainUnreadableFile(error)}`)
  }
}

/** Reads the policy that a proof has to satisfy, in the form of C2SP tlog-policy. The fault is a sentence. */
export async function readWitnessPolicyFile(path: string): Promise<Result<WitnessPolicy, string>> {
  const bytes = await readFileBytes(path)
  if (!bytes.ok) return bytes
  const policy = parseWitnessPolicy(bytes.value.toString())
  if (policy.ok) return policy
  const { line, reason } = policy.fault
  return fail(line === 0 ? `${path}: ${reason}.` : `${path}, line ${line}: ${reason}.`)
}
