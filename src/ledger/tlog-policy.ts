/**
 * Tlog policy: which logs and witnesses to trust, and how many witnesses it takes, C2SP tlog-policy.
 *
 *   log example.com/fancylog+…                 witness X1 witness.example/w1+… https://w1.example/
 *   group X 2 X1 X2 X3                         group both all X Y1
 *   quorum both                                or: quorum none
 *
 * Names are defined before they are used, each is a member at most once, and one quorum line ends the matter.
 */
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { toHex } from '../core/bytes.ts'
import { COSIGNATURE_NOTE_SIGNATURE_TYPE, ED25519_NOTE_SIGNATURE_TYPE, parseVerifierKey } from './note-key.ts'
import type { NoteSignatureType, NoteVerifier } from './note-key.ts'

interface PolicyLog {
  readonly key: NoteVerifier
  readonly url: string | undefined
}

interface PolicyWitness extends PolicyLog {
  /** The name by which lines of the policy refer to it. */
  readonly name: string
}

interface PolicyGroup {
  readonly name: string
  readonly threshold: number
  readonly members: readonly string[]
}

export interface WitnessPolicy {
  readonly logs: readonly PolicyLog[]
  readonly witnesses: readonly PolicyWitness[]
  readonly groups: readonly PolicyGroup[]
  /** The name of a witness or a group, or `none`. */
  readonly quorum: string
}

export interface WitnessPolicyFault {
  readonly kind: 'bad-policy'
  readonly line: number
  readonly reason: string
}

/** Limit for logs, witnesses and groups: twice what the specification requires of an implementation. */
const MAX_OF_EACH = 64
const MAX_POLICY_CHARACTERS = 262_144

/** A policy with one log and no witness, for a single node. */
export function createLogOnlyPolicy(key: NoteVerifier): WitnessPolicy {
  return { logs: [{ key, url: undefined }], witnesses: [], groups: [], quorum: 'none' }
}

/** Whether the named witnesses, having cosigned, satisfy the quorum. */
export function isPolicySatisfied(policy: WitnessPolicy, cosigned: readonly string[]): boolean {
  if (policy.quorum === 'none') return true
  const witnessed = new Set(cosigned)
  // Groups refer to earlier names only, so one pass is enough.
  for (const { name, threshold, members } of policy.groups)
    if (members.filter((member) => witnessed.has(member)).length >= threshold) witnessed.add(name)
  return witnessed.has(policy.quorum)
}

interface Draft {
  readonly logs: PolicyLog[]
  readonly witnesses: PolicyWitness[]
  readonly groups: PolicyGroup[]
  readonly defined: Set<string>
  readonly grouped: Set<string>
  quorum: string | undefined
}

export function parseWitnessPolicy(text: string): Result<WitnessPolicy, WitnessPolicyFault> {
  if (text.length > MAX_POLICY_CHARACTERS) return bad(0, 'the file is too long')
  const draft: Draft = {
    logs: [],
    witnesses: [],
    groups: [],
    defined: new Set(['none']),
    grouped: new Set(),
    quorum: undefined,
  }
  for (const [index, line] of text.split('\n').entries()) {
    // oxlint-disable-next-line no-control-regex -- the specification forbids exactly these
    if (/[\u0000-\u0008\u000b-\u001f\u007f]/.test(line)) return bad(index + 1, 'it contains control characters')
    const words = line.split(/[ \t]+/).filter((word) => word !== '')
    if (words.length === 0 || words[0]?.startsWith('#') === true) continue
    const reason = define(draft, words)
    if (reason !== undefined) return bad(index + 1, reason)
  }
  const { logs, witnesses, groups, quorum } = draft
  if (quorum === undefined) return bad(0, 'there is no quorum line')
  return ok({ logs, witnesses, groups, quorum })
}

/** Returns why a line is wrong, or adds it to the draft. */
function define(draft: Draft, [word, ...rest]: readonly string[]): string | undefined {
  switch (word) {
    case 'log':
      return defineLog(draft, rest)
    case 'witness':
      return defineWitness(draft, rest)
    case 'group':
      return defineGroup(draft, rest)
    case 'quorum':
      return defineQuorum(draft, rest)
    default:
      return `${word ?? ''} is not a keyword; log, witness, group and quorum are`
  }
}

function defineLog(draft: Draft, words: readonly string[]): string | undefined {
  const [vkey, url, ...extra] = words
  if (vkey === undefined || extra.length > 0) return 'a log line is: log <vkey> [url]'
  const key = readKey(vkey, ED25519_NOTE_SIGNATURE_TYPE, draft.logs)
  if (!key.ok) return key.fault
  draft.logs.push({ key: key.value, url })
  return undefined
}

function defineWitness(draft: Draft, words: readonly string[]): string | undefined {
  const [name, vkey, url, ...extra] = words
  if (name === undefined || vkey === undefined || extra.length > 0)
    return 'a witness line is: witness <name> <vkey> [url]'
  const key = readKey(vkey, COSIGNATURE_NOTE_SIGNATURE_TYPE, draft.witnesses)
  if (!key.ok) return key.fault
  if (!addName(draft, name)) return `${name} is already defined`
  draft.witnesses.push({ name, key: key.value, url })
  return undefined
}

function defineGroup(draft: Draft, words: readonly string[]): string | undefined {
  const [name, count, ...members] = words
  if (name === undefined || count === undefined || members.length === 0)
    return 'a group line is: group <name> all|any|<k> <member>…'
  const threshold = thresholdOf(count, members.length)
  if (threshold === undefined) return `${count} is not all, any or a number from 1 to ${members.length}`
  for (const member of members) {
    if (member === 'none' || !draft.defined.has(member)) return `${member} is not defined before this line`
    if (draft.grouped.has(member)) return `${member} is already a member of a group`
    draft.grouped.add(member)
  }
  if (draft.groups.length >= MAX_OF_EACH) return `there are more than ${MAX_OF_EACH} groups`
  if (!addName(draft, name)) return `${name} is already defined`
  draft.groups.push({ name, threshold, members })
  return undefined
}

function defineQuorum(draft: Draft, words: readonly string[]): string | undefined {
  const [name, ...extra] = words
  if (name === undefined || extra.length > 0) return 'a quorum line is: quorum <name>|none'
  if (draft.quorum !== undefined) return 'there is a second quorum line'
  if (!draft.defined.has(name)) return `${name} is not defined before this line`
  draft.quorum = name
  return undefined
}

function thresholdOf(count: string, members: number): number | undefined {
  if (count === 'any') return 1
  if (count === 'all') return members
  const threshold = /^[1-9][0-9]{0,3}$/.test(count) ? Number(count) : 0
  return threshold >= 1 && threshold <= members ? threshold : undefined
}

/** Two keys are the same when the public key is, whatever their names: one witness must not count twice. */
function readKey(vkey: string, type: NoteSignatureType, known: readonly PolicyLog[]): Result<NoteVerifier, string> {
  const key = parseVerifierKey(vkey)
  if (!key.ok) return fail(`the key cannot be used: ${key.fault.reason}`)
  if (key.value.type !== type)
    return fail(
      type === ED25519_NOTE_SIGNATURE_TYPE
        ? 'a log signs with a key of type 1'
        : 'a witness cosigns with a key of type 4',
    )
  if (known.length >= MAX_OF_EACH) return fail(`there are more than ${MAX_OF_EACH} of these`)
  const publicKey = toHex(key.value.publicKey)
  if (known.some((earlier) => toHex(earlier.key.publicKey) === publicKey)) return fail('the key is already listed')
  return key
}

function addName(draft: Draft, name: string): boolean {
  if (draft.defined.has(name)) return false
  draft.defined.add(name)
  return true
}

function bad(line: number, reason: string): { readonly ok: false; readonly fault: WitnessPolicyFault } {
  return fail({ kind: 'bad-policy', line, reason })
}
